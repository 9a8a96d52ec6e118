"""The registry finds formats, and only whole ones; exports say what they can hold."""

from __future__ import annotations

import csv
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import NotAccepted, UnknownFormat
from core.graphs import formats
from core.graphs.formats._formulas import escaped, unescaped
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid

TIMED = GraphSchema(edge_types=(EdgeType(temporal=True),), time=TimeGrid(start=1_000, width=10, count=3))


def timed_graph() -> Graph:
    nodes = {"node": NodeTable(3, pa.array(["#a", 'b"c', "alone"]))}
    ends = EdgeTable(np.array([0, 0]), np.array([1, 1]), np.array([2, 0]))
    return Graph.build(TIMED, nodes, {"edge": ends})


def test_names() -> None:
    modules = [module.name for folder in formats.__path__ for module in pkgutil.iter_modules([folder])]
    assert list(formats.names()) == sorted(name for name in modules if not name.startswith("_"))
    assert set(formats.names()) >= {"csv", "parquet", "neo4j"}
    assert set(formats.names()) - set(formats.read_names()) == {
        name for name in formats.names() if not formats.get(name).parts
    }
    assert "csv" in formats.read_names()
    assert "neo4j" not in formats.read_names()
    with pytest.raises(UnknownFormat, match="csv"):
        formats.get("pickle")


def test_a_second_format_of_one_name_or_half_a_format_is_refused() -> None:
    found = dict(formats.formats())
    with pytest.raises(RuntimeError, match="two modules"):
        formats.register(found, formats.get("csv"))
    with pytest.raises(RuntimeError, match="lacks"):
        formats.register({}, SimpleNamespace(name="half"))


def test_importing_formats_loads_no_heavy_library() -> None:
    heavy = ["numpy", "pyarrow", "polars", "scipy", "networkx", "torch", "pandas"]
    code = "import sys; from core.graphs import formats; formats.names(); "
    code += f"print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_csv_names_nodes_by_id_and_says_the_first_time_of_each_step(tmp_path: Path) -> None:
    formats.get("csv").write(timed_graph(), tmp_path / "g")
    assert (tmp_path / "g").read_text() == (
        'source,target,time,step\n"#a","b""c",1000,0\n"#a","b""c",1020,2\n'
    )


@pytest.mark.parametrize("name", ["matrix_market", "npz"])
def test_matrices_refuse_time_and_types(name: str, tmp_path: Path) -> None:
    assert "time" in formats.get(name).refuses(TIMED)
    two = GraphSchema(node_types=(NodeType(count=1),), edge_types=(EdgeType(name="a"), EdgeType(name="b")))
    assert "one edge type" in formats.get(name).refuses(two)
    with pytest.raises(NotAccepted):
        formats.get(name).write(timed_graph(), tmp_path / "g")
    assert not (tmp_path / "g").exists()


def test_gml_refuses_names_it_cannot_write() -> None:
    schema = GraphSchema(node_types=(NodeType(attributes=(Attribute(name="a-b"),)),))
    assert "a-b" in formats.get("gml").refuses(schema)


@pytest.mark.parametrize("name", ["graphml", "gml", "node_link", "csv", "tsv", "npz", "matrix_market"])
def test_exports_are_the_same_bytes_each_time(name: str, tmp_path: Path) -> None:
    schema = GraphSchema(node_types=(NodeType(count=3),))
    graph = Graph.build(schema, {}, {"edge": EdgeTable(np.array([0]), np.array([1]))})
    written = []
    for attempt in ("one", "two"):
        formats.get(name).write(graph, tmp_path / attempt)
        written.append((tmp_path / attempt).read_bytes())
    assert written[0] == written[1]


RUNS = [
    "=cmd|' /C calc'!A0",
    "=1+1",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+cmd|x!A1",
    "-2+3+cmd|' /C calc'!A0",
    "\t=1",
]
HARMLESS = ["-5", "+49 30 1234", "@name", "a=b", "'quoted", "plain", "-", "minus-first"]


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_a_spreadsheet_runs_no_cell_of_a_release(name: str, delimiter: str, tmp_path: Path) -> None:
    ids = [*RUNS, *HARMLESS] if name == "csv" else [each for each in [*RUNS, *HARMLESS] if "\t" not in each]
    schema = GraphSchema(node_types=(NodeType(count=None),))
    nodes = {"node": NodeTable(len(ids), pa.array(ids))}
    ends = EdgeTable(np.arange(len(ids) - 1), np.arange(1, len(ids)))
    formats.get(name).write(Graph.build(schema, nodes, {"edge": ends}), tmp_path / "g")
    with (tmp_path / "g").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    written = {row[end] for row in rows for end in ("source", "target")}
    assert written == {f"'{each}" if each in RUNS else each for each in ids}


@given(st.lists(st.text(st.sampled_from("'=+-@|\t1a"), max_size=6), min_size=1))
def test_what_was_escaped_is_read_as_it_was(cells: list[str]) -> None:
    table = pa.table({"id": cells, "count": list(range(len(cells)))})
    kept = escaped(table)
    assert unescaped(kept).equals(table)
    assert not any(each.startswith(("=", "\t")) for each in kept["id"].to_pylist())

"""The release's tables: chunked writing, attribute columns of several node types, vectors, roles."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import PrivacyViolation
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.views.pseudonyms import pseudonymise
from core.publishing import bundle

PUBLIC = Protection.PUBLIC


def graph(edges: int = 200) -> Graph:
    rng = np.random.default_rng(edges)
    schema = GraphSchema(
        node_types=(
            NodeType(
                name="user",
                count=30,
                attributes=(
                    Attribute(name="age", protection=PUBLIC),
                    Attribute(name="place", kind=AttributeKind.VECTOR, protection=PUBLIC),
                    Attribute(name="team", protection=PUBLIC),
                ),
            ),
            NodeType(name="item", count=7, attributes=(Attribute(name="age", protection=PUBLIC),)),
        ),
        edge_types=(
            EdgeType(name="buys", source="user", target="item", temporal=True),
            EdgeType(name="knows", source="user", target="user"),
        ),
        time=TimeGrid(count=5),
    )
    people = {
        "age": np.arange(30),
        "place": np.arange(60, dtype=np.float32).reshape(30, 2),
        "team": pa.array(["a", "b", None] * 10),
    }
    nodes = {"user": NodeTable(30, None, people), "item": NodeTable(7, None, {"age": pa.array(["old"] * 7)})}
    tables = {
        "buys": EdgeTable(rng.integers(0, 30, edges), rng.integers(0, 7, edges), rng.integers(0, 5, edges)),
        "knows": EdgeTable(rng.integers(0, 30, edges), rng.integers(0, 30, edges)),
    }
    return Graph.build(schema, nodes, tables)


@pytest.mark.parametrize("edges", [0, 1, 200])
def test_what_is_written_in_chunks_is_read_back_aligned(tmp_path, monkeypatch, edges):
    monkeypatch.setattr(bundle, "CHUNK_ROWS", 16)
    original = graph(edges)
    renamed, permutations = pseudonymise(original, np.random.default_rng(1))
    bundle.write_tables(renamed, tmp_path / "release")
    bundle.write_alignment(permutations, tmp_path / "alignment.parquet")
    found = bundle.read_aligned(tmp_path / "release", tmp_path / "alignment.parquet")
    for name, table in original.edges.items():
        assert found.edges[name].source.tolist() == table.source.tolist()
        assert found.edges[name].target.tolist() == table.target.tolist()
    assert found.edges["buys"].step.tolist() == original.edges["buys"].step.tolist()


def test_attributes_that_types_hold_differently_get_a_column_each(tmp_path):
    bundle.write_tables(graph(), tmp_path)
    table = pq.read_table(tmp_path / "nodes.parquet")
    assert table.column_names == ["id", "type", "user.age", "place", "team", "item.age"]
    rows = table.to_pylist()
    assert (rows[3]["user.age"], rows[3]["place"], rows[3]["item.age"]) == (3, [6.0, 7.0], None)
    assert (rows[30]["type"], rows[30]["item.age"], rows[30]["user.age"]) == ("item", "old", None)


def test_an_edge_to_an_undeclared_node_is_refused(tmp_path):
    renamed, permutations = pseudonymise(graph(), np.random.default_rng(1))
    bundle.write_tables(renamed, tmp_path)
    bundle.write_alignment(permutations, tmp_path / "alignment.parquet")
    edges = pq.read_table(tmp_path / "edges.parquet")
    stranger = pa.array(["user-999999"] * edges.num_rows)
    pq.write_table(edges.set_column(0, "source", stranger), tmp_path / "edges.parquet")
    with pytest.raises(PrivacyViolation, match="undeclared node"):
        bundle.read_aligned(tmp_path, tmp_path / "alignment.parquet")


def test_whatever_is_not_plainly_released_is_private(tmp_path):
    for name in ("release/a.bin", "release/public.json", "private/model/x", "notes.txt", "manifest.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    entries = {entry["name"]: entry for entry in bundle.manifest(tmp_path, {"release/a.bin": "text/x"})}
    assert {name: entry["role"] for name, entry in entries.items()} == {
        "notes.txt": "private",
        "private/model/x": "private",
        "release/a.bin": "artifact",
        "release/public.json": "report",
    }
    assert entries["release/a.bin"]["media_type"] == "text/x"
    assert entries["notes.txt"]["media_type"] == "application/octet-stream"


def test_json_holds_no_nan(tmp_path):
    bundle.write_json(tmp_path / "a.json", {"x": 1.5})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1.5}
    with pytest.raises(ValueError, match="JSON compliant"):
        bundle.write_json(tmp_path / "b.json", {"x": float("nan")})

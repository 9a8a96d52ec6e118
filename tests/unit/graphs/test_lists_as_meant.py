"""Lists have the names, the types and the containers that documents have."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from core.errors import IngestRejected, InvalidInput
from core.graphs.graph import Graph
from core.graphs.ingest.framed import renamed
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.reading.mapping import columns_of
from core.graphs.schema import GraphSchema
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestReport, UploadedFile


def read(
    folder: Path,
    edges: str | bytes,
    nodes: str | None = None,
    schema: GraphSchema | None = None,
    form: str = "csv",
) -> tuple[Graph, IngestReport]:
    (folder / "edges").write_bytes(edges if isinstance(edges, bytes) else edges.encode())
    files = {"edges": UploadedFile(folder / "edges", form)}
    if nodes is not None:
        (folder / "nodes").write_text(nodes)
        files["nodes"] = UploadedFile(folder / "nodes", "csv")
    out = folder / ("declared" if schema else "proposed")
    report = canonicalise(files, schema, out)
    return read_graph(out), report


def test_a_proposed_schema_takes_its_list_with_every_name_and_mark(tmp_path: Path) -> None:
    nodes = "id,Größe;cm".replace(";", " ") + "\na,1\nb,2\nc,3\n"
    edges = "source;target;Betrag in €;key\na;b;1,5;3\nb;c;2,5;4\nc;a;0,5;6\n"
    _, report = read(tmp_path, edges, nodes)
    names = [each.name for each in report.schema.edge_types[0].attributes]
    assert sorted(names) == ["Betrag_in", "key_attribute"]
    again, _ = read(tmp_path, edges, nodes, report.schema)
    table = again.edges["edge"]
    assert table.values is not None
    assert sorted(table.values.columns["Betrag_in"].tolist()) == [0.5, 1.5, 2.5]
    assert list(again.nodes["node"].attributes) == ["Grosse_cm"]


def test_two_sorts_have_one_typed_list_whose_types_the_ends_have(tmp_path: Path) -> None:
    graph, report = read(tmp_path, "user_id,item_id\n1,1\n1,2\n2,1\n3,3\n")
    (edge,) = report.schema.edge_types
    assert (edge.source, edge.target) == ("user", "item")
    assert {name: table.count for name, table in graph.nodes.items()} == {"user": 3, "item": 3}
    again, _ = read(
        tmp_path,
        "user_id,item_id\n1,1\n1,2\n2,1\n3,3\n",
        "id,type\n1,user\n2,user\n3,user\n1,item\n2,item\n3,item\n",
    )
    assert again.edges["edge"].count == 4
    assert {name: table.count for name, table in again.nodes.items()} == {"user": 3, "item": 3}


def test_two_sorts_whose_list_names_one_are_warned_of(tmp_path: Path) -> None:
    _, report = read(tmp_path, "user_id,item_id\n1,1\n1,2\n2,1\n3,3\n", "id\n1\n2\n3\n")
    assert any("may be two sorts" in warning for warning in report.warnings)


def test_a_type_that_first_occurs_late_is_a_type(tmp_path: Path) -> None:
    nodes = "id,type\n" + "".join(f"n{i},{'firm' if i == 99_999 else 'person'}\n" for i in range(100_000))
    graph, _ = read(tmp_path, "source,target\nn1,n2\nn2,n3\n", nodes)
    assert {name: table.count for name, table in graph.nodes.items()} == {"firm": 1, "person": 99_999}


def test_gephis_type_says_the_direction(tmp_path: Path) -> None:
    graph, report = read(tmp_path, "Source,Target,Type\na,b,Directed\nb,a,Directed\n")
    assert (report.schema.edge_types[0].directed, graph.edges["edge"].count) == (True, 2)


def test_gephis_id_is_no_value_in_a_list_of_two_rows_either(tmp_path: Path) -> None:
    text = "Source,Target,Type,Id,Weight\n1,2,Undirected,0,1.0\n2,3,Undirected,1,2.0\n"
    _, report = read(tmp_path, text)
    assert [each.name for each in report.schema.edge_types[0].attributes] == ["Weight"]


def test_names_that_begin_a_list_and_occur_once_may_be_a_header(tmp_path: Path) -> None:
    often = [f"Name{'abcdefgh'[k % 8]} Name{'abcdefgh'[k * 3 % 8]}" for k in range(1, 80) if k % 8]
    with pytest.raises(IngestRejected, match="'Shoo, Kyx', may be a header or a record"):
        read(tmp_path, "\n".join(["Shoo Kyx", *often]) + "\n")


def test_what_is_packed_twice_is_named(tmp_path: Path) -> None:
    with pytest.raises(IngestRejected, match="packed again"):
        read(tmp_path, gzip.compress(gzip.compress(b"source,target\na,b\n")))


def test_a_column_of_a_frame_that_cannot_be_read_is_left_alone_or_refused() -> None:
    frame = pd.DataFrame({"x": [{1}, 2.5], "a": ["p", "q"], "b": ["q", "r"]})
    with pytest.raises(InvalidInput, match="'x' of edges cannot be read"):
        renamed(frame, columns_of("source=2,target=3"), "edges")
    made = renamed(frame, columns_of("source=2,target=b,-=x"), "edges")
    assert made.to_pydict() == {"source": ["p", "q"], "target": ["q", "r"]}  # type: ignore[attr-defined]

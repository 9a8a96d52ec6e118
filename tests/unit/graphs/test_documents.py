"""Documents and matrices are read as the people mean them who write them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core.errors import IngestRejected
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import IngestReport, canonicalise
from core.graphs.schema import GraphSchema
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import UploadedFile
from core.graphs.views.convert import to_networkx

GRAPHML = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">%s</graphml>'
CARRIED = {
    "nodes": [{"id": "p", "type": "person"}, {"id": "f", "type": "firm"}, {"id": "q", "type": "person"}]
}


def read(
    folder: Path,
    content: str | bytes,
    form: str,
    schema: Any = None,
    nodes: str | None = None,
    **options: Any,
) -> tuple[Graph, IngestReport]:
    data = content.encode() if isinstance(content, str) else content
    (folder / "file").write_bytes(data)
    files = {"edges": UploadedFile(folder / "file", form, options)}
    if nodes is not None:
        (folder / "nodes").write_text(nodes)
        files["nodes"] = UploadedFile(folder / "nodes", "csv")
    declared = None if schema is None else GraphSchema.model_validate(schema)
    out = folder / f"out-{len(list(folder.iterdir()))}"
    report = canonicalise(files, declared, out)
    return read_graph(out), report


def pairs(graph: Graph) -> set[tuple[str, str]]:
    return {tuple(sorted(ends)) for ends in to_networkx(graph).edges()}


def refusal(folder: Path, content: str | bytes, form: str, **given: Any) -> str:
    with pytest.raises(IngestRejected) as caught:
        read(folder, content, form, **given)
    return str(caught.value)


def told(report: IngestReport) -> str:
    return "\n".join(report.warnings)


# --- names that are structure's ---


@pytest.mark.parametrize("name", ["id", "node_id"])
def test_an_attribute_of_nodes_never_replaces_their_ids(tmp_path: Path, name: str) -> None:
    key = f'<key id="k" for="node" attr.name="{name}" attr.type="string"/>'
    nodes = "".join(
        f'<node id="{own}"><data key="k">{other}</data></node>'
        for own, other in [("a", "c"), ("b", "a"), ("c", "b")]
    )
    graph, report = read(
        tmp_path,
        GRAPHML % f'{key}<graph edgedefault="undirected">{nodes}<edge source="a" target="b"/></graph>',
        "graphml",
    )
    assert (pairs(graph), set(graph.nodes["node"].id_array().to_pylist())) == ({("a", "b")}, {"a", "b", "c"})
    assert graph.nodes["node"].attributes[f"{name}_attribute"].to_pylist() == ["c", "a", "b"]
    assert f"'{name}' is {name}_attribute" in told(report)


@pytest.mark.parametrize("name", ["source", "target", "source_type", "step", "id", "key"])
def test_an_attribute_of_edges_never_replaces_their_ends(tmp_path: Path, name: str) -> None:
    key = f'<key id="k" for="edge" attr.name="{name}" attr.type="string"/>'
    nodes = "".join(f'<node id="{each}"/>' for each in "abc")
    edges = "".join(
        f'<edge source="{one}" target="{two}"><data key="k">{value}</data></edge>'
        for one, two, value in [("a", "b", "c"), ("b", "c", "a")]
    )
    content = GRAPHML % f'{key}<graph edgedefault="undirected">{nodes}{edges}</graph>'
    graph, report = read(tmp_path, content, "graphml")
    assert pairs(graph) == {("a", "b"), ("b", "c")}
    carried = [each.name for each in graph.schema.edge_types[0].attributes]
    assert carried == ([] if name in ("id", "key") else [f"{name}_attribute"])
    assert ("Ids and keys of edges" if name in ("id", "key") else f"{name}_attribute") in told(report)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_lists_keep_such_columns_apart_too(tmp_path: Path, form: str) -> None:
    nodes = "id,node_id,source\na,c,x\nb,a,y\nc,b,z\n"
    graph, report = read(tmp_path, "source,target\na,b\n", "csv", nodes=nodes)
    assert pairs(graph) == {("a", "b")}
    assert set(graph.nodes["node"].attributes) == {"node_id_attribute", "source"}
    assert "'node_id' is node_id_attribute" in told(report)


def test_node_ids_of_our_own_exports_are_the_ids(tmp_path: Path) -> None:
    nodes = [{"id": f"{kind}/1", "type": kind, "node_id": "1"} for kind in ("user", "item")]
    content = {"nodes": nodes, "edges": [{"source": "user/1", "target": "item/1"}]}
    graph, _ = read(tmp_path, json.dumps(content), "node_link")
    assert [graph.nodes[kind].id_array().to_pylist() for kind in ("user", "item")] == [["1"], ["1"]]


@pytest.mark.parametrize(
    ("kinds", "types"),
    [(["person", "person", "person"], ["node"]), (["person", "firm", "person"], ["firm", "person"])],
)
def test_types_of_nodes_are_read_where_there_are_several(
    tmp_path: Path, kinds: list[str], types: list[str]
) -> None:
    nodes = "id,type\n" + "".join(f"{each},{kind}\n" for each, kind in zip("pfq", kinds, strict=True))
    graph, report = read(tmp_path, "source,target\np,f\nq,f\n", "csv", nodes=nodes)
    assert [each.name for each in graph.schema.node_types] == types
    assert ("it has one value" in told(report)) == (types == ["node"])


def test_edges_between_all_types_leave_the_types_alone(tmp_path: Path) -> None:
    content = {**CARRIED, "links": [{"source": "p", "target": "f"}, {"source": "p", "target": "q"}]}
    graph, report = read(tmp_path, json.dumps(content), "node_link")
    assert (pairs(graph), [each.name for each in graph.schema.node_types]) == (
        {("f", "p"), ("p", "q")},
        ["node"],
    )
    assert "edges of one relation join nodes of several types" in told(report)


@pytest.mark.parametrize(
    ("ids", "alike"),
    [(["Ann", "ann"], 2), (["1", "1.0"], 2), (["caf\u00e9", "cafe\u0301"], 2), (["Ann", "Bob"], 0)],
)
def test_ids_that_may_be_one_are_told_with_a_count(tmp_path: Path, ids: list[str], alike: int) -> None:
    _, report = read(tmp_path, f"source,target\n{ids[0]},x\n{ids[1]},x\n", "csv")
    assert (f"{alike} ids differ only by case" in told(report)) == bool(alike)


# --- two sorts ---


def test_a_matrix_that_is_not_square_has_two_sorts_of_nodes(tmp_path: Path) -> None:
    content = "%%MatrixMarket matrix coordinate pattern general\n3 2 3\n1 1\n3 1\n2 2\n"
    graph, report = read(tmp_path, content, "matrix_market")
    assert report.loops_dropped == 0
    assert {name: table.count for name, table in graph.nodes.items()} == {"column": 2, "row": 3}
    assert graph.edges["edge"].count == 3
    (edge,) = graph.schema.edge_types
    assert (edge.source, edge.target) == ("row", "column")
    message = refusal(tmp_path, content, "matrix_market", schema={"node_types": [{"count": 3}]})
    assert "3 rows and 2 columns" in message


@pytest.mark.parametrize("percent", ["%", "%%"])
def test_weights_of_a_matrix_and_its_zeros_are_read(tmp_path: Path, percent: str) -> None:
    head = f"{percent}MatrixMarket matrix coordinate real symmetric\n3 3 3\n"
    graph, _ = read(tmp_path, head + "2 1 0.0\n3 1 2.5\n3 2 7\n", "matrix_market")
    assert pairs(graph) == {("0", "1"), ("0", "2"), ("1", "2")}
    values = graph.edges["edge"].values
    assert values is not None
    assert sorted(values.columns["weight"].tolist()) == [0.0, 2.5, 7.0]


def test_a_matrix_of_one_direction_says_what_is_proposed(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n"
    _, report = read(tmp_path, head + "1 2\n3 2\n", "matrix_market")
    assert "not symmetric, and nobody said" in told(report)
    _, report = read(tmp_path, head + "1 2\n2 1\n", "matrix_market")
    assert "not symmetric" not in told(report)


# --- names ---


def test_a_proposal_takes_the_file_that_it_was_made_of(tmp_path: Path) -> None:
    nodes = "Id,Label,timeset,full name,Größe,2020 votes\na,Ann,,x,1,3\nb,Bob,,y,2,4\nc,Cy,,z,3,5\n"
    graph, report = read(tmp_path, "Source,Target\na,b\nb,c\n", "csv", nodes=nodes)
    names = {each.name for each in graph.schema.node_types[0].attributes}
    assert names == {"Label", "full_name", "Grosse", "x2020_votes"}
    assert "'timeset', as it is empty" in told(report)
    assert "'full name' is full_name" in told(report)


def test_columns_that_would_share_a_name_are_left_alone(tmp_path: Path) -> None:
    graph, report = read(tmp_path, "source,target\na,b\n", "csv", nodes="id,a b,a.b\na,1,2\nb,3,4\n")
    assert graph.schema.node_types[0].attributes == ()
    assert "another column would have its plain name" in told(report)


@pytest.mark.parametrize("names", [["friend"], ["works at", "http://x.org/knows", "1"]])
def test_relations_have_any_printable_name(tmp_path: Path, names: list[str]) -> None:
    rows = "".join(f"a,b{number},{name}\n" for number, name in enumerate(names))
    graph, report = read(tmp_path, "source,target,type\n" + rows, "csv")
    assert {each.in_files for each in report.schema.edge_types} == set(names)
    if len(names) > 1:
        again = GraphSchema.model_validate_json(report.schema.model_dump_json())
        assert again == report.schema
        told_types = {data["type"] for _, _, data in to_networkx(graph).edges(data=True)}
        assert told_types == set(names)
        other, _ = read(
            tmp_path,
            "source,target,type\n" + rows,
            "csv",
            schema=report.schema.model_dump(),
            nodes="id\n" + "".join(f"{each}\n" for each in graph.nodes["node"].id_array().to_pylist()),
        )
        assert other.edges.keys() == graph.edges.keys()


def test_gephis_type_is_the_direction(tmp_path: Path) -> None:
    graph, _ = read(tmp_path, "source,target,type\na,b,Directed\nb,a,Directed\n", "csv")
    (edge,) = graph.schema.edge_types
    assert (edge.name, edge.directed, graph.edges["edge"].count) == ("edge", True, 2)
    graph, _ = read(tmp_path, "source,target,type\na,b,Undirected\nb,a,Undirected\n", "csv")
    (edge,) = graph.schema.edge_types
    assert (edge.name, edge.directed, graph.edges["edge"].count) == ("edge", False, 1)


def test_an_end_that_is_not_listed_is_told_by_line_and_count(tmp_path: Path) -> None:
    message = refusal(tmp_path, "source,target\na,b\nb,c\nc,d\n", "csv", nodes="id\na\nb\n")
    assert "the target 'c' is not in the node list (2 such ids)" in message


# --- GML, JSON, GraphML ---


@pytest.mark.parametrize(
    ("nodes", "edges", "expected"),
    [
        (["id 1", "id 2"], ["source 1 target 2"], {("1", "2")}),
        (['id 1 label "Li"', 'id 2 label "Li"'], ["source 1 target 2"], {("1", "2")}),
        (['id 1 label "A"', 'id 2 label "B"'], ["source 1 target 2", "source 2 target 1"], {("A", "B")}),
        (['id 1 label "A" x nan', 'id 2 label "B" x 2.5'], ["source 1 target 2 w nan"], {("A", "B")}),
        (['id 1 label "nan"', 'id 2 label "inf"'], ["source 1 target 2"], {("inf", "nan")}),
    ],
)
def test_gml_of_other_tools(
    tmp_path: Path, nodes: list[str], edges: list[str], expected: set[tuple[str, str]]
) -> None:
    parts = [f"node [ {each} ]" for each in nodes] + [f"edge [ {each} ]" for each in edges]
    graph, _ = read(tmp_path, "graph [\n" + "\n".join(parts) + "\n]\n", "gml")
    assert pairs(graph) == expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([{"name": "Ann"}, {"name": "Bob"}, {"name": "Cy"}], {("Ann", "Bob"), ("Bob", "Cy")}),
        ([{"name": "Li"}, {"name": "Li"}, {"name": "Cy"}], {("0", "1"), ("1", "2")}),
        ([{"id": "x"}, {"id": "y"}, {"id": "z"}], {("x", "y"), ("y", "z")}),
        ([{"id": 2}, {"id": 1}, {"id": 0}], {("0", "1"), ("1", "2")}),
    ],
)
def test_links_by_number(tmp_path: Path, nodes: list[Any], expected: set[tuple[str, str]]) -> None:
    links = [{"source": 0, "target": 1}, {"source": 1, "target": 2}]
    graph, _ = read(tmp_path, json.dumps({"nodes": nodes, "links": links}), "node_link")
    assert pairs(graph) == expected


def test_booleans_have_one_spelling(tmp_path: Path) -> None:
    key = '<key id="k" for="node" attr.name="member" attr.type="boolean"/>'
    nodes = (
        '<node id="a"><data key="k"> true </data></node><node id="b"><data key="k">\nFalse\n</data></node>'
    )
    content = GRAPHML % f'{key}<graph edgedefault="undirected">{nodes}<edge source="a" target="b"/></graph>'
    graph, _ = read(tmp_path, content, "graphml")
    assert graph.nodes["node"].attributes["member"].to_pylist() == ["true", "false"]


# --- containers ---


def _zipped(**files: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("_", "."), data)
    return held.getvalue()


def _zstd(data: bytes) -> bytes:
    held = pa.BufferOutputStream()
    with pa.CompressedOutputStream(held, "zstd") as stream:
        stream.write(data)
    return held.getvalue().to_pybytes()


EDGES = b"source,target\na,b\nb,c\n"


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(EDGES), bz2.compress(EDGES), _zstd(EDGES), _zipped(edges_csv=EDGES)],
    ids=["gzip", "bz2", "zstd", "zip"],
)
def test_one_file_may_come_packed(tmp_path: Path, packed: bytes) -> None:
    graph, _ = read(tmp_path, packed, "csv")
    assert pairs(graph) == {("a", "b"), ("b", "c")}
    assert "is damaged" in refusal(tmp_path, packed[: len(packed) // 2], "csv")


@pytest.mark.parametrize("form", ["csv", "node_link"])
@pytest.mark.parametrize(
    "pack",
    [
        lambda data: _zipped(big=data),
        *(pytest.param(each, marks=pytest.mark.audits) for each in (gzip.compress, bz2.compress)),
    ],
)
def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, form: str, pack: Any) -> None:
    assert "when unpacked" in refusal(tmp_path, pack(b" " * (64 << 20)), form)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (_zipped(a_csv=EDGES, b_csv=EDGES, c_csv=EDGES), "a zip archive of 3 files (a.csv, b.csv, c.csv)"),
        (_zipped(**{"xl/workbook_xml": b"x", "other": b"y"}), "a spreadsheet (.xlsx)"),
    ],
)
def test_what_is_not_taken_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    for form in ("csv", "graphml"):
        assert says in refusal(tmp_path, content, form)


# --- Pajek ---


@pytest.mark.parametrize(
    ("content", "expected", "directed"),
    [
        (
            '*Vertices 3\n1 "Ann"\n2 "Bob"\n3 "Cy"\n*Edges\n1 2 2.5\n2 3 1\n',
            {("Ann", "Bob"), ("Bob", "Cy")},
            False,
        ),
        ("*vertices 3\n*arcs\n1 2\n3 2\n", {("1", "2"), ("2", "3")}, True),
        ("*Network x\n*Vertices 3\n*Arcslist\n1 2 3\n", {("1", "2"), ("1", "3")}, True),
        ("% c\n*Vertices 3\n*Edgeslist\n1 2 3\n", {("1", "2"), ("1", "3")}, False),
        ('*Vertices 3\n1 "Li"\n2 "Li"\n3 "Cy" 0.1 0.2\n*Edges :1 "r"\n1 2\n', {("1", "2")}, False),
        ('*Vertices 2\n1 "a &#34;b&#34;"\n2 Größe\n*Edges\n1 2\n', {("Größe", 'a "b"')}, False),
    ],
)
def test_pajeks_networks(
    tmp_path: Path, content: str, expected: set[tuple[str, str]], directed: bool
) -> None:
    graph, _ = read(tmp_path, content, "pajek")
    assert {tuple(sorted(pair)) for pair in pairs(graph)} == {tuple(sorted(pair)) for pair in expected}
    assert graph.schema.edge_types[0].directed == directed


def test_edges_beside_arcs_go_both_ways(tmp_path: Path) -> None:
    graph, _ = read(tmp_path, "*Vertices 3\n*Arcs\n1 2\n*Edges\n2 3\n", "pajek")
    assert set(to_networkx(graph).edges()) == {("1", "2"), ("2", "3"), ("3", "2")}


def test_two_sorts_of_vertices_stay_two(tmp_path: Path) -> None:
    graph, _ = read(tmp_path, "*Vertices 4 2\n*Edges\n1 3\n4 2\n", "pajek")
    assert {name: table.id_array().to_pylist() for name, table in graph.nodes.items()} == {
        "first": ["1", "2"],
        "second": ["3", "4"],
    }


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("*Vertices 2\n*Edges\n1 9\n", "the end '9' is no vertex from 1 to 2"),
        ("*Vertices x\n", "'*Vertices 10'"),
        ("*Vertices 99999999\n", "does not list 99999999 vertices"),
        ("*Vertices 2\n*Edges\n1 2 x\n", "the weight 'x' is no number"),
        ("*Edges\n1 2\n", "no vertex from 1 to 0"),
        ("1 2\n", "does not begin as pajek does"),
        ("*Vertices 2\n*Matrix\n0 1\n", "the section '*Matrix' is not read"),
    ],
)
def test_damaged_networks_are_refused_by_line(tmp_path: Path, content: str, says: str) -> None:
    assert says in refusal(tmp_path, content, "pajek")

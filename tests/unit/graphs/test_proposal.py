"""A proposal is a schema that the upload satisfies, with warnings that it reads the data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.proposal import DERIVED_NODES, DIRECTED, READS_DATA, UNDIRECTED
from core.graphs.ingest.uploaded import IngestReport, UploadedFile, canonicalise
from core.graphs.schema import AttributeKind, EdgeType, GraphSchema, NodeType, Protection
from core.graphs.stored.whole import read_graph

EXAMPLE = Path(__file__).parents[3] / "examples" / "us-flights"


def upload(folder: Path, **contents: str) -> dict[str, UploadedFile]:
    files = {}
    for part, content in contents.items():
        (folder / part).write_text(content)
        files[part] = UploadedFile(folder / part, "csv")
    return files


def test_a_node_list_is_derived_with_a_warning(tmp_path: Path) -> None:
    files = upload(tmp_path, edges="source,target,time\nb,a,5\na,c,7\n")
    report = canonicalise(files, None, tmp_path / "out")
    assert report.warnings[0] == READS_DATA
    assert DERIVED_NODES in report.warnings
    graph = read_graph(tmp_path / "out")
    assert graph.nodes["node"].ids.to_pylist() == ["a", "b", "c"]
    assert (graph.schema.time.start, graph.schema.time.width, graph.schema.time.count) == (5, 1, 3)


def test_types_and_attributes_are_proposed_withheld(tmp_path: Path) -> None:
    nodes = "id,type,age,job\nu1,user,3,x\nu2,user,,y\ni1,item,,\n"
    edges = "source,target,type\nu1,u2,knows\nu2,i1,has\n"
    files = upload(tmp_path, edges=edges, nodes=nodes)
    schema = canonicalise(files, None, tmp_path / "proposed").schema
    assert [(t.source, t.target) for t in schema.edge_types] == [("user", "item"), ("user", "user")]
    user = schema.node_type("user")
    assert [(a.name, a.kind) for a in user.attributes] == [
        ("age", AttributeKind.NUMBER),
        ("job", AttributeKind.CATEGORY),
    ]
    assert {a.protection for a in user.attributes} == {Protection.WITHHELD}
    assert schema.node_type("item").attributes == ()
    report = canonicalise(files, schema, tmp_path / "out")
    assert report.nodes == {"item": 1, "user": 2}


def test_wide_spans_get_wide_steps(tmp_path: Path) -> None:
    files = upload(tmp_path, edges="source,target,time\n0,1,-1000\n0,1,100000000\n")
    schema = canonicalise(files, None, tmp_path / "out").schema
    steps = [(time - schema.time.start) // schema.time.width for time in (-1000, 100_000_000)]
    assert steps == [0, schema.time.count - 1]
    assert schema.time.count <= 52


@pytest.mark.parametrize(
    "contents",
    [
        {"edges": "source,target,time\na,b,1\na,b,x\n"},
        {"edges": "source,target,type\na,b,\x07\n"},
        {"edges": "a,u\n", "nodes": "id,type\na,user\nu,item\na,item\n"},
        {"edges": "a,b\nb,zz\n", "nodes": "id\na\nb\n"},
        {"edges": ""},
    ],
)
def test_what_cannot_be_proposed_is_refused(tmp_path: Path, contents: dict[str, str]) -> None:
    with pytest.raises(IngestRejected):
        canonicalise(upload(tmp_path, **contents), None, tmp_path / "out")


def test_the_shipped_example_ingests(tmp_path: Path) -> None:
    schema = GraphSchema.model_validate_json((EXAMPLE / "schema.json").read_text())
    files = {part: UploadedFile(EXAMPLE / f"{part}.csv", "csv") for part in ("edges", "nodes")}
    report = canonicalise(files, schema, tmp_path / "out")
    assert report.nodes == {"airport": 224, "state": 51}
    assert report.rows_read == 20_224
    assert sum(report.edges_per_step["flight"]) == report.edges["flight"]["edges"] == 10_606
    assert report.edges["located_in"]["duplicates_merged"] == 0
    values = read_graph(tmp_path / "out").edges["flight"].values
    assert values is not None
    delay = values.columns["delay"]
    assert (len(delay), delay.min() >= -60, delay.max() <= 240) == (10_606, True, True)
    assert len(np.unique(delay)) > 100


def proposed(folder: Path, edges: str | bytes, form: str = "csv", **parts: str) -> tuple[Graph, IngestReport]:
    """What becomes of a file that is uploaded without any option or schema."""
    (folder / "edges").write_bytes(edges.encode() if isinstance(edges, str) else edges)
    files = {"edges": UploadedFile(folder / "edges", form)} | upload(folder, **parts)
    report = canonicalise(files, None, folder / "out")
    return read_graph(folder / "out"), report


def names_and_edges(graph: Graph) -> tuple[list[str], int]:
    return graph.nodes["node"].ids.to_pylist(), graph.edges["edge"].count


@pytest.mark.parametrize(
    "header",
    [
        "source,target",
        "src,dst",
        "from,to",
        "Source,Target",
        "u,v",
        "FROM,TO",
        "from,to,weight",
        "Source,Target,Type,Weight",
    ],
)
def test_common_headers_are_no_nodes(tmp_path: Path, header: str) -> None:
    rest = {2: "", 3: ",1.5", 4: ",Undirected,1.5"}[len(header.split(","))]
    graph, report = proposed(tmp_path, f"{header}\nann,ben{rest}\nben,cy{rest}\n")
    assert names_and_edges(graph) == (["ann", "ben", "cy"], 2)
    assert graph.schema.time is None
    ignored = [name for name in header.split(",")[2:] if name != "Type"]  # which says the direction
    assert list(report.columns_ignored) == ignored
    assert any("not read" in warning for warning in report.warnings) == bool(ignored)


@pytest.mark.parametrize("header", ["from,to,timestamp", "Source,Target,Weight,Date", "time,u,v"])
def test_a_time_has_other_names_too(tmp_path: Path, header: str) -> None:
    row = {"timestamp": "3", "Weight": ".5", "Date": "3", "time": "3"}
    line = ",".join(row.get(name, name[0] + "x") for name in header.split(","))
    graph, _ = proposed(tmp_path, f"{header}\n{line}\n")
    assert (graph.schema.time.start, graph.edges["edge"].count) == (3, 1)


def test_half_a_pair_of_names_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(IngestRejected, match="header=false"):
        proposed(tmp_path, "source,to\nto,u\n")


def test_a_header_that_may_be_an_edge_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(IngestRejected, match="set the option header") as caught:
        proposed(tmp_path, "u,v\nv,w\n")
    assert caught.value.members["findings"][0]["line"] == 1


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("begin,stop\n1,2\n2,3\n", True),
        ("# of a shop\nbegin,end\nann,ben\nben,cy\n", True),
        ("alpha,omega,weight\n1,2,3\n", True),
        ("ann,ben\nben,cy\ncy,dee\n", False),
        ("1,2\n2,3\n", False),
    ],
)
def test_a_first_line_unlike_the_rest_is_a_header(tmp_path: Path, content: str, header: bool) -> None:
    graph, report = proposed(tmp_path, content)
    assert report.readings["edges"].dialect.header is header
    lines = len(content.splitlines()) - content.startswith("#")
    assert graph.edges["edge"].count == lines - header


@pytest.mark.parametrize(
    "content",
    [
        "# Undirected graph\n# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n",
        "0 1\n1 2\n",
        "0   1\r\n1\t 2  \r\n",
        "% sym unweighted\n0 \t1\n1 \t2\n",
        " 0 1\n 1  2",
        "0;1\n1;2\n",
    ],
)
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_edge_lists_of_the_field_need_no_options(tmp_path: Path, content: str, form: str) -> None:
    graph, _ = proposed(tmp_path, content, form)
    assert names_and_edges(graph) == (["0", "1", "2"], 2)
    (tmp_path / "out").rename(tmp_path / "first")
    declared = GraphSchema(node_types=(NodeType(count=3),))
    canonicalise({"edges": UploadedFile(tmp_path / "edges", form)}, declared, tmp_path / "out")
    assert read_graph(tmp_path / "out").edges["edge"].count == 2


def test_names_with_spaces_stay_whole_between_tabs_and_in_node_lists(tmp_path: Path) -> None:
    graph, _ = proposed(tmp_path, "Ann Lee\tBen\nBen\tCy Ray\n")
    assert names_and_edges(graph) == (["Ann Lee", "Ben", "Cy Ray"], 2)
    (tmp_path / "out").rename(tmp_path / "first")
    files = upload(tmp_path, edges="Ann Lee,Ben\n", nodes="Ann Lee\nBen\n")
    assert canonicalise(files, GraphSchema(), tmp_path / "out").nodes == {"node": 2}


def test_faults_between_spaces_are_named(tmp_path: Path) -> None:
    with pytest.raises(IngestRejected) as caught:
        proposed(tmp_path, "# a\n0 1\n1 2 3\n")
    assert [(f["line"], f["column"]) for f in caught.value.members["findings"]] == [(3, 3)]
    assert "spaces or tabs" in str(caught.value)


@pytest.mark.parametrize("form", ["graphml", "gml", "node_link"])
@pytest.mark.parametrize("directed", [True, False])
def test_a_document_says_whether_it_is_directed(tmp_path: Path, form: str, directed: bool) -> None:
    schema = GraphSchema(edge_types=(EdgeType(directed=directed),))
    nodes = {"node": NodeTable(3, pa.array(["a", "b", "c"]))}
    ends = EdgeTable(np.array([0, 1]), np.array([1, 0] if directed else [1, 2]))
    formats.get(form).write(Graph.build(schema, nodes, {"edge": ends}), tmp_path / "made")
    graph, report = proposed(tmp_path, (tmp_path / "made").read_bytes(), form)
    assert graph.schema.edge_types[0].directed is directed
    assert graph.edges["edge"].count == 2
    assert (DIRECTED in report.warnings, UNDIRECTED in report.warnings) == (directed, not directed)


def test_weights_of_a_document_are_left_out_and_named(tmp_path: Path) -> None:
    document = {"nodes": [{"id": "a"}, {"id": "b"}], "edges": [{"source": "a", "target": "b", "weight": 2}]}
    graph, report = proposed(tmp_path, json.dumps(document), "node_link")
    assert (graph.edges["edge"].count, report.columns_ignored) == (1, ("weight",))


def test_a_documents_own_node_list_is_named_in_findings(tmp_path: Path) -> None:
    with pytest.raises(IngestRejected) as caught:
        proposed(
            tmp_path,
            json.dumps({"nodes": [{"id": "a", "type": each} for each in "xy"], "edges": []}),
            "node_link",
        )
    assert caught.value.members["findings"][0]["file"] == "edges"

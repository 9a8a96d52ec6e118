"""Uploads are taken as they are or refused with what is wrong and where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected, InvalidInput, UnknownFormat
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import IngestLimits, IngestReport, UploadedFile, canonicalise
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.whole import read_graph

COUNTED = GraphSchema(node_types=(NodeType(count=5),))
LISTED = GraphSchema()
TIMED = GraphSchema(
    node_types=(NodeType(count=5),),
    edge_types=(EdgeType(temporal=True),),
    time=TimeGrid(start=-10, width=5, count=4),
)


class Bench:
    """Files of one upload in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str, content: bytes | str, form: str = "csv", **options: Any) -> UploadedFile:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return UploadedFile(path, form, options)

    def ingest(
        self,
        edges: bytes | str,
        schema: GraphSchema | None = COUNTED,
        nodes: bytes | str | None = None,
        limits: IngestLimits | None = None,
        form: str = "csv",
        **options: Any,
    ) -> tuple[Graph, IngestReport]:
        files = {"edges": self.file("e", edges, form, **options)}
        if nodes is not None:
            files["nodes"] = self.file("n", nodes)
        report = canonicalise(files, schema, self.folder / "out", limits, fingerprint_key=bytes(32))
        return read_graph(self.folder / "out"), report

    def findings(self, *args: Any, **named: Any) -> list[dict[str, Any]]:
        with pytest.raises(IngestRejected) as caught:
            self.ingest(*args, **named)
        assert not (self.folder / "out").exists()
        return caught.value.members["findings"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def places(findings: list[dict[str, Any]]) -> list[tuple[int | None, int | None]]:
    return [(finding["line"], finding["column"]) for finding in findings]


def pairs(graph: Graph) -> list[tuple[int, int]]:
    table = graph.edges["edge"]
    return list(zip(table.source.tolist(), table.target.tolist(), strict=True))


@pytest.mark.parametrize(
    "content",
    [
        "source,target\n0,1\n3,2\n",
        "0,1\n3,2",
        "\ufeffsource,target\r\n0,1\r\n3,2\r\n",
        "# made elsewhere\n% twice\n\n0,1\n\n3,2\n",
        "0,1\r3,2\r",
        'target,source\n"1","0"\n 2 , 3\n',
        "source,target\n0,1\n1,0\n4,4\n2,3\n2,3\n",
        gzip.compress(b"0,1\n3,2\n", mtime=0),
    ],
)
def test_the_same_graph_however_it_is_written(bench: Bench, content: bytes | str) -> None:
    graph, _ = bench.ingest(content)
    assert pairs(graph) == [(0, 1), (2, 3)]
    assert graph.nodes["node"].count == 5


@pytest.mark.parametrize("chunk_bytes", [4, 7, 64])
def test_chunks_do_not_show(bench: Bench, chunk_bytes: int) -> None:
    content = "# a\nsource,target\n" + "".join(f"{i % 5},{(i * i + 1) % 5}\n" for i in range(40)) + "x,1\n"
    limits = IngestLimits(chunk_bytes=chunk_bytes)
    assert places(bench.findings(content, limits=limits)) == [(43, 1)]
    graph, report = bench.ingest(content.removesuffix("x,1\n"), limits=limits)
    assert report.rows_read == 40
    assert pairs(graph) == sorted({tuple(sorted((i % 5, (i * i + 1) % 5))) for i in range(40)} - {(2, 2)})


def test_report_counts_what_was_dropped_and_merged(bench: Bench) -> None:
    content = "source,target,time\n0,1,-10\n1,0,-6\n0,1,-5\n2,2,0\n"
    graph, report = bench.ingest(content, TIMED)
    assert (report.rows_read, report.loops_dropped, report.duplicates_merged) == (4, 1, 1)
    assert report.edges_per_step == {"edge": (1, 1, 0, 0)}
    assert graph.edges["edge"].step.tolist() == [0, 1]
    assert json.loads(json.dumps(report.to_json()))["nodes"] == {"node": 5}


def test_findings_name_line_and_field(bench: Bench) -> None:
    content = (
        "# note\nsource,target,time\n0,1,-10\n0,9,0\n\n7,1,x\n1,2\n1,2,10\n1,2,99999999999999999999\n1,2,\n"
    )
    findings = bench.findings(content, TIMED)
    assert places(findings) == [(4, 2), (6, 1), (6, 3), (7, 3), (8, 3), (9, 3), (10, 3)]
    assert {finding["file"] for finding in findings} == {"edges"}
    assert "0..4" in findings[0]["message"]
    assert "integer" in findings[2]["message"]
    assert "2 fields instead of 3" in findings[3]["message"]
    assert "-10 to 9" in findings[4]["message"]
    assert "empty" in findings[6]["message"]


def test_far_apart_faults_in_a_large_file_are_found(bench: Bench) -> None:
    good = "1000000,2000000\n" * 300_000  # beyond what is read slowly at once
    schema = GraphSchema(node_types=(NodeType(count=3_000_000),))
    content = f"{good}1,2,3\n{good}\n5,x\n"
    assert places(bench.findings(content, schema)) == [(300_001, 3), (600_003, 2)]
    graph, report = bench.ingest(f"{good} 1 ,0000002\n{good}", schema)
    assert report.rows_read == 600_001
    assert graph.edges["edge"].count == 2


def test_twenty_findings_and_no_more(bench: Bench) -> None:
    assert len(bench.findings("9,9\n" * 50)) == 20


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("", 1, "no records"),
        ("# only\n% comments\n\n", 1, "no records"),
        (b"0,1\n\xff,2\n", 2, "UTF-8"),
        ('0,1\n"0,2\n3,4\n', 2, "quotes"),
        ("0,1\n0,2\r0,3\n", 2, "carriage return"),
        ("0,1\n# in between\n3,2\n", 2, "before the first record"),
        ("source,target,weight\n0,1,2\n", 1, "weight"),
        ("source,target,source\n", 1, "two columns"),
        ("0,1,5\n", 1, "3 fields"),
        ("0,1\n0,0x2\n", 2, "0x2"),
        ("0,1\n0,-1\n", 2, "-1"),
        ("0,1\n0,1.0\n", 2, "1.0"),
        ("0,1\n0,\n", 2, "empty"),
        (b"\x1f\x8b\x08broken", None, "gzip"),
        ("0," + "1" * 3000, 1, "exceeds"),
    ],
)
def test_broken_files_are_refused(bench: Bench, content: bytes | str, line: int | None, says: str) -> None:
    options = (
        {"header": "true"} if b"goal" in (content if isinstance(content, bytes) else content.encode()) else {}
    )
    findings = bench.findings(content, limits=IngestLimits(max_line_bytes=2000, chunk_bytes=500), **options)
    assert findings[0]["line"] == line
    assert says in findings[0]["message"]


def test_a_line_longer_than_what_is_read_slowly_at_a_time_is_named(bench: Bench) -> None:
    limits = IngestLimits(max_line_bytes=2**12)
    findings = bench.findings("source,target\na,b\n" + "a," + "b" * 2**22, LISTED, "id\na\nb\n", limits)
    assert (findings[0]["line"], "exceeds" in findings[0]["message"]) == (3, True)


def test_header_is_declared_not_guessed(bench: Bench) -> None:
    nodes = "id\nsource\ntarget\na\n"
    graph, _ = bench.ingest("source,target\na,source\n", LISTED, nodes, header="false")
    assert graph.edges["edge"].count == 2
    graph, _ = bench.ingest("from,to\na,source\n", LISTED, nodes, header="true", columns=["target", "source"])
    assert graph.edges["edge"].count == 1
    graph, _ = bench.ingest("x;a;source\n", LISTED, nodes, columns=["-", "source", "target"], delimiter=";")
    assert graph.edges["edge"].count == 1


def test_isolated_nodes_and_string_ids(bench: Bench) -> None:
    graph, _ = bench.ingest('é,"b,c"\n', LISTED, 'id\nzz\né\n"b,c"\n01\n1\n')
    assert graph.nodes["node"].ids.to_pylist() == ["01", "1", "b,c", "zz", "é"]  # by their bytes
    assert pairs(graph) == [(2, 4)]


def test_node_list_findings(bench: Bench) -> None:
    assert places(bench.findings("a,b\n", LISTED, "id\na\nb\n\na\nb\na\n")) == [(5, 1), (6, 1), (7, 1)]
    assert bench.findings("a,b\n", LISTED)[0]["file"] == "nodes"
    assert places(bench.findings("a,b\n", LISTED, 'id\na\n""\n')) == [(3, 1)]
    assert "node list" in bench.findings("a,c\n", LISTED, "id\na\nb\n")[0]["message"]


def test_spaces_around_ids_are_no_part_of_them(bench: Bench) -> None:
    edges = "1, 2\n2 ,1\n\u00a03\u00a0,1\n1,  3\n"
    graph, _ = bench.ingest(edges, LISTED, " id\n1 \n 2\n3\n")
    assert pairs(graph) == [(0, 1), (0, 2)]


def test_attributes_are_read_and_checked(bench: Bench) -> None:
    attributes = (
        Attribute(name="age", kind=AttributeKind.NUMBER),
        Attribute(name="job"),
        Attribute(name="x", kind=AttributeKind.VECTOR),
    )
    schema = GraphSchema(node_types=(NodeType(count=3, attributes=attributes),))
    nodes = "id,age,job,x\n2,4.5,cook,1;2\n0,,,3;4\n1,7,clerk,5;6\n"
    graph, _ = bench.ingest("0,1\n", schema, nodes)
    columns = graph.nodes["node"].attributes
    np.testing.assert_array_equal(columns["age"], [np.nan, 7, 4.5])
    assert columns["job"].to_pylist() == [None, "clerk", "cook"]
    np.testing.assert_array_equal(columns["x"], np.array([[3, 4], [5, 6], [1, 2]], dtype=np.float32))
    bad = bench.folder / "second"
    bad.mkdir()
    findings = Bench(bad).findings("0,1\n", schema, "id,age,job,x\n0,old,a,1;2\n1,1,b,1\n2,2,c,1;z\n")
    assert places(findings) == [(2, 2), (3, 4), (4, 4)]


def test_types_times_and_public_relations(bench: Bench) -> None:
    schema = GraphSchema(
        node_types=(NodeType(name="a"), NodeType(name="b")),
        edge_types=(
            EdgeType(name="meets", source="a", target="a", temporal=True),
            EdgeType(name="of", source="a", target="b", functional=True, public=True),
        ),
        time=TimeGrid(count=3),
    )
    nodes = "id,type\n1,a\n2,a\n1,b\n3,b\n"
    edges = "source,target,type,time\n2,1,meets,2\n1,1,of,\n2,3,of,\n2,3,of,\n"
    graph, _ = bench.ingest(edges, schema, nodes)
    assert graph.cell("meets", 2).source.tolist() == [0]
    assert pairs_of(graph, "of") == [(0, 0), (1, 1)]
    (bench.folder / "bad").mkdir()
    bad = Bench(bench.folder / "bad")
    content = edges + "1,2,meets,\n1,3,of,1\n1,3,has,1\n3,2,meets,0\n"
    assert places(bad.findings(content, schema, nodes)) == [(6, 4), (7, 4), (8, 3), (9, 1)]
    functional = bad.findings(edges + "\n1,3,of,\n", schema, nodes)
    assert places(functional) == [(7, 2)]
    assert "line 3" in functional[0]["message"]


def pairs_of(graph: Graph, name: str) -> list[tuple[int, int]]:
    table = graph.edges[name]
    return list(zip(table.source.tolist(), table.target.tolist(), strict=True))


def test_nodes_above_their_declared_degree_are_named_by_their_rows(bench: Bench) -> None:
    """Over all relations that are protected and all snapshots; loops, duplicates and public ones apart."""
    schema = GraphSchema(
        node_types=(NodeType(name="a", count=30, degree_bound=2), NodeType(name="b", count=30)),
        edge_types=(
            EdgeType(name="meets", source="a", target="a", temporal=True),
            EdgeType(name="has", source="a", target="b"),
            EdgeType(name="known", source="a", target="b", public=True),
        ),
        time=TimeGrid(count=3),
    )
    head = "source,target,type,time\n"
    free = [f"0,{k},known," for k in range(9)] + [f"{k},0,has," for k in range(5, 15)]
    kept = [*free, "0,1,meets,0", "1,0,meets,0", "2,2,meets,1", "0,7,has,", "0,7,has,"]
    graph, _ = bench.ingest(head + "\n".join(kept), schema)
    assert graph.edges["has"].count == 11
    (bench.folder / "out").rename(bench.folder / "first")
    (found,) = bench.findings(head + "\n".join([*kept, "2,0,meets,2"]), schema)
    assert (found["line"], found["column"]) == (21, 1)  # node 0's first row in a protected relation
    assert "this node of type 'a' has more than the 2 edges declared" in found["message"]
    crowd = [f"{k},{t},has," for k in range(25) for t in range(3)]
    assert len(bench.findings(head + "\n".join(crowd), schema)) == 20


def test_a_declared_bound_on_edges_is_checked_and_never_repaired(bench: Bench) -> None:
    static = COUNTED.model_copy(update={"edge_types": (EdgeType(edge_bound=2),)})
    graph, _ = bench.ingest("source,target\n0,1\n1,0\n2,2\n3,4\n", static)  # a duplicate and a loop
    assert graph.edges["edge"].count == 2
    (bench.folder / "out").rename(bench.folder / "first")
    (found,) = bench.findings("source,target\n0,1\n1,2\n3,4\n", static)
    assert "'edge' is declared to have at most 2 edges, but has more" in found["message"]

    timed = TIMED.model_copy(update={"edge_types": (EdgeType(temporal=True, edge_bound=2),)})
    rows = ["0,1,-10", "1,2,-10", "0,1,0", "1,2,0", "0,1,9"]
    graph, _ = bench.ingest("source,target,time\n" + "\n".join(rows), timed)
    assert graph.edges["edge"].count == 5
    (bench.folder / "out").rename(bench.folder / "second")
    (found,) = bench.findings("source,target,time\n" + "\n".join([*rows, "3,4,2"]), timed)
    assert "more in snapshot 2" in found["message"]
    empty, _ = bench.ingest("source,target,time\n", timed)
    assert empty.edges["edge"].count == 0


def test_once_over_time_is_checked_on_raw_times(bench: Bench) -> None:
    schema = TIMED.model_copy(update={"edge_types": (EdgeType(temporal=True, once=True),)})
    content = "0,1,-10\n1,0,-10\n2,2,1\n2,2,2\n3,4,0\n"
    graph, _ = bench.ingest(content, schema)
    assert graph.edges["edge"].count == 2
    (bench.folder / "bad").mkdir()
    findings = Bench(bench.folder / "bad").findings(content + "1,0,-9\n", schema)  # same step, another time
    assert places(findings) == [(6, 3)]


def test_limits(bench: Bench) -> None:
    assert "more than 2 rows" in bench.findings("0,1\n" * 3, limits=IngestLimits(max_rows=2))[0]["message"]
    assert "bytes" in bench.findings("0,1\n" * 30, limits=IngestLimits(max_bytes=20))[0]["message"]
    bomb = gzip.compress(b"0,1\n" * 100_000)
    assert (
        "bytes" in bench.findings(bomb, limits=IngestLimits(max_bytes=10_000, chunk_bytes=4096))[0]["message"]
    )
    limits = IngestLimits(max_nodes=1, max_id_bytes=2)
    assert "nodes" in bench.findings("a,b\n", LISTED, "id\na\nb\n", limits)[0]["message"]
    assert "2 bytes" in bench.findings("a,b\n", LISTED, "id\naaa\n", limits)[0]["message"]


def test_closed_by_default(bench: Bench) -> None:
    file = bench.file("e", "0,1\n")
    with pytest.raises(UnknownFormat):
        canonicalise({"edges": UploadedFile(file.path, "xlsx")}, COUNTED, bench.folder / "out")
    with pytest.raises(InvalidInput, match="unknown part"):
        canonicalise({"edges": file, "other": file}, COUNTED, bench.folder / "out")
    with pytest.raises(InvalidInput, match="edges is missing"):
        canonicalise({"nodes": file}, COUNTED, bench.folder / "out")
    with pytest.raises(InvalidInput) as caught:
        canonicalise({"edges": UploadedFile(file.path, "csv", {"sep": ";"})}, COUNTED, bench.folder / "out")
    assert caught.value.members["field"] == "files.edges.options.sep"
    with pytest.raises(InvalidInput, match="does not hold a list"):
        canonicalise({"edges": file, "nodes": UploadedFile(file.path, "npz")}, COUNTED, bench.folder / "out")


def test_parquet_kinds_and_rows(bench: Bench) -> None:
    def parquet(**columns: Any) -> bytes:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink)
        return sink.getvalue().to_pybytes()

    good = parquet(source=pa.array([0, 1], pa.uint64()), target=pa.array(["1", "2"]).dictionary_encode())
    graph, _ = bench.ingest(good, form="parquet")
    assert pairs(graph) == [(0, 1), (1, 2)]
    (bench.folder / "bad").mkdir()
    bad = Bench(bench.folder / "bad")
    assert "cast it" in bad.findings(parquet(source=[0.5], target=[1]), form="parquet")[0]["message"]
    huge = pa.array([0, 2**64 - 1], pa.uint64())
    assert places(bad.findings(parquet(source=huge, target=[1, None]), form="parquet")) == [(2, 1), (2, 2)]
    assert "no readable Parquet" in bad.findings(b"PAR1nothing", form="parquet")[0]["message"]
    assert "missing" in bad.findings(parquet(source=[0]), form="parquet")[0]["message"]


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("graphml", "<graphml><graph>"),
        ("graphml", '<!DOCTYPE a [<!ENTITY b "c">]><graphml/>'),
        ("graphml", "<other/>"),
        ("gml", "graph [ node [ id 0 ] edge [ source 0 target 1 ] ]"),
        ("gml", "nothing"),
        ("gml", "graph [ node 5 ]"),
        ("graphml", '<?xml version="1.0" encoding="uuf-8"?><graphml/>'),
        ("node_link", "{"),
        ("node_link", "[" * 100_000),
        ("node_link", '{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 1}]}'),
        ("node_link", '{"nodes": [{"id": [0]}], "links": []}'),
        ("matrix_market", "%%MatrixMarket matrix array real general\n1 1\n1\n"),
        ("matrix_market", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n5 1\n"),
        ("npz", "PK no zip"),
        ("graphml", ""),
        ("gml", b"\xff"),
    ],
)
def test_broken_documents_are_refused(bench: Bench, form: str, content: bytes | str) -> None:
    assert bench.findings(content, form=form)[0]["file"] == "edges"


def test_npz_with_indices_out_of_range_is_refused(bench: Bench) -> None:
    path = bench.folder / "bad.npz"
    parts = {"indices": np.array([7], np.int32), "indptr": np.array([0, 1, 1], np.int32), "data": np.ones(1)}
    np.savez(path, format=b"csr", shape=np.array([2, 2]), **parts)
    with pytest.raises(IngestRejected, match="no sparse matrix"):
        canonicalise({"edges": UploadedFile(path, "npz")}, COUNTED, bench.folder / "out")


def test_documents_carry_their_nodes(bench: Bench) -> None:
    content = {"nodes": [{"id": "a"}, {"id": 3}, {"id": "lonely"}], "links": [{"source": 3, "target": "a"}]}
    graph, _ = bench.ingest(json.dumps(content), LISTED, form="node_link")
    assert graph.nodes["node"].ids.to_pylist() == ["3", "a", "lonely"]
    assert pairs(graph) == [(0, 1)]
    (bench.folder / "bad").mkdir()
    bad = Bench(bench.folder / "bad")
    missing = bad.findings(json.dumps(content), LISTED, "id\na\n", form="node_link")[0]
    assert "the target '3' is not in the node list (1 such id)" in missing["message"], (
        "a declared list takes the document's place"
    )
    for listed, message in (
        ("id\n3\na\n", "lists 'lonely', missing in the node list that was"),
        ("id\na\n3\nelse\n", "lists 'lonely', missing"),
    ):
        (dropped,) = bad.findings(json.dumps(content), LISTED, listed, form="node_link")
        assert message in dropped["message"]
        assert (dropped["file"], dropped["line"]) == ("edges", 3)
    content["nodes"].append({"id": "b"})
    (dropped,) = bad.findings(json.dumps(content), LISTED, "id\n3\na\n", form="node_link")
    assert "lists 'lonely' and 1 more nodes, missing" in dropped["message"]
    content["links"][0]["weight"] = 2
    assert "weight" in bad.findings(json.dumps(content), LISTED, form="node_link")[0]["message"]


def test_undirected_documents_may_turn_mixed_edges_around(bench: Bench) -> None:
    schema = GraphSchema(
        node_types=(NodeType(name="user"), NodeType(name="item")),
        edge_types=(EdgeType(name="edge", source="user", target="item"),),
    )
    nodes = [{"id": f"{kind}/1", "node_id": "1", "type": kind} for kind in ("user", "item")]
    content = {"nodes": nodes, "edges": [{"source": "item/1", "target": "user/1"}]}
    graph, _ = bench.ingest(json.dumps(content), schema, form="node_link")
    assert pairs(graph) == [(0, 0)]
    (bench.folder / "bad").mkdir()
    content["edges"] = [{"source": "user/1", "target": "user/1"}]
    assert Bench(bench.folder / "bad").findings(json.dumps(content), schema, form="node_link")

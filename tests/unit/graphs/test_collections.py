"""Many graphs as one dataset: declared with their sizes, uploaded with a column that names the graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from core.errors import IngestRejected
from core.evaluation.attacks.projection import MOST_OF_COLLECTION, protected_relations
from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.graphs import formats
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.uploaded import IngestReport, UploadedFile, canonicalise
from core.graphs.schema import Attribute, Collection, CollectionGraph, GraphSchema, Protection
from core.graphs.stored.whole import read_graph, write_graph
from core.graphs.views.pseudonyms import pseudonymise
from core.methods.base import no_progress

COUNTED = GraphSchema.model_validate(
    {
        "collection": {
            "graphs": [{"id": "7", "nodes": 3, "label": "a"}, {"id": "x-1", "nodes": 4, "label": "b"}]
        }
    }
)
LISTED = GraphSchema.model_validate({"collection": {"graphs": [{"id": "7"}, {"id": "x-1"}]}})
EDGES = "graph_id,source,target\n7,0,1\nx-1,3,1\n7,1,2\n7,1,0\nx-1,2,2\n"
KEY = bytes(32)


def ingest(
    folder: Path,
    edges: str | bytes,
    schema: GraphSchema | None = COUNTED,
    nodes: str | None = None,
    form: str = "csv",
    **options: Any,
) -> tuple[Graph, IngestReport]:
    (folder / "e").write_bytes(edges.encode() if isinstance(edges, str) else edges)
    files = {"edges": UploadedFile(folder / "e", form, options)}
    if nodes is not None:
        (folder / "n").write_text(nodes)
        files["nodes"] = UploadedFile(folder / "n", "csv", {})
    report = canonicalise(files, schema, folder / "out", fingerprint_key=KEY)
    return read_graph(folder / "out"), report


def findings(folder: Path, *given: Any, **named: Any) -> list[tuple[int | None, int | None, str]]:
    with pytest.raises(IngestRejected) as caught:
        ingest(folder, *given, **named)
    return [(found["line"], found["column"], found["message"]) for found in caught.value.members["findings"]]


def pairs(graph: Graph) -> dict[str, list[tuple[int, int]]]:
    return {n: list(zip(t.source.tolist(), t.target.tolist(), strict=True)) for n, t in graph.edges.items()}


def many(count: int, nodes: int = 3) -> GraphSchema:
    return GraphSchema(
        collection=Collection(graphs=tuple(CollectionGraph(id=f"{i}", nodes=nodes) for i in range(count)))
    )


def test_a_collection_is_one_node_type_and_one_relation_a_graph():
    assert [(t.name, t.count) for t in COUNTED.node_types] == [("graph-7", 3), ("graph-x-1", 4)]
    assert [(t.name, t.source, t.target, t.directed) for t in COUNTED.edge_types] == [
        ("graph-7", "graph-7", "graph-7", False),
        ("graph-x-1", "graph-x-1", "graph-x-1", False),
    ]
    assert COUNTED.graph_ids() == {"graph-7": "7", "graph-x-1": "x-1"}


def test_it_is_written_as_it_was_declared():
    written = json.loads(COUNTED.model_dump_json())
    assert set(written) == {"collection", "node_ids"}
    assert GraphSchema.model_validate(written) == COUNTED
    assert "collection" not in GraphSchema().model_dump(mode="json")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"graphs": [{"id": "1", "nodes": 2}, {"id": "1", "nodes": 2}]}, "graph ids must be unique"),
        ({"graphs": [{"id": "1", "nodes": 2}, {"id": "2"}]}, "declare nodes for every graph"),
        ({"graphs": [{"id": "1", "label": "a"}, {"id": "2"}]}, "declare label for every graph"),
        ({"graphs": [{"id": "a b"}]}, "String should match pattern"),
        ({"graphs": []}, "at least 1 item"),
        (
            {"graphs": [{"id": "1"}], "attributes": [{"name": "graph_id"}]},
            "no attribute may be named graph_id",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(declared: dict[str, Any], message: str):
    with pytest.raises(ValidationError, match=message):
        GraphSchema.model_validate({"collection": declared})


@pytest.mark.parametrize(
    "also", [{"node_types": [{"count": 3}]}, {"edge_types": [{}]}, {"time": {"count": 2}}], ids=str
)
def test_nothing_is_declared_beside_a_collection(also: dict[str, Any]):
    with pytest.raises(ValidationError, match="a collection of graphs declares no"):
        GraphSchema.model_validate({"collection": {"graphs": [{"id": "1", "nodes": 3}]}} | also)


def test_rows_go_to_the_graph_that_they_name(tmp_path: Path):
    graph, report = ingest(tmp_path, EDGES)
    assert pairs(graph) == {"graph-7": [(0, 1), (1, 2)], "graph-x-1": [(1, 3)]}
    assert (report.rows_read, report.loops_dropped, report.duplicates_merged) == (5, 1, 1)
    assert graph.schema == COUNTED


def test_a_graph_without_edges_is_a_graph_all_the_same(tmp_path: Path):
    graph, _ = ingest(tmp_path, "graph_id,source,target\n7,0,1\n")
    assert graph.edges["graph-x-1"].count == 0
    assert graph.nodes["graph-x-1"].count == 4


def test_positions_are_enough_without_a_header(tmp_path: Path):
    graph, _ = ingest(tmp_path, "7,0,1\nx-1,3,1\n")
    assert pairs(graph) == {"graph-7": [(0, 1)], "graph-x-1": [(1, 3)]}


def test_numbers_of_graphs_may_be_integers_in_parquet(tmp_path: Path):
    table = pa.table({"graph_id": [0, 1, 1], "source": [0, 1, 2], "target": [2, 0, 0]})
    pq.write_table(table, tmp_path / "p")
    graph, _ = ingest(tmp_path, (tmp_path / "p").read_bytes(), many(2), form="parquet")
    assert pairs(graph) == {"graph-0": [(0, 2)], "graph-1": [(0, 1), (0, 2)]}


def test_nodes_are_listed_with_their_graph(tmp_path: Path):
    listed = "graph_id,id\n7,ann\nx-1,ann\n7,bob\nx-1,eve\nx-1,joe\n"
    graph, _ = ingest(tmp_path, "graph_id,source,target\n7,ann,bob\nx-1,joe,ann\n", LISTED, listed)
    assert graph.nodes["graph-7"].id_array().to_pylist() == ["ann", "bob"]
    assert graph.nodes["graph-x-1"].id_array().to_pylist() == ["ann", "eve", "joe"]
    assert pairs(graph) == {"graph-7": [(0, 1)], "graph-x-1": [(0, 2)]}


def test_attributes_are_those_of_every_graph(tmp_path: Path):
    schema = GraphSchema.model_validate(
        {"collection": {"graphs": [{"id": "7"}, {"id": "8"}], "attributes": [{"name": "kind"}]}}
    )
    graph, _ = ingest(tmp_path, "7,a,b\n", schema, "graph_id,id,kind\n7,a,x\n7,b,y\n8,c,x\n")
    assert graph.nodes["graph-7"].attributes["kind"].to_pylist() == ["x", "y"]
    assert graph.nodes["graph-8"].attributes["kind"].to_pylist() == ["x"]


def test_faults_name_line_and_column(tmp_path: Path):
    found = findings(tmp_path, "graph_id,source,target\n7,0,1\n9,0,1\n7,3,1\nx-1,3,9\n,0,1\n")
    mend = " (1 such id); mend it or declare more nodes"
    assert found == [
        (3, 1, "the graph '9' is not declared; add it to the collection's graphs or mend it"),
        (4, 2, f"the source '3' is no integer in 0..2, the declared nodes of 'graph-7'{mend}"),
        (5, 3, f"the target '9' is no integer in 0..3, the declared nodes of 'graph-x-1'{mend}"),
        (6, 1, "the graph_id is empty; name one of the collection's graphs or remove the line"),
    ]


def test_a_row_of_no_graph_is_told_in_tables_too(tmp_path: Path):
    table = pa.table({"graph_id": pa.array(["7", None]), "source": [0, 1], "target": [1, 2]})
    pq.write_table(table, tmp_path / "p")
    (found,) = findings(tmp_path, (tmp_path / "p").read_bytes(), form="parquet")
    assert found == (2, 1, "the graph_id is empty; name one of the collection's graphs or remove the line")


def test_a_node_of_no_graph_and_a_graph_of_no_node_are_refused(tmp_path: Path):
    edges = "graph_id,source,target\n7,ann,bob\n"
    (found,) = findings(tmp_path, edges, LISTED, "graph_id,id\n7,ann\n7,bob\n,eve\nx-1,joe\n")
    assert found[:2] == (4, 1)
    assert "the graph_id is empty" in found[2]
    (found,) = findings(tmp_path, edges, LISTED, "graph_id,id\n7,ann\n7,bob\n")
    assert found == (None, None, "no node of type 'graph-x-1' is listed; list every node, or declare a count")


def test_ids_of_graphs_are_texts_that_look_like_numbers(tmp_path: Path):
    """Where nodes are counted, ends are read as integers; 01 is still another graph than 1."""
    schema = GraphSchema.model_validate(
        {"collection": {"graphs": [{"id": "01", "nodes": 3}, {"id": "1", "nodes": 3}]}}
    )
    graph, _ = ingest(tmp_path, "graph_id,source,target\n01,0,1\n1,1,2\n", schema)
    assert pairs(graph) == {"graph-01": [(0, 1)], "graph-1": [(1, 2)]}


def test_a_node_of_another_graph_is_unknown(tmp_path: Path):
    listed = "graph_id,id\n7,ann\nx-1,joe\n"
    (found,) = findings(tmp_path, "graph_id,source,target\n7,ann,joe\n", LISTED, listed)
    assert found[:2] == (2, 3)
    assert "'joe' is not in the node list as a node of type 'graph-7' (1 such id)" in found[2]


def test_a_node_is_listed_once_in_a_graph(tmp_path: Path):
    listed = "graph_id,id\n7,ann\nx-1,ann\n7,ann\n"
    (found,) = findings(tmp_path, "graph_id,source,target\n7,ann,ann\n", LISTED, listed)
    assert found == (4, 2, "the node 'ann' is listed already in line 2; list each node once")


@pytest.mark.parametrize(
    ("edges", "schema", "form", "message"),
    [
        ('{"nodes": [], "links": []}', COUNTED, "node_link", "holds one graph; upload a collection as csv"),
        (EDGES, None, "csv", "declare a schema with the collection's graphs"),
        (EDGES, GraphSchema.model_validate({"node_types": [{"count": 9}]}), "csv", "is for collections"),
    ],
    ids=["a document", "no schema", "one graph"],
)
def test_other_shapes_are_refused(tmp_path: Path, edges: str, schema: Any, form: str, message: str):
    found = findings(tmp_path, edges, schema, form=form)
    assert message in found[0][2]


@pytest.mark.parametrize("header", ["true", "auto"])
def test_the_column_must_be_there(tmp_path: Path, header: str):
    found = findings(tmp_path, "source,target\n0,1\n", header=header)
    assert "the column 'graph_id' is missing" in found[0][2]


def test_graphs_that_number_their_nodes_alike_do_not_share_a_fingerprint(tmp_path: Path):
    one = ingest(tmp_path, "graph_id,source,target\n7,0,1\nx-1,1,2\n")[1]
    other = ingest(tmp_path, "graph_id,source,target\nx-1,0,1\n7,1,2\n")[1]
    again = ingest(tmp_path, "graph_id,source,target\nx-1,2,1\n7,1,0\n")[1]
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == again.fingerprint


def test_a_thousand_graphs_are_stored_and_read(tmp_path: Path):
    schema = many(1000)
    edges = {t.name: EdgeTable(np.array([0]), np.array([1])) for t in schema.edge_types}
    graph = Graph.build(schema, {}, edges)
    write_graph(graph, tmp_path)
    assert read_graph(tmp_path).equals(graph)


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_release_can_be_uploaded_as_it_is_written(tmp_path: Path, form: str):
    graph, _ = ingest(tmp_path, EDGES)
    released, _ = pseudonymise(graph, np.random.default_rng(0))
    path = tmp_path / "written"
    formats.get(form).write(released, path)
    listed = "graph_id,id\n" + "".join(
        f"{released.schema.graph_ids()[name]},{each}\n"
        for name, table in released.nodes.items()
        for each in table.id_array().to_pylist()
    )
    again, _ = ingest(tmp_path, path.read_bytes(), LISTED, listed, form=form)
    assert pairs(again) == pairs(released)


def test_a_release_declares_the_asked_graphs_and_public_attributes():
    hidden, shown = Attribute(name="a"), Attribute(name="b", protection=Protection.PUBLIC)
    collection = Collection(
        graphs=(CollectionGraph(id="1", label="x"), CollectionGraph(id="2", label="y")),
        attributes=(hidden, shown),
        directed=True,
    )
    released = collection.released({"graph-2"})
    assert released.graphs == (CollectionGraph(id="2", label="y"),)
    assert released.attributes == (shown,)
    assert released.directed


def test_comparisons_are_means_over_the_graphs():
    schema = many(2, nodes=4)
    path, star = (
        EdgeTable(np.array([0, 1]), np.array([1, 2])),
        EdgeTable(np.array([0, 0, 0]), np.array([1, 2, 3])),
    )
    original = Graph.build(schema, {}, {"graph-0": path, "graph-1": star})
    synthetic = Graph.build(schema, {}, {"graph-0": star, "graph-1": star})
    found = compare(original, synthetic, Suite.STANDARD, no_progress)
    edges = found["overall"]["scalars"]["edges"]
    assert (edges["original"], edges["synthetic"], edges["absolute_error"]) == (2.5, 3.0, 0.5)
    assert found["whole"] is None  # the graphs of a collection are apart


def test_the_largest_graphs_are_attacked():
    sizes = [3 + (i * 7) % 40 for i in range(40)]
    graphs = tuple(CollectionGraph(id=f"{i}", nodes=size) for i, size in enumerate(sizes))
    schema = GraphSchema(collection=Collection(graphs=graphs))
    graph = Graph.build(schema, {t.name: NodeTable(t.count or 0) for t in schema.node_types}, {})
    chosen = [graph.nodes[t.source].count for t in protected_relations(graph, graph)]
    assert sorted(chosen) == sorted(sizes)[-MOST_OF_COLLECTION:]

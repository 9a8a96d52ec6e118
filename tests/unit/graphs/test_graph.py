"""A graph is canonical, immutable and within its schema."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.whole import read_graph, write_graph
from core.graphs.views.pseudonyms import pseudonyms

SCHEMA = GraphSchema(node_types=(NodeType(count=4, attributes=(Attribute(name="x"),)),))


def edges(*pairs: tuple[int, int]) -> EdgeTable:
    return EdgeTable(np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs]))


def test_build_canonicalises() -> None:
    graph = Graph.build(SCHEMA, {}, {"edge": edges((3, 1), (1, 3), (2, 2), (0, 1))})
    assert graph.edges["edge"].source.tolist() == [0, 1]
    assert graph.edges["edge"].target.tolist() == [1, 3]
    directed = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(directed=True),))
    graph = Graph.build(directed, {}, {"edge": edges((3, 1), (1, 3), (2, 2), (0, 1))})
    assert graph.edges["edge"].count == 3


def test_a_built_graph_cannot_be_written_and_shares_nothing_writable() -> None:
    given = edges((0, 1), (1, 2))
    column = np.arange(4.0)
    graph = Graph.build(SCHEMA, {"node": NodeTable(4, None, {"x": column})}, {"edge": given})
    given.source[0] = 3
    column[0] = 9
    assert graph.edges["edge"].source.tolist() == [0, 1]
    assert graph.nodes["node"].attributes["x"][0] == 0
    for array in (
        graph.edges["edge"].source,
        graph.edges["edge"].target,
        graph.nodes["node"].attributes["x"],
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError):
        graph.edges["edge"] = given  # type: ignore[index]
    with pytest.raises(TypeError):
        graph.nodes["node"].attributes["x"] = column  # type: ignore[index]


def test_a_view_of_a_writable_array_is_copied() -> None:
    column = np.arange(4.0)
    view = column[:]
    view.flags.writeable = False
    graph = Graph.build(SCHEMA, {"node": NodeTable(4, None, {"x": view})}, {})
    column[0] = 9
    assert graph.nodes["node"].attributes["x"][0] == 0


@pytest.mark.parametrize(
    ("nodes", "tables", "says"),
    [
        ({}, {"edge": edges((0, 4))}, "leaves 0..3"),
        ({}, {"edge": edges((-1, 2))}, "leaves 0..3"),
        ({}, {"other": edges((0, 1))}, "undeclared types"),
        ({}, {"edge": EdgeTable(np.array([0]), np.array([1]), np.array([0]))}, "not temporal"),
        ({}, {"edge": EdgeTable(np.array([0.0]), np.array([1.0]))}, "integers"),
        ({}, {"edge": EdgeTable(np.array([0]), np.array([1, 2]))}, "another length"),
        ({"node": NodeTable(3)}, {}, "declares 4 nodes"),
        ({"node": NodeTable(4, pa.array(["a"]))}, {}, "1 ids"),
        ({"node": NodeTable(4, None, {"y": np.zeros(4)})}, {}, "undeclared attribute"),
        ({"node": NodeTable(4, None, {"x": np.zeros(3)})}, {}, "3 values"),
        ({"person": NodeTable(4)}, {}, "undeclared types"),
    ],
)
def test_build_refuses_what_breaks_the_schema(nodes: dict, tables: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Graph.build(SCHEMA, nodes, tables)


def test_steps_outside_the_grid_are_refused() -> None:
    timed = GraphSchema(
        node_types=(NodeType(count=4),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=2)
    )
    with pytest.raises(ValueError, match=r"leaves 0\.\.1"):
        Graph.build(timed, {}, {"edge": EdgeTable(np.array([0]), np.array([1]), np.array([2]))})
    empty = Graph.build(timed, {}, {})
    assert [cell.count for cell in empty.cells()] == [0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"edge_types": [{"functional": True}]},
        {"edge_types": [{"once": True}]},
        {"node_types": [{"attributes": [{"name": "id"}]}]},
        {"node_types": [{"attributes": [{"name": "a"}, {"name": "a"}]}]},
        {"edge_types": [{"temporal": True}], "time": {"count": 2, "start": 2**63}},
    ],
)
def test_schemas_that_cannot_be_meant_are_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        GraphSchema.model_validate(wrong)


def test_columns_too_wide_for_one_key_are_sorted_column_wise() -> None:
    count = 200_000_000
    schema = GraphSchema(
        node_types=(NodeType(count=count),),
        edge_types=(EdgeType(temporal=True),),
        time=TimeGrid(count=100_000),
    )
    source, target = np.array([count - 1, 5, 5]), np.array([0, count - 1, count - 1])
    graph = Graph.build(schema, {}, {"edge": EdgeTable(source, target, np.array([99_999, 3, 3]))})
    table = graph.edges["edge"]
    assert (table.step.tolist(), table.source.tolist(), table.target.tolist()) == (
        [3, 99_999],
        [5, 0],
        [count - 1, count - 1],
    )


def test_store_keeps_types_of_ids_and_attributes(tmp_path: Path) -> None:
    kinds = (("x", AttributeKind.NUMBER), ("v", AttributeKind.VECTOR))
    attributes = tuple(Attribute(name=name, kind=kind) for name, kind in kinds)
    schema = GraphSchema(
        node_types=(
            NodeType(name="a", attributes=attributes),
            NodeType(name="b", count=2, attributes=attributes),
            NodeType(name="c"),
        ),
        edge_types=(EdgeType(source="a", target="b"),),
    )
    nodes = {
        "a": NodeTable(
            3, pa.array([7, 8, 9]), {"x": np.array([1, 2, 3], np.int16), "v": np.ones((3, 2), np.float32)}
        ),
        "b": NodeTable(2, None, {"x": pa.array(["p", None]), "v": np.zeros((2, 5), np.float64)}),
        "c": NodeTable(0, pa.array([], pa.large_string())),
    }
    graph = Graph.build(schema, nodes, {"edge": edges((2, 1), (0, 0))})
    write_graph(graph, tmp_path)
    again = read_graph(tmp_path)
    assert again.equals(graph)
    assert again.nodes["a"].attributes["x"].dtype == np.int16
    assert not again.equals(Graph.build(schema, nodes, {"edge": edges((2, 1))}))


def test_a_store_that_was_cut_is_refused(tmp_path: Path) -> None:
    write_graph(Graph.build(SCHEMA, {}, {"edge": edges((0, 1))}), tmp_path)
    other = tmp_path / "other"
    write_graph(Graph.build(SCHEMA, {}, {}), other)
    (tmp_path / "nodes.parquet").write_bytes((other / "nodes.parquet").read_bytes()[:100])
    with pytest.raises(pa.ArrowInvalid):
        read_graph(tmp_path)


def test_pseudonyms_sort_as_they_count() -> None:
    names = pseudonyms("node", 12).to_pylist()
    assert names[0] == "node-000001"
    assert names == sorted(names)
    assert pseudonyms("node", 0).to_pylist() == []

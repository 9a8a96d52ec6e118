"""The graph as THEPUFF's networks see it: node numbers, neighbours, anchors, degrees."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from papers._shared.walks.layout import Layout, keys_of
from papers.thepuff.snapshots import Snapshots

KINDS = (NodeType(name="user", count=3), NodeType(name="film", count=4), NodeType(name="genre", count=2))
SEES = EdgeType(name="sees", source="user", target="film", directed=True, temporal=True)
HAS = EdgeType(name="has", source="film", target="genre", directed=True)
KNOWS = EdgeType(name="knows", source="user", target="user", temporal=True)


def table(rows, *, timed: bool) -> EdgeTable:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3 if timed else 2).T
    return EdgeTable(*columns)


@pytest.fixture
def graph() -> Graph:
    schema = GraphSchema(node_types=KINDS, edge_types=(SEES, HAS, KNOWS), time=TimeGrid(count=2))
    edges = {
        "sees": table([(0, 1, 0), (0, 2, 0), (2, 1, 1)], timed=True),
        "has": table([(1, 0), (1, 1)], timed=False),
        "knows": table([(0, 2, 1)], timed=True),
    }
    return Graph.build(schema, {kind.name: NodeTable(kind.count) for kind in KINDS}, edges)


def seen(graph: Graph, names: tuple[str, ...], degrees=None) -> Snapshots:
    layout = Layout.of(graph.schema, {kind.name: kind.count for kind in KINDS}, names)
    keys = keys_of(graph, layout)
    return Snapshots.of(layout, keys, {c: len(keys[c]) for c, _ in layout.cells(learned=True)}, degrees)


def neighbours(snapshots: Snapshots, step: int, node: int) -> list[int]:
    return snapshots.others[snapshots.start[step, node] : snapshots.start[step, node + 1]].tolist()


def test_nodes_of_all_types_are_numbered_in_one_row(graph):
    layout = seen(graph, ("sees", "has")).layout
    assert layout.offsets.tolist() == [0, 3, 7, 9]
    assert layout.type_of(np.array([0, 2, 3, 6, 7, 8])).tolist() == [0, 0, 1, 1, 2, 2]
    assert layout.allowed.astype(int).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_a_step_sees_its_own_edges_and_those_without_time(graph):
    snapshots = seen(graph, ("sees", "has", "knows"))
    assert neighbours(snapshots, 0, 0) == [4, 5]
    assert neighbours(snapshots, 0, 4) == [0, 7, 8]  # in ascending order, hence type by type
    assert neighbours(snapshots, 1, 4) == [2, 7, 8]
    assert neighbours(snapshots, 1, 0) == [2]
    assert neighbours(snapshots, 1, 2) == [0, 4]
    assert neighbours(snapshots, 0, 7) == neighbours(snapshots, 1, 7) == [4]
    assert neighbours(snapshots, 0, 1) == []


def test_anchors_are_the_edges_of_learned_cells_by_step(graph):
    snapshots = seen(graph, ("sees", "has", "knows"))
    assert snapshots.anchor_start.tolist() == [0, 2, 4]
    assert snapshots.anchors.tolist() == [[0, 4], [0, 5], [2, 4], [0, 2]]
    assert snapshots.step_counts.tolist() == [2, 2]


def test_a_relation_that_was_not_asked_for_is_not_seen(graph):
    snapshots = seen(graph, ("sees",))
    assert neighbours(snapshots, 0, 4) == [0]
    assert [relation.name for relation in snapshots.layout.relations] == ["sees"]


def test_degrees_are_paid_ones_where_there_are_any(graph):
    counted = seen(graph, ("sees", "has"))
    assert counted.node_degrees(0).tolist() == [2, 0, 0, 0, 3, 1, 0, 1, 1]
    paid = {("sees", 0): (np.array([0, 5, 0]), np.array([1, 1, 1, 2]))}
    snapshots = seen(graph, ("sees", "has"), paid)
    assert snapshots.node_degrees(0).tolist() == [0, 5, 0, 1, 3, 1, 2, 1, 1]
    assert snapshots.node_degrees(1).tolist() == counted.node_degrees(1).tolist()


def test_an_undirected_cell_s_paid_degrees_count_once(graph):
    own = np.array([1, 1, 2])
    sides = {("knows", 1): (own, own), ("sees", 1): (np.array([0, 0, 1]), np.array([0, 1, 0, 0]))}
    snapshots = seen(graph, ("sees", "knows"), sides)
    assert snapshots.node_degrees(1).tolist() == [1, 1, 3, 0, 1, 0, 0, 0, 0]


def test_without_time_all_relations_are_learned():
    schema = GraphSchema(node_types=KINDS, edge_types=(HAS,))
    layout = Layout.of(schema, {kind.name: kind.count for kind in KINDS}, ("has",))
    snapshots = Snapshots.of(layout, {("has", None): np.array([3])}, {("has", None): 5})
    assert layout.steps == 1
    assert snapshots.anchors.tolist() == [[4, 8]]
    assert snapshots.step_counts.tolist() == [5]
    assert neighbours(snapshots, 0, 8) == [4]


def test_an_empty_graph_has_no_neighbours_and_no_anchors():
    layout = Layout.of(GraphSchema(node_types=(NodeType(count=3),)), {"node": 3}, ("edge",))
    snapshots = Snapshots.of(layout, {("edge", None): np.empty(0, np.int64)}, {("edge", None): 0})
    assert snapshots.others.size == 0
    assert snapshots.anchor_start.tolist() == [0, 0]
    assert snapshots.node_degrees(0).tolist() == [0, 0, 0]

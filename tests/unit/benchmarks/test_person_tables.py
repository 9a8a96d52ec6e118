"""Graphs of persons and the tables' figures: what they declare, and what a graph scores beside itself."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import person_graphs, person_tables
from benchmarks.typed_graphs import Sizes, shaped
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType

SMALL = Sizes(("user", "item", "category"), 200, 80, 5, 1500, 3, once=False)


def degree_of(graph: Graph) -> np.ndarray:
    return UndirectedView.of(graph.cell("edge", None)).degrees


@pytest.mark.parametrize("bound", [8, 64])
def test_no_node_of_a_bounded_graph_is_above_its_bound_and_few_edges_are_lost(bound):
    graph = person_graphs.bounded_graph(2000, bound)
    degree = degree_of(graph)
    assert degree.max() <= bound
    assert degree.max() > bound / 2
    assert degree.mean() > 4
    assert graph.equals(person_graphs.bounded_graph(2000, bound))


def test_relations_without_a_person_are_public_and_edge_level_methods_see_no_persons():
    graph = person_graphs.protecting(shaped(SMALL), "user")
    assert [kind.public for kind in graph.schema.edge_types] == [False, True]
    assert graph.schema.protected_type is not None
    plain = person_graphs.edge_wise(graph)
    assert plain.schema.protected_type is None
    assert plain.schema.edge_types == graph.schema.edge_types


def test_a_graph_beside_itself_is_not_off():
    graph = person_graphs.protecting(shaped(SMALL), "user")
    found = person_tables.things("taobao", graph, graph)
    assert found["TV persons"] == found["TV things"] == found["L1 things"] == 0
    assert found["4-cycles"] == 1
    people = person_graphs.person_graph(person_graphs.bounded_graph(500, 32), 32)
    assert set(person_tables.people(people, people).values()) == {0.0}


def test_modularity_of_two_halves_that_know_only_themselves():
    ring = np.arange(10)
    pairs = np.concatenate([ring, ring + 10]), np.concatenate([(ring + 1) % 10, (ring + 1) % 10 + 10])
    view = UndirectedView.of_pairs(20, *pairs)
    assert person_tables.modularity(view, np.repeat([0, 1], 10)) == pytest.approx(0.5)
    assert person_tables.modularity(view, np.zeros(20, dtype=np.int64)) == 0.0


def test_an_edge_level_row_is_released_at_its_share_of_epsilon():
    graph = person_graphs.person_graph(person_graphs.bounded_graph(300, 16), 16)
    row = next(row for row in person_tables.PEOPLE_ROWS if row.grouped)
    synthetic, seconds = person_tables.released(row, graph, 64.0, 16)
    assert seconds > 0
    assert synthetic.nodes["node"].count == 300


def test_tables_are_printed_from_lines():
    figures = {"degree TV": 0.0625, "cpu_seconds": 1.25, "peak_megabytes": 300.0}
    line = {"table": "people", "graph": "cora", "label": "projection", "epsilon": 1.0, "run": 0, "bound": 256}
    size = line | {"table": "size", "graph": "generated-10000-64", "bound": 64}
    printed = "\n".join(person_tables.tables([line | {"figures": figures}, size | {"figures": figures}]))
    assert "| projection | 1 | .062 | 1.2 | 300 | 1 |" in printed
    assert "| projection, 10,000 | 64 | 1 | .062 |" in printed


def test_a_table_tells_how_far_runs_lie_apart():
    line = {"table": "people", "graph": "cora", "label": "projection", "epsilon": 1.0, "bound": 256}
    figures = [{"degree TV": tv, "cpu_seconds": 1.25, "peak_megabytes": 300.0} for tv in (0.05, 0.07)]
    lines = [line | {"run": run, "figures": each} for run, each in enumerate(figures)]
    assert "| projection | 1 | .060 ± .010 | 1.2 | 300 | 2 |" in "\n".join(person_tables.tables(lines))
    assert [person_tables.mean_of([value]) for value in (10.026, -0.001, None)] == ["10.026", "-.001", ""]


def test_a_release_carries_the_originals_public_relations():
    graph = person_graphs.protecting(shaped(SMALL), "user")
    none = np.empty(0, dtype=np.int64)
    timed, fixed = (kind.name for kind in graph.schema.edge_types)
    empty = Graph(
        graph.schema,
        graph.nodes,
        {timed: EdgeTable(none, none, none.astype(np.int32)), fixed: EdgeTable(none, none)},
    )
    published = person_tables.with_public(graph, empty)
    assert published.edges[fixed].count == graph.edges[fixed].count
    assert published.edges[timed].count == 0


def test_groups_are_read_where_there_are_any():
    schema = GraphSchema(node_types=(NodeType(count=3),), edge_types=(EdgeType(),))
    bare = Graph.build(schema, {"node": NodeTable(3)}, {"edge": EdgeTable(np.array([0]), np.array([1]))})
    assert person_graphs.groups_of(bare) is None

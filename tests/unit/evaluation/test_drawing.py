"""Drawings: small graphs get a place for every node, the same one each time; large ones get none."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from core.evaluation.drawing import MAX_EDGES, MAX_NODES, PART_EDGES, PART_NODES, draw, layout
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.reports.statistics import Drawing


def static(made: nx.Graph) -> Graph:
    pairs = np.array(sorted(made.edges), dtype=np.int64).reshape(-1, 2)
    return Graph.build(
        GraphSchema(), {"node": NodeTable(len(made))}, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])}
    )


def test_all_relations_and_steps_are_drawn_as_one_graph():
    schema = GraphSchema(
        node_types=(NodeType(name="user"), NodeType(name="movie")),
        edge_types=(
            EdgeType(name="talks", source="user", target="user", temporal=True),
            EdgeType(name="likes", source="user", target="movie"),
        ),
        time=TimeGrid(count=2),
    )
    edges = {
        "talks": EdgeTable(np.array([0, 0, 1]), np.array([1, 1, 2]), np.array([0, 1, 1])),
        "likes": EdgeTable(np.array([2]), np.array([1])),
    }
    graph = Graph.build(schema, {"user": NodeTable(3), "movie": NodeTable(2)}, edges)
    found = Drawing.model_validate(draw(graph))
    assert [node.type for node in found.nodes] == ["user"] * 3 + ["movie"] * 2
    assert set(found.edges) == {(0, 1), (1, 2), (2, 4)}


@pytest.mark.parametrize(
    "made",
    [
        nx.empty_graph(1),
        nx.empty_graph(7),
        nx.path_graph(2),
        nx.star_graph(20),
        nx.disjoint_union(nx.complete_graph(5), nx.empty_graph(3)),
        nx.gnm_random_graph(MAX_NODES, 600, seed=1),
    ],
)
def test_a_drawing_fits_its_model_and_is_the_same_each_time(made):
    found = draw(static(made))
    assert found is not None
    drawn = Drawing.model_validate(found)
    assert len(drawn.nodes) == len(made)
    assert set(drawn.edges) == {tuple(sorted(edge)) for edge in made.edges}
    assert len({(node.x, node.y) for node in drawn.nodes}) == len(made)
    assert found == draw(static(made))


def test_of_a_large_graph_the_part_with_most_edges_is_drawn():
    assert draw(static(nx.gnm_random_graph(60, MAX_EDGES, seed=1)))["part_of"] is None
    made = nx.gnm_random_graph(60, MAX_EDGES + 1, seed=1)
    made.add_nodes_from(range(60, 300))
    found = Drawing.model_validate(draw(static(made)))
    assert (found.part_of, len(found.nodes), len(found.edges)) == (300, PART_NODES, PART_EDGES)
    assert len(set(found.edges)) == PART_EDGES
    assert {node for edge in found.edges for node in edge} <= set(range(60))
    star = Drawing.model_validate(draw(static(nx.star_graph(MAX_NODES))))
    assert set(star.edges) == {(0, leaf) for leaf in range(1, PART_NODES)}
    assert draw(static(nx.empty_graph(MAX_NODES + 1)))["edges"] == []


def test_what_has_no_node_is_not_drawn():
    nothing = GraphSchema(node_types=(NodeType(name="node"),))
    none = np.array([], dtype=np.int64)
    assert draw(Graph.build(nothing, {"node": NodeTable(0)}, {"edge": EdgeTable(none, none)})) is None


def test_linked_nodes_stand_nearer_than_others():
    two = nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(8))
    u, v = np.array(list(two.edges)).T
    places = layout(16, u, v)
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2)
    same = np.arange(16)[:, None] // 8 == np.arange(16)[None, :] // 8
    assert apart[same].max() < apart[~same].mean()

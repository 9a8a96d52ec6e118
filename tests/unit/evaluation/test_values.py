"""What edges carry, compared: distances by hand, correlations, and where nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation import suite
from core.evaluation.metric import Suite
from core.evaluation.values import compare_values
from core.graphs.edge_attributes import EdgeAttribute
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.reports.comparison import Comparison

STARS = EdgeAttribute(name="stars", kind="integer", bounds=(0, 4), aggregate="max")
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"), aggregate="max")


def graph(
    attribute: EdgeAttribute, values: list[int], *, star: bool = False, steps: int = 0, **form
) -> Graph:
    """A path with these values, in its order; or a star around node 0."""
    relation = EdgeType(name="e", attributes=(attribute,), temporal=steps > 0, **form)
    count = len(values) + 1
    time = TimeGrid(count=steps) if steps else None
    schema = GraphSchema(node_types=(NodeType(count=count),), edge_types=(relation,), time=time)
    low = np.zeros(len(values), int) if star else np.arange(len(values))
    step = np.arange(len(values)) % steps if steps else None
    held = EdgeValues({attribute.name: np.array(values, dtype=np.int32)})
    return Graph.build(schema, {}, {"e": EdgeTable(low, np.arange(1, count), step, held)})


def row(ours: Graph, theirs: Graph) -> dict:
    (found,) = compare_values(ours, theirs, ours.schema.edge_types[0])
    return found["row"]


def test_numbers_are_as_far_apart_as_they_must_be_moved():
    far = row(graph(STARS, [0, 0, 0, 4]), graph(STARS, [4, 0, 1, 1]))
    assert far["distances"]["value_distance"] == pytest.approx(2 / 4 / 4)  # two edges by one star each, of 4
    assert far["scalars"]["value_mean"]["original"] == 1
    assert far["scalars"]["value_mean"]["synthetic"] == 1.5
    assert far["scalars"]["value_mean"]["absolute_error"] == 0.5


def test_categories_are_as_far_apart_as_their_shares():
    far = row(graph(SORT, [0, 0, 0, 1]), graph(SORT, [2, 2, 0, 0]))
    assert far["distances"]["value_distance"] == pytest.approx(0.5)
    assert far["scalars"] == {}


def test_a_node_is_compared_by_its_own_edges():
    many = [0] * 6 + [4] * 6
    far = row(graph(STARS, many, star=True), graph(STARS, [4] * 12, star=True))
    assert far["distances"]["value_node_distance"] == pytest.approx(0.5)  # the hub alone has ten edges
    few = row(graph(STARS, [0, 4], star=True), graph(STARS, [4, 4], star=True))
    assert few["distances"]["value_node_distance"] is None


def test_steps_are_compared_each_by_itself():
    far = row(graph(STARS, [0, 4, 0, 4], steps=2), graph(STARS, [4, 0, 4, 0], steps=2))
    assert far["distances"]["value_distance"] == 0
    assert far["distances"]["value_step_distance"] == 1
    assert "value_step_distance" not in row(graph(STARS, [0]), graph(STARS, [0]))["distances"]


def test_correlations_are_those_of_edges_and_ends():
    path = graph(STARS, [0, 1, 1, 1, 0])
    found = row(path, path)["scalars"]["value_degree_correlation"]
    degrees = np.log1p([1, 2, 2, 2, 2, 2, 2, 2, 2, 1])
    expected = np.corrcoef(np.repeat([0, 1, 1, 1, 0], 2), degrees)[0, 1]
    assert found["original"] == found["synthetic"] == pytest.approx(expected)
    directed = graph(STARS, [0, 1, 2], star=True, directed=True)
    scalars = row(directed, directed)["scalars"]
    assert scalars["value_source_correlation"]["original"] is None  # all of one source
    assert scalars["value_target_correlation"]["original"] is None
    assert "value_degree_correlation" not in scalars


def test_an_empty_graph_says_nothing():
    full = graph(STARS, [1, 2])
    empty = full.only({"e": np.zeros(2, dtype=bool)})
    far = row(full, empty)
    assert set(far["distances"].values()) == {None}
    assert far["scalars"]["value_mean"]["synthetic"] is None
    assert far["scalars"]["value_mean"]["absolute_error"] is None


def test_a_comparison_has_them_where_both_graphs_do_and_says_what_they_mean():
    ours, theirs = graph(STARS, [0, 0, 4]), graph(STARS, [0, 4, 4])
    found = suite.compare(ours, theirs, Suite.QUICK, lambda *_: None)
    read = Comparison.model_validate(found)
    (carried,) = read.edge_types[0].values
    assert (carried.name, carried.kind) == ("stars", "integer")
    named = set(carried.row.scalars) | set(carried.row.distances)
    assert named <= set(read.metrics)
    bare = Graph(theirs.schema, theirs.nodes, {"e": theirs.edges["e"].bare()})
    without = suite.compare(ours, bare, Suite.QUICK, lambda *_: None)
    assert without["edge_types"][0]["values"] == []
    assert "value_distance" not in without["metrics"]

"""What edges carry, compared: distances by hand, correlations, and where nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation import suite
from core.evaluation.metric import Suite
from core.evaluation.values import compare_values
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
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


def test_margins_of_one_and_two_things_are_shares_by_hand():
    far = row(graph(STARS, [0, 4, 0, 4], steps=2), graph(STARS, [4, 0, 4, 4], steps=2))["distances"]
    assert far["value_total_variation"] == pytest.approx(0.25)  # of four edges one has other stars
    # Shares by step and stars: (0, 0) and (1, 4) have half each, then (0, 4), (1, 0) and (1, 4) .5, .25, .25.
    assert far["value_step_total_variation"] == pytest.approx(0.75)
    alone = row(graph(STARS, [0, 4]), graph(STARS, [0, 4]))["distances"]
    assert alone["value_pair_total_variation"] is None
    assert "value_step_total_variation" not in alone


def test_values_by_degree_see_which_nodes_have_them():
    """A path whose middle edge alone has four stars, and one whose first has: ends of degree 1 and 2."""
    far = row(graph(STARS, [0, 4, 0]), graph(STARS, [4, 0, 0]))["distances"]
    assert far["value_total_variation"] == 0
    # Ends by degree and stars, of 6: (1, 0) 2, (2, 0) 2, (2, 4) 2; then 1, 3, 1, and (1, 4) 1.
    assert far["value_degree_total_variation"] == pytest.approx(2 / 6)


def test_two_attributes_are_compared_together():
    other = EdgeAttribute(name="sort", kind="category", categories=("a", "b"), aggregate="max")
    relation = EdgeType(name="e", attributes=(STARS, other))
    schema = GraphSchema(node_types=(NodeType(count=5),), edge_types=(relation,))
    ends = np.arange(4), np.arange(1, 5)

    def of(sorts: list[int]) -> Graph:
        columns = {"stars": np.array([0, 0, 4, 4], dtype="i4"), "sort": np.array(sorts, dtype="i4")}
        return Graph.build(schema, {}, {"e": EdgeTable(*ends, None, EdgeValues(columns))})

    rows = compare_values(of([0, 0, 1, 1]), of([0, 1, 0, 1]), relation)
    for found in rows:
        assert found["row"]["distances"]["value_total_variation"] == 0
        assert found["row"]["distances"]["value_pair_total_variation"] == pytest.approx(0.5)


def test_means_of_busy_nodes_are_compared_and_how_far_they_spread():
    hub = row(graph(STARS, [0] * 6 + [4] * 6, star=True), graph(STARS, [4] * 12, star=True))
    assert hub["distances"]["value_node_mean_error"] == 2  # the hub alone has ten edges
    spread = hub["scalars"]["value_node_spread"]
    assert (spread["original"], spread["synthetic"]) == (0, 0)
    few = row(graph(STARS, [0, 4]), graph(STARS, [4, 4]))
    assert few["distances"]["value_node_mean_error"] is None
    assert few["scalars"]["value_node_spread"]["original"] is None
    assert "value_node_mean_error" not in row(graph(SORT, [0]), graph(SORT, [0]))["distances"]

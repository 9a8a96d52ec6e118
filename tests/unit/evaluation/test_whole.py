"""The whole-graph comparison on a small typed temporal graph whose figures are worked out by hand."""

from __future__ import annotations

import json
import math

import networkx as nx
import numpy as np
import pytest

from core.evaluation.metric import Suite, of_suite
from core.evaluation.whole import meta_paths, paper_paths
from core.evaluation.whole.compare import WHOLE, compare_whole
from core.evaluation.whole.layers import Layer
from core.evaluation.whole.mmd import squared_mmd, squared_mmd_of_counts
from core.evaluation.whole.sequences import sequence_correlation, sequence_error
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.reports.comparison import WholeComparison

SCHEMA = GraphSchema(
    node_types=(
        NodeType(name="user", count=3),
        NodeType(name="movie", count=2),
        NodeType(name="genre", count=1),
    ),
    edge_types=(
        EdgeType(name="rates", source="user", target="movie", temporal=True),
        EdgeType(name="has", source="movie", target="genre", public=True),
    ),
    time=TimeGrid(count=3),
)
# Step: (user, movie) pairs. Global numbers: users 0-2, movies 3-4, genre 5; both movies have the genre.
RATINGS = {0: [(0, 0), (1, 0), (2, 1)], 1: [(0, 0)], 2: [(0, 0), (0, 1), (1, 1), (2, 1)]}


def films(ratings: dict[int, list[tuple[int, int]]]) -> Graph:
    rows = np.array([(u, m, step) for step, pairs in ratings.items() for u, m in pairs], dtype=np.int64)
    rows = rows.reshape(-1, 3)
    edges = {
        "rates": EdgeTable(rows[:, 0], rows[:, 1], rows[:, 2]),
        "has": EdgeTable(np.array([0, 1]), np.array([0, 0])),
    }
    return Graph.build(SCHEMA, {}, edges)


def layer(graph: Graph, step: int | None) -> Layer:
    return Layer.of(graph, graph.schema.edge_types, step)


def whole(original: Graph, synthetic: Graph, suite: Suite = Suite.STANDARD, **known) -> dict:
    found = compare_whole(original, synthetic, suite, lambda *_: None, **known)
    assert found is not None
    return found


def test_a_layer_has_the_steps_timed_edges_and_all_untimed_ones():
    first = layer(films(RATINGS), 0)
    assert list(zip(first.view.u.tolist(), first.view.v.tolist(), strict=True)) == [
        (0, 3),
        (1, 3),
        (2, 4),
        (3, 5),
        (4, 5),
    ]
    assert {key: len(pairs[0]) for key, pairs in first.arcs.items()} == {(0, 1): 3, (1, 2): 2}
    assert first.typed_degrees[1, 0].tolist() == [2.0, 1.0]
    assert first.typed_degrees[2, 1].tolist() == [2.0]


def test_simple_paths_by_hand():
    first = layer(films(RATINGS), 0)
    assert meta_paths.counts(first, 2) == {(0, 1): 3.0, (1, 2): 2.0}
    # Movie 0 joins users 0 and 1; each of three ratings goes on to the genre; the genre joins both movies.
    assert meta_paths.counts(first, 3) == {(0, 1, 0): 1.0, (0, 1, 2): 3.0, (1, 2, 1): 1.0}
    # From a user over its movie and the genre to the other movie.
    assert meta_paths.counts(first, 4) == {(0, 1, 2, 1): 3.0}


def test_published_shares_by_hand():
    graph = films(RATINGS)
    pairs, chains = paper_paths.listed_paths(graph, graph.schema.edge_types)
    assert (pairs, chains) == (((0, 1), (1, 2)), ((0, 1, 2),))
    first = layer(graph, 0)
    twos, threes = paper_paths.directed_shares(first, pairs, chains)
    assert twos == pytest.approx([3 / 5, 2 / 5, 0])
    assert threes == pytest.approx([1, 0])  # every directed path of three nodes is user-movie-genre
    twos, threes = paper_paths.symmetrised_shares(first, pairs, chains)
    assert twos == pytest.approx([3 / 20, 2 / 20, 15 / 20])
    # Degrees 1, 1, 1, 3, 2, 2: the squares sum to 20.
    assert threes == pytest.approx([3 / 80, 77 / 80])
    q = 3 / 80
    assert paper_paths.cross_entropy(np.array([1.0, 0.0]), threes) == pytest.approx(
        math.log(math.exp(q) + math.exp(1 - q)) - q
    )


def test_meta_scores_are_means_over_steps_and_an_empty_graph_scores_as_no_listed_path():
    graph = films(RATINGS)
    found = whole(graph, films({}))["sequences"]
    pairs, chains = paper_paths.listed_paths(graph, graph.schema.edge_types)
    ours = [layer(graph, t) for t in range(3)]
    expected = [
        paper_paths.cross_entropy(
            paper_paths.directed_shares(one, pairs, chains)[1],
            paper_paths.symmetrised_shares(one, pairs, chains)[1],
        )
        for one in ours
    ]
    assert found["thepuff_meta3_self"] == pytest.approx(np.mean(expected))
    # Without a user-movie edge no chain is left: q = (0, 1).
    assert found["thepuff_meta3"] == pytest.approx(math.log(1 + math.e))


def test_two_equal_graphs_score_below_zero_on_the_unbiased_discrepancy():
    # Sequence 6, 4, 6: one equal pair of three in the sample, and (4 + 1) of nine across.
    own = math.exp(-4e-5)
    far = math.exp(-4 * (4 + 1e-5))
    expected = 2 * (own + 2 * far) / 3 - 2 * (5 * own + 4 * far) / 9
    found = whole(films(RATINGS), films(RATINGS))["sequences"]
    assert found["thepuff_largest_component_mmd"] == pytest.approx(expected)
    assert found["thepuff_largest_component_mmd_self"] == pytest.approx(expected)
    assert expected < 0


def test_a_perfect_copy_has_no_distance_and_overlaps_in_full():
    found = whole(films(RATINGS), films(RATINGS))
    names = ["edge_overlap_rate", "edge_overlap", "largest_component_sequence_error"]
    names += [f"meta_path_total_variation_{length}" for length in (2, 3, 4)]
    assert [found["sequences"][name] for name in names] == pytest.approx([1, 1, 0, 0, 0, 0])
    assert found["sequences"]["largest_component_sequence_correlation"] == pytest.approx(1)
    assert all(set(node["distances"].values()) == {0.0} for node in found["node_types"])
    assert [node["name"] for node in found["node_types"]] == ["user", "movie", "genre"]


def test_overlap_counts_public_edges_in_the_published_rate_only():
    other = films({0: [(0, 0), (1, 1)], 1: [(0, 0)], 2: [(2, 0)]})
    found = whole(films(RATINGS), other)["sequences"]
    assert found["edge_overlap_rate"] == pytest.approx((3 / 4 + 3 / 3 + 2 / 3) / 3)
    assert found["edge_overlap"] == pytest.approx(2 / 4)
    nothing = whole(films(RATINGS), films({}))["sequences"]
    assert nothing["edge_overlap"] is None


def test_degree_distances_are_told_apart_by_node_type():
    # Step 1 moves the only rating from movie 0 to movie 1: no degree distribution changes, in any step.
    moved = films(RATINGS | {1: [(0, 1)]})
    same = {
        n["name"]: n["distances"]["degree_total_variation"]
        for n in whole(films(RATINGS), moved)["node_types"]
    }
    assert same == {"user": 0.0, "movie": 0.0, "genre": 0.0}
    dropped = whole(films(RATINGS), films(RATINGS | {1: []}), Suite.QUICK)["node_types"]
    found = {n["name"]: n["distances"]["degree_total_variation"] for n in dropped}
    assert found == pytest.approx({"user": 1 / 9, "movie": 1 / 6, "genre": 0.0})


def test_shares_are_listed_by_name_and_length_and_sum_to_one():
    found = whole(films(RATINGS), films({0: RATINGS[0]}))["meta_paths"]
    for length in (2, 3, 4):
        rows = [row for row in found if row["length"] == length]
        assert sum(row["original"] for row in rows) == pytest.approx(1)
    assert found[0]["path"] == "user-movie"
    # 3/5, 1/3 and 4/6 of the edges are ratings; the synthetic graph has 3/5, 0 and 0.
    assert found[0]["original"] == pytest.approx((3 / 5 + 1 / 3 + 4 / 6) / 3)
    assert found[0]["synthetic"] == pytest.approx(1 / 5)


@pytest.mark.parametrize("suite", list(Suite))
def test_every_suite_fills_the_reports_model_and_names_what_it_defines(suite):
    calls = []
    found = compare_whole(films(RATINGS), films({0: [(0, 1)]}), suite, lambda *call: calls.append(call))
    assert WholeComparison.model_validate(json.loads(json.dumps(found, allow_nan=False)))
    assert list(found["sequences"]) == [metric.name for metric in of_suite(WHOLE, suite)]
    assert [row["step"] for row in found["rows"]] == [0, 1, 2]
    assert calls == [("whole", done, 3) for done in range(4)]


def test_the_names_are_the_reports_names():
    paper = {"degree_mmd", "cluster_mmd", "triangle_mmd", "largest_component_mmd", "meta2", "meta3"}
    named = {metric.name for metric in WHOLE}
    assert {f"thepuff_{name}{end}" for name in paper for end in ("", "_self")} <= named
    assert len(named) == len(WHOLE)


def static(graph: nx.Graph) -> Graph:
    pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    nodes = {"node": NodeTable(graph.number_of_nodes())}
    return Graph.build(GraphSchema(), nodes, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])})


def test_one_relation_without_time_has_no_whole_of_its_own():
    graph = static(nx.path_graph(4))
    assert compare_whole(graph, graph, Suite.STANDARD, lambda *_: None) is None


def only(edges: list[list[tuple[int, int]]], directed: bool = False) -> Graph:
    schema = GraphSchema(
        node_types=(NodeType(count=5),),
        edge_types=(EdgeType(temporal=True, directed=directed),),
        time=TimeGrid(count=len(edges)),
    )
    rows = np.array([(u, v, t) for t, pairs in enumerate(edges) for u, v in pairs])
    return Graph.build(schema, {}, {"edge": EdgeTable(rows[:, 0], rows[:, 1], rows[:, 2])})


def test_the_rows_of_the_only_relation_are_taken_over_where_it_is_the_whole_graph():
    graph = only([[(0, 1), (1, 2), (0, 2)], [(3, 4)], [(0, 1)]])
    first = whole(graph, graph)
    again = whole(graph, graph, rows={"edge": first["rows"]})
    assert again == first
    assert all(one is other for one, other in zip(again["rows"], first["rows"], strict=True))
    # Triangles 1, 0, 0: with itself the error is 0 and the correlation 1.
    assert first["sequences"]["triangles_sequence_error"] == 0.0
    assert first["sequences"]["triangles_sequence_correlation"] == pytest.approx(1)
    # One node type has no meta-paths to compare.
    assert first["sequences"]["thepuff_meta2"] is None
    assert first["meta_paths"] == []
    directed = only([[(0, 1), (1, 0)], [(3, 4)]], directed=True)
    other = whole(directed, directed, rows={"edge": first["rows"]})
    assert other["rows"][0]["scalars"]["edges"]["original"] == 1  # measured anew: a pair, not two arcs


def test_sequence_errors_are_bounded_and_do_not_blow_up_at_zero():
    assert sequence_error([0, 2, 4], [0, 1, 8]) == pytest.approx((0 + 1 / 2 + 1 / 2) / 3)
    assert sequence_error([0, 0], [5, 0]) == pytest.approx(1 / 2)
    assert sequence_error([None], [1.0]) is None
    assert sequence_correlation([1, 2, 3], [6, 4, 2]) == pytest.approx(-1)
    assert sequence_correlation([1, 2], [1, 2]) is None
    assert sequence_correlation([1, 1, 1], [1, 2, 3]) is None


def test_too_small_a_sample_has_no_discrepancy():
    assert squared_mmd(np.array([1.0]), np.array([1.0, 2.0])) is None
    assert squared_mmd_of_counts(np.array([1]), np.array([0, 2])) is None


def test_a_meta_path_that_only_one_graph_has_is_a_full_distance():
    assert meta_paths.total_variation(None, {(0, 1): 1.0}) == 1.0
    assert meta_paths.total_variation(None, None) is None
    assert meta_paths.total_variation({(0, 1): 1.0}, {(1, 2): 1.0}) == 1.0


def test_lengths_follow_a_public_rule():
    assert [meta_paths.lengths_of(kinds) for kinds in (1, 2, 8, 9)] == [(), (2, 3, 4), (2, 3, 4), (2, 3)]

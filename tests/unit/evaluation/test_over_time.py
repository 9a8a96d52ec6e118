"""Figures from step to step, on a small graph whose figures are worked out by hand."""

import itertools

import numpy as np
import pytest

from core.evaluation import suite
from core.evaluation.metric import Suite
from core.evaluation.whole.definitions import OVER_TIME
from core.evaluation.whole.over_time import (
    Presence,
    compared_over_time,
    kolmogorov_smirnov,
    lost_rises,
    pooled_error,
    step_error,
    top_overlap,
)
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid

NODES, STEPS = 6, 5
# Step: pairs. Nodes 0 and 1 are active in steps 0, 1, 2 and 4; step 3 is empty.
ORIGINAL = {0: [(0, 1), (2, 3)], 1: [(0, 1), (2, 4)], 2: [(0, 1), (0, 2), (0, 3), (0, 4)], 4: [(0, 1)]}
SYNTHETIC = {0: [(0, 1)], 1: [(0, 2), (0, 1)], 2: [(0, 1), (4, 5)], 3: [(1, 2)], 4: [(0, 5)]}


def graph_of(steps: dict[int, list[tuple[int, int]]], more: tuple[EdgeType, ...] = ()) -> Graph:
    schema = GraphSchema(
        node_types=(NodeType(count=NODES),),
        edge_types=(EdgeType(temporal=True), *more),
        time=TimeGrid(count=STEPS),
    )
    rows = np.array([(u, v, step) for step, pairs in steps.items() for u, v in pairs], dtype=np.int64)
    rows = rows.reshape(-1, 3)
    tables = {"edge": EdgeTable(rows[:, 0], rows[:, 1], rows[:, 2])}
    for each in more:
        step = np.zeros(1, np.int64) if each.temporal else None
        tables[each.name] = EdgeTable(np.array([4]), np.array([5]), step)
    return Graph.build(schema, {"node": NodeTable(NODES)}, tables)


def compared(original: Graph, synthetic: Graph, steps=range(STEPS)) -> dict:
    found = compared_over_time(original, synthetic, original.schema.edge_types, list(steps))
    assert found is not None
    return found


def test_what_persists_and_what_is_new_by_hand():
    found = compared(graph_of(ORIGINAL), graph_of(SYNTHETIC))["means"]["scalars"]
    sides = {name: (pair["original"], pair["synthetic"]) for name, pair in found.items()}
    # Kept of step 0: one edge of two; of step 1 one of two; steps 2 and 3 have no neighbour with edges.
    assert sides["edge_persistence"] == pytest.approx((1 / 2, (1 + 1 / 2 + 0 + 0) / 4))
    # New in step 1: one of two; in 2: three of four; in 4: none. Of the other graph 1/2, 1/2, 1 and 1.
    assert sides["edge_novelty"] == pytest.approx(((1 / 2 + 3 / 4 + 0) / 3, (1 / 2 + 1 / 2 + 1 + 1) / 4))
    # Active: 0123, 0124, 01234, none, 01; and 01, 012, 0145, 12, 05.
    assert sides["activity_persistence"] == pytest.approx(((3 / 4 + 1) / 2, (1 + 2 / 3 + 1 / 4 + 0) / 4))
    assert sides["active_nodes"] == pytest.approx(((4 + 4 + 5 + 0 + 2) / 5, (2 + 3 + 4 + 2 + 2) / 5))
    assert sides["timed_edges"] == pytest.approx((9 / 5, 7 / 5))
    # Nodes 0 and 1 have gaps 1, 1, 2 there; here node 0 has gaps 1, 1, 2 and node 1 has 1, 1, 1.
    spread, mean = np.std([1, 1, 2]), 4 / 3
    bursty = (spread - mean) / (spread + mean)
    assert sides["burstiness"] == pytest.approx((bursty, (bursty - 1) / 2))


def test_distances_over_time_by_hand():
    found = compared(graph_of(ORIGINAL), graph_of(SYNTHETIC))["means"]["distances"]
    # Active steps: 4, 4, 3, 2, 2, 0 and 4, 4, 2, 0, 1, 2: no more than 1 for 1 of 6 and for 2 of 6 nodes.
    assert found["active_steps_ks"] == pytest.approx(1 / 6)
    # Gaps: 1 seven times and 2 three times; 1 five times and 2 three times.
    assert found["activity_gaps_ks"] == pytest.approx(7 / 10 - 5 / 8)
    assert found["edge_series_error"] == pytest.approx((1 + 0 + 2 + 1 + 0) / 9)
    assert found["edge_series_step_error"] == pytest.approx((1 + 0 + 2 + 1 + 0) / 10 / 5)
    assert found["active_series_error"] == pytest.approx((2 + 1 + 1 + 2 + 0) / 15)
    assert found["lost_rises"] is None


def test_every_step_has_a_row_and_a_chosen_step_is_compared_with_its_true_neighbour():
    whole = compared(graph_of(ORIGINAL), graph_of(SYNTHETIC))
    chosen = compared(graph_of(ORIGINAL), graph_of(SYNTHETIC), (0, 4))
    assert [row["step"] for row in whole["rows"]] == list(range(STEPS))
    assert chosen["rows"] == [whole["rows"][0], whole["rows"][4]]
    assert chosen["means"]["scalars"] == whole["means"]["scalars"]
    first = whole["rows"][0]["scalars"]
    assert (first["edge_persistence"]["original"], first["edge_novelty"]["original"]) == (1 / 2, None)
    assert whole["rows"][3]["scalars"]["edge_novelty"]["original"] is None


def test_a_copy_is_no_distance_away_and_public_or_untimed_edges_count_for_nothing():
    graph = graph_of(ORIGINAL, (EdgeType(name="seen", temporal=True, public=True), EdgeType(name="knows")))
    found = compared(graph, graph)["means"]
    assert found["scalars"]["timed_edges"]["original"] == pytest.approx(9 / 5)
    assert found["distances"]["degree_correlation"] == pytest.approx(1)
    for name, value in found["distances"].items():
        if name not in ("degree_correlation", "top_degree_overlap", "lost_rises"):
            assert value == 0
    twice = graph_of(ORIGINAL, (EdgeType(name="again", temporal=True),))
    assert compared(twice, twice)["means"]["scalars"]["timed_edges"]["original"] == pytest.approx(2)


def test_an_empty_graph_and_a_single_step_say_what_is_undefined():
    nothing = compared(graph_of(ORIGINAL), graph_of({}))["means"]
    assert nothing["scalars"]["edge_persistence"]["synthetic"] is None
    assert nothing["distances"]["activity_gaps_ks"] is None
    assert nothing["distances"]["edge_series_error"] == 1
    schema = GraphSchema(
        node_types=(NodeType(count=2),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=1)
    )
    one = Graph.build(schema, {}, {"edge": EdgeTable(np.array([0]), np.array([1]), np.array([0]))})
    assert compared_over_time(one, one, schema.edge_types, [0]) is None
    assert suite.public_statistics(one)["over_steps"] is None


def test_kept_things_are_those_of_sets():
    rng = np.random.default_rng(3)
    thing, step = rng.integers(0, 30, 400), rng.integers(0, 12, 400)
    found = Presence.of(thing, step, 12)
    sets = [set(thing[step == at].tolist()) for at in range(12)]
    assert found.persistence() == pytest.approx(
        [len(a & b) / len(a) for a, b in itertools.pairwise(sets)] + [None]
    )
    seen: set[int] = set()
    for at, fresh in enumerate(found.novelty()):
        assert fresh == (pytest.approx(len(sets[at] - seen) / len(sets[at])) if at else None)
        seen |= sets[at]


def test_series_errors_and_lost_rises_by_hand():
    true, drawn = np.array([0, 15, 293, 1849, 10, 60]), np.array([5, 5, 50, 1416, 10, 30])
    assert pooled_error(true, drawn) == pytest.approx((5 + 10 + 243 + 433 + 30) / 2227)
    assert step_error(true, drawn) == pytest.approx((5 / 10 + 10 / 15 + 243 / 293 + 433 / 1849 + 30 / 60) / 6)
    # Rises: 15, 293, 1849 and 60; the first two are less than half there.
    assert lost_rises(true, drawn) == pytest.approx(2 / 4)
    assert lost_rises(np.array([3, 4]), np.array([3, 4])) is None


def test_the_top_tenth_counts_ties_by_chance():
    clear = np.arange(20)
    assert top_overlap(clear, clear) == 1
    assert top_overlap(clear, clear[::-1]) == 0
    assert top_overlap(np.ones(20), np.ones(20)) == pytest.approx(2 / 20)
    assert top_overlap(clear, np.zeros(20)) == 0
    assert top_overlap(np.zeros(3), np.ones(3)) is None


def test_kolmogorov_smirnov_of_whole_numbers():
    assert kolmogorov_smirnov(np.array([0, 1, 1, 2]), np.array([2, 2])) == pytest.approx(3 / 4)
    assert kolmogorov_smirnov(np.array([], int), np.array([1])) is None


def test_both_editions_have_them():
    original, synthetic = graph_of(ORIGINAL), graph_of(SYNTHETIC)
    compared_whole = suite.compare(original, synthetic, Suite.QUICK, lambda *_: None)
    lasting = compared_whole["whole"]["over_steps"]
    assert set(lasting["means"]["scalars"]) | set(lasting["means"]["distances"]) == {
        m.name for m in OVER_TIME
    }
    assert {metric.name for metric in OVER_TIME} <= set(compared_whole["metrics"])
    public = suite.public_statistics(synthetic)
    assert public["over_steps"]["means"] == {
        name: pair["synthetic"] for name, pair in lasting["means"]["scalars"].items()
    }
    assert [row["scalars"]["timed_edges"] for row in public["over_steps"]["rows"]] == [1, 2, 2, 1, 1]
    assert set(public["over_steps"]["means"]) <= set(public["metrics"])

"""DER: its regions, what it pays, and what comes back."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from core.graphs.schema import EdgeType
from core.privacy.queries import Shape, ask
from core.privacy.units import Unit
from papers._shared.blocks.ranks import distinct
from papers.comparators.der import GENERATOR, DERParams
from papers.comparators.der.draw import pair_at
from papers.comparators.der.regions import children, place, rooms, starts
from papers.comparators.der.tree import _agree, _explore, depth_of
from tests.support.generating import NANO, drawn, fit, graph_of, random_pairs, rows_of

SIDES = [1, 2, 3, 5, 8, 13, 20]


def regions_of(level: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(2**level)


@pytest.mark.parametrize("nodes", SIDES)
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_pair_of_nodes_has_one_place_in_one_region(nodes, level):
    row, column = regions_of(level)
    room = rooms(level, row, column, nodes)
    region = np.repeat(np.arange(len(row)), room)
    rank = np.arange(len(region)) - np.repeat(np.cumsum(room) - room, room)
    a, b = pair_at(rank, region, np.full(len(row), level), row, column, nodes)
    found = sorted((min(x, y), max(x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert found == list(itertools.combinations(range(nodes), 2))


@pytest.mark.parametrize("nodes", SIDES)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_parts_are_where_the_labels_put_them(nodes, level):
    parts = np.arange(2**level)
    begin, end = starts(parts, level, nodes), starts(parts + 1, level, nodes)
    labels = np.arange(nodes) * 2**level // nodes
    for part in parts:
        assert np.flatnonzero(labels == part).tolist() == list(range(begin[part], end[part]))


@pytest.mark.parametrize("level", [0, 1, 2, 4])
def test_quarters_fill_their_region_and_no_other(level):
    row, column = regions_of(level)
    parent, r, c = children(row, column)
    assert (r // 2 == row[parent]).all()
    assert (c // 2 == column[parent]).all()
    below = np.stack(regions_of(level + 1), axis=1)
    assert sorted(zip(r.tolist(), c.tolist(), strict=True)) == sorted(map(tuple, below.tolist()))


@pytest.mark.parametrize("level", [0, 1, 3])
def test_regions_stand_where_the_query_counts_them(level):
    nodes = 11
    graph = graph_of(random_pairs(nodes, 0.4), nodes)
    labels = np.arange(nodes) * 2**level // nodes
    shape = Shape(EdgeType(), nodes, nodes)
    counted = ask("group_matrix", shape, {"labels": labels, "groups": 2**level}).measure(
        graph.cell("edge", None)
    )
    rows = labels[rows_of(graph)]
    for r, c in zip(*regions_of(level), strict=True):
        inside = ((rows.min(axis=1) == r) & (rows.max(axis=1) == c)).sum()
        assert counted[place(r, c, level)] == inside


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=12), st.integers(0, 99)
)
def test_ranks_are_distinct_and_as_many_as_wanted(pairs, seed):
    room = np.array([max(pair) for pair in pairs])
    wanted = np.array([min(pair) for pair in pairs])
    region, rank = distinct(wanted, room, np.random.default_rng(seed))
    assert (np.bincount(region, minlength=len(room)) == wanted).all()
    assert ((rank >= 0) & (rank < room[region])).all()
    assert len(set(zip(region.tolist(), rank.tolist(), strict=True))) == len(rank)


@pytest.mark.parametrize("wanted", [3, 17])
def test_ranks_are_uniform(wanted):
    rng = np.random.default_rng(4)
    seen = np.zeros(20, dtype=int)
    for _ in range(2_000):
        seen[distinct(np.array([0, wanted]), np.array([7, 20]), rng)[1]] += 1
    share = wanted / 20
    assert np.abs(seen - 2_000 * share).max() < 5 * np.sqrt(2_000 * share * (1 - share))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 4), st.integers(0, 10**6))
def test_quarters_sum_to_what_was_cut_and_none_is_negative(nodes, depth, seed):
    rng = np.random.default_rng(seed)
    matrices = [np.rint(rng.normal(3, 8, 2**k * (2**k + 1) // 2)) for k in range(1, depth + 1)]
    levels = _explore(rng.normal(40, 30), matrices, list(rng.uniform(1, 50, depth + 1)), nodes, 0.5)
    _agree(levels)
    total = sum(level.value[~level.cut].sum() for level in levels)
    assert total == pytest.approx(levels[0].value[0], abs=1e-6)
    for above, below in itertools.pairwise(levels):
        sums = np.bincount(below.parent, below.value, minlength=len(above.value))
        np.testing.assert_allclose(sums[above.cut], above.value[above.cut], atol=1e-6)
        assert (below.value >= 0).all()


@pytest.mark.parametrize("order", ["noisy_degree", "given"])
@pytest.mark.parametrize("steps", [None, 2])
def test_without_noise_and_with_single_pairs_as_regions_the_graph_comes_back(order, steps):
    graph = graph_of(random_pairs(16, 0.3), 16, steps=steps)
    synthetic = drawn(GENERATOR, graph, 900, order=order, smallest_side=1)
    np.testing.assert_array_equal(rows_of(synthetic), rows_of(graph))


def test_without_noise_every_region_keeps_its_edges():
    graph = graph_of(random_pairs(64, 0.2), 64)
    synthetic = drawn(GENERATOR, graph, 900, order="given", max_depth=3)
    pairs = [np.sort(rows_of(each) // 8, axis=1) for each in (graph, synthetic)]
    counts = [np.bincount(rows[:, 0] * 8 + rows[:, 1], minlength=64) for rows in pairs]
    # Where quarters add up to less than the noise of a quarter, a region is left whole: none is, here.
    assert np.abs(counts[0] - counts[1]).max() <= 1


def test_epsilon_is_spent_to_the_last_nano():
    _, meter = fit(GENERATOR, graph_of(random_pairs(64, 0.1), 64), 1.0, count_share=0.1, order_share=0.3)
    costs = {entry.purpose: entry.event.nano_epsilon for entry in meter.transcript}
    assert sum(costs.values()) == NANO
    assert costs["edge count"] == NANO // 10
    assert costs["degrees for the order"] == pytest.approx(0.3 * NANO, abs=2)
    levels = [cost for purpose, cost in costs.items() if purpose.startswith("quadtree")]
    assert len(levels) == depth_of(64, DERParams()) == 4
    np.testing.assert_allclose(np.array(levels[1:]) / levels[:-1], 2 ** (1 / 3), rtol=1e-6)


def test_the_public_order_costs_nothing():
    _, meter = fit(GENERATOR, graph_of(random_pairs(64, 0.1), 64), 1.0, order="given")
    assert "degrees for the order" not in [entry.purpose for entry in meter.transcript]
    assert sum(entry.event.nano_epsilon for entry in meter.transcript) == NANO


@pytest.mark.parametrize("order", ["noisy_degree", "given"])
def test_what_is_read_does_not_depend_on_the_graph(order):
    """A tree that stops on what it finds would read less of an empty graph."""
    seen = []
    for pairs in ([], random_pairs(64, 1.0)):
        _, meter = fit(GENERATOR, graph_of(pairs, 64), 1.0, order=order)
        seen.append([(entry.purpose, entry.event) for entry in meter.transcript])
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("unit", "window", "parts"), [(Unit.EVENT, None, 1), (Unit.W_EVENT, 2, 2), (Unit.PAIR, None, 4)]
)
def test_a_stream_divides_epsilon_by_its_unit(unit, window, parts):
    graph = graph_of(random_pairs(20, 0.2), 20, steps=4)
    _, meter = fit(GENERATOR, graph, 1.0, unit=unit, window=window)
    for step in range(4):
        paid = [entry.event.nano_epsilon for entry in meter.transcript if entry.step == step]
        assert sum(paid) == NANO // parts


def test_the_number_of_edges_is_near_the_true_one():
    graph = graph_of(random_pairs(200, 0.1), 200)
    counts = [drawn(GENERATOR, graph, 2.0).edges["edge"].count for _ in range(5)]
    assert np.abs(np.array(counts) - graph.edges["edge"].count).max() < 150  # the count's noise has scale 10


def test_degrees_follow_the_noisy_order():
    """Twenty hubs of degree 80 or more among 400 nodes keep most of their degree."""
    rng = np.random.default_rng(6)
    hubs = [(h, int(x)) for h in range(20) for x in rng.choice(np.arange(20, 400), 80, replace=False)]
    graph = graph_of(hubs, 400)
    synthetic = rows_of(drawn(GENERATOR, graph, 2.0))
    degrees = np.bincount(synthetic.ravel(), minlength=400)
    assert degrees[:20].mean() > 50
    assert degrees[20:].mean() < 8


@pytest.mark.parametrize("nodes", [1, 2])
def test_one_and_two_nodes(nodes):
    assert len(rows_of(drawn(GENERATOR, graph_of([], nodes), 1.0))) <= nodes - 1


def test_an_empty_graph_stays_nearly_empty():
    counts = [len(rows_of(drawn(GENERATOR, graph_of([], 200), 2.0))) for _ in range(10)]
    assert max(counts) < 300


def test_a_complete_graph_stays_nearly_complete():
    assert len(rows_of(drawn(GENERATOR, graph_of(random_pairs(100, 1.0), 100), 2.0))) > 4_700


def test_nodes_without_edges_may_gain_some():
    seen = set()
    for _ in range(60):
        seen.update(np.unique(rows_of(drawn(GENERATOR, graph_of([(0, 1)], 40), 0.5))).tolist())
    assert len(seen) > 30


@pytest.mark.parametrize(
    "wrong",
    [
        {"count_share": 0},
        {"order_share": 1},
        {"count_share": 0.5, "order_share": 0.5},
        {"order": "true_degree"},
    ],
)
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        DERParams(**wrong)

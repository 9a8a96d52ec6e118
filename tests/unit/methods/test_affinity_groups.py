"""Triangles in groups, as large graphs have them: degrees and blocks stay, aims are met, paths tell truly."""

import networkx as nx
import numpy as np
import pytest

from core.methods._shared.rewiring import affinity, groups, laws, paths, rounds
from core.methods._shared.rewiring.clustering import ToldClustering
from core.methods._shared.rewiring.rows import Rows
from core.methods._shared.rewiring.triangles import Targets, proposals_for, rewired
from core.privacy.accounting.events import NANO
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.clustering import damping_of, rung_of
from core.privacy.mechanisms.triangle_kernels import rows_by_degree

NODES, EDGES, LABELS = 3_000, 30_000, 3
SURE = 10**6 * NANO


@pytest.fixture(scope="module")
def drawn():
    """Keys and labels of a graph without communities, whose degrees follow a power law."""
    rng = np.random.default_rng(7)
    size = (1 - rng.random(NODES)) ** -0.6
    ends = np.sort(rng.choice(NODES, (2 * EDGES, 2), p=size / size.sum()), axis=1)
    keys = np.unique(ends[ends[:, 0] != ends[:, 1]] @ [NODES, 1])
    return np.sort(rng.permutation(keys)[:EDGES]), np.arange(NODES) % LABELS


def degrees_of(keys):
    return np.bincount(np.concatenate(np.divmod(keys, NODES)), minlength=NODES)


def blocks_of(keys, labels):
    ends = np.sort(labels[np.stack(np.divmod(keys, NODES))], axis=0)
    return np.bincount(ends[0] * LABELS + ends[1], minlength=LABELS**2)


def counted(keys):
    """Triangles, their corners' weight at damping 8, and the product sum."""
    rows = Rows.of(keys, NODES, np.zeros(NODES, dtype=np.int64))
    triangles = rows.count()
    weight = ToldClustering(0.0, 8, NANO).weights(np.diff(rows.start))
    return triangles, float(rows.at_nodes() @ weight), rows.product_sum()


def grouped(keys, labels, targets, seed=5, per_end=60):
    return rewired(
        keys, NODES, labels, targets, proposals_for(EDGES, per_end), public_generator(seed), grouped_from=0
    )


@pytest.mark.parametrize("share", [pytest.param(0.08, marks=pytest.mark.audits), 0.15, 0.25])
def test_both_aims_are_met_and_degrees_blocks_and_products_kept(drawn, share):
    keys, labels = drawn
    triangles, _, products = counted(keys)
    told = ToldClustering(share * NODES, 8, SURE)
    found = grouped(keys, labels, Targets(3 * triangles, products, 0.02, told))
    low, high = np.divmod(found, NODES)
    assert (np.diff(found) > 0).all()
    assert (low < high).all()
    np.testing.assert_array_equal(degrees_of(found), degrees_of(keys))
    np.testing.assert_array_equal(blocks_of(found, labels), blocks_of(keys, labels))
    now, clustering, product = counted(found)
    assert now == pytest.approx(3 * triangles, rel=0.06)
    assert clustering == pytest.approx(told.total, rel=0.08)
    assert product == pytest.approx(products, rel=0.03)


def test_without_clustering_triangles_alone_are_met(drawn):
    keys, labels = drawn
    triangles = counted(keys)[0]
    assert counted(grouped(keys, labels, Targets(4 * triangles)))[0] == pytest.approx(4 * triangles, rel=0.06)


def test_what_groups_cannot_reach_is_left_to_moves(drawn):
    """As many triangles as any graph of these degrees can hardly have: no fewer than moves alone bring."""
    keys, labels = drawn
    far = Targets(int((degrees_of(keys) ** 2).sum() // 6))
    moves = rewired(keys, NODES, labels, far, proposals_for(EDGES, 20), public_generator(5))
    assert counted(grouped(keys, labels, far, per_end=20))[0] > 0.9 * counted(moves)[0]


def test_too_many_triangles_are_opened_as_ever(drawn):
    keys, labels = drawn
    triangles = counted(keys)[0]
    found = grouped(keys, labels, Targets(triangles // 2))
    assert counted(found)[0] == pytest.approx(triangles / 2, rel=0.02)


def test_no_proposals_no_change(drawn):
    keys, labels = drawn
    np.testing.assert_array_equal(grouped(keys, labels, Targets(10**6), per_end=0), keys)


def test_the_same_stream_of_randomness_gives_the_same_graph(drawn):
    keys, labels = drawn
    targets = Targets(20_000, None, 0.02, ToldClustering(200.0, 8, SURE))
    first, again, other = (grouped(keys, labels, targets, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert len(np.intersect1d(first, other)) < len(first)


def test_a_graph_of_fewer_edges_has_no_groups(drawn, monkeypatch):
    monkeypatch.setattr(rounds, "Grouping", None)
    keys, labels = drawn
    assert len(rewired(keys, NODES, labels, Targets(10), 100, public_generator(1))) == EDGES
    with pytest.raises(TypeError):
        rewired(keys, NODES, labels, Targets(10), 100, public_generator(1), grouped_from=EDGES)


def rows_of(keys, labels):
    return Rows.of(keys, NODES, labels, 4, public_generator(3), falling=True)


def test_nodes_of_a_circle_stand_by_falling_degree(drawn):
    rows = rows_of(*drawn)
    degree = np.diff(rows.start)
    assert len(rows.begin) == 4 * LABELS + 1
    for low, high in zip(rows.begin[:-1], rows.begin[1:], strict=True):
        assert (np.diff(degree[low:high]) <= 0).all()


def test_random_paths_tell_what_is_counted(drawn):
    rows = rows_of(*drawn)
    weight = ToldClustering(0.0, 8, NANO).weights(np.diff(rows.start))
    true = affinity.Standing(rows.count(), float(rows.at_nodes() @ weight))
    now = affinity.Grouping(rows, weight, public_generator(2)).standing(true, 0.005)
    assert now.triangles == pytest.approx(true.triangles, rel=0.03)
    assert now.clustering == pytest.approx(true.clustering, rel=0.03)


def test_nodes_ahead_have_more_edges_or_a_larger_number(drawn):
    rows = rows_of(*drawn)
    ahead, degree = paths.ahead_of(rows.arrays()), np.diff(rows.start)
    assert ahead.sum() == EDGES  # every edge is ahead of one of its ends
    for v in range(0, NODES, 97):
        near = rows.others[rows.start[v] : rows.start[v + 1]]
        assert ahead[v] == sum((degree[w], w) > (degree[v], v) for w in near)


def test_what_groups_bring_is_told_by_degree(drawn):
    rows, rng = rows_of(*drawn), public_generator(8)
    degree = np.diff(rows.start)
    weight = ToldClustering(0.0, 8, NANO).weights(degree)
    by_degree = np.zeros(degree.max() + 1)
    by_degree[degree] = weight
    law = laws.fitted_law(np.bincount(degree), by_degree, len(rows.begin) - 1, 30_000, 300.0)
    told = laws.brought(law, np.bincount(degree), by_degree, len(rows.begin) - 1)
    assert told[:2] == pytest.approx((30_000, 300.0), rel=0.02)
    found = affinity.Grouping(rows, weight, rng)._divided(law, rng.random(NODES))
    size, odds = np.diff(found[1]), found[2]
    assert groups.expected(found, weight) == pytest.approx(told[:2], rel=0.15)
    assert (size * (size - 1) / 2 * odds).sum() == pytest.approx(told[2], rel=0.1)


def inside(rows):
    owner = np.repeat(np.arange(NODES), np.diff(rows.start))
    return (rows.circles[owner] == rows.circles[rows.others]).sum() // 2


def test_circles_gain_edges_and_products_their_aim(drawn):
    keys, labels = drawn
    rows = rows_of(keys, labels)
    before, own = inside(rows), rows.product_sum()
    aim, band = int(0.9 * own), int(0.01 * own)
    product, made = groups.gathered(rows.arrays(), (own, aim, band, True), 5_000, 10**6, public_generator(9))
    assert 5_000 <= inside(rows) - before <= 5_001
    assert made < 10**5
    assert product == rows.product_sum()
    assert abs(product - aim) <= band
    np.testing.assert_array_equal(degrees_of(rows.keys()), degrees_of(keys))


def test_gathering_keeps_blocks_and_a_simple_graph(drawn):
    keys, labels = drawn
    rows = rows_of(keys, labels)
    groups.gathered(rows.arrays(), (0, 0, 0, False), 10**9, 10**5, public_generator(9))
    found = rows.keys()
    assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(blocks_of(found, labels), blocks_of(keys, labels))


def test_groups_have_the_triangles_that_the_law_says():
    """Coefficients of .1 at every degree, but for what a group's rounding takes; nodes of one degree."""
    nodes, degree = 20_000, 30
    start = np.arange(0, degree * nodes + 1, degree)
    law = laws.law_of(np.arange(degree + 1), np.log(0.1), 0.0)
    chance = public_generator(1).random(nodes)
    divided = groups.divided(start, np.array([[0, nodes]]), *law, chance, laws.DENSITY)
    triangles, _ = groups.expected(divided, np.ones(nodes))
    paths = degree * (degree - 1) / 2
    assert 3 * triangles / nodes / paths == pytest.approx(0.1, rel=0.15)
    inside = np.diff(divided[1]) - 1
    assert (inside * divided[2] <= laws.MOST_INSIDE * degree + 1).all()


@pytest.mark.parametrize("steer", [False, True])
def test_edges_put_into_groups_make_the_triangles_expected_there(drawn, steer):
    """But for those that were there and go; led by products, some edges more are of such."""
    rows = rows_of(*drawn)
    before, own = rows.count(), rows.product_sum()
    grouping = affinity.Grouping(rows, np.zeros(NODES), public_generator(4))
    law = laws.law_of(np.arange(int(np.diff(rows.start).max()) + 1), np.log(0.15), 0.0)
    found = grouping._divided(law, grouping._chance)
    expected = groups.expected(found, np.zeros(NODES))[0]
    made, product = groups.filled(
        rows.arrays(), found, (own, own, own // 100, steer), 10**9, public_generator(6)
    )
    assert rows.closed.sum() == 2 * made
    assert product == rows.product_sum()
    assert (abs(product - own) < 0.03 * own) == steer
    owner = np.repeat(np.arange(NODES), np.diff(rows.start))
    np.testing.assert_array_equal(rows.others[rows.back], owner)
    assert rows.count() - before == pytest.approx(expected, rel=0.35 if steer else 0.25)


def test_the_first_rung_of_rows_is_that_of_their_edges():
    graph = nx.gnp_random_graph(60, 0.2, seed=3)
    source, target = np.array(graph.edges(), dtype=np.int64).T
    rows = Rows.of(np.sort(source * 60 + target), 60, np.zeros(60, dtype=np.int64))
    damping = damping_of(60, 8)
    true = rung_of(*rows_by_degree(source, target, 60)[:2], damping)
    assert rows.first_rung(damping) == true
    assert rows.first_rung_at_hubs(damping) <= true


def test_where_hubs_share_the_most_the_rung_at_hubs_is_the_first():
    source = np.concatenate([np.zeros(30), np.ones(30), np.arange(2, 31)]).astype(np.int64)
    target = np.concatenate([np.arange(2, 32), np.arange(2, 32), np.arange(3, 32)]).astype(np.int64)
    rows = Rows.of(np.sort(source * 32 + target), 32, np.zeros(32, dtype=np.int64))
    damping = damping_of(32, 8)
    assert rows.first_rung_at_hubs(damping) == rows.first_rung(damping)

"""Triangles in groups, as large graphs have them: degrees and blocks stay, aims are met, paths tell truly."""

import networkx as nx
import numpy as np
import pytest

from core.generators._shared.rewiring import affinity, groups
from core.generators._shared.rewiring.clustering import ToldClustering
from core.generators._shared.rewiring.rows import Rows
from core.generators._shared.rewiring.triangles import Targets, proposals_for, rewired
from core.privacy.clustering import damping_of, first_rung
from core.privacy.entropy import public_generator
from core.privacy.events import NANO

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


@pytest.mark.parametrize("share", [0.08, 0.15, 0.25])
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
    monkeypatch.setattr(affinity, "Grouping", None)
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
    now = affinity.Grouping(rows, weight, public_generator(2)).standing(rows.count(), 0.005)
    assert now.triangles == pytest.approx(rows.count(), rel=0.03)
    assert now.clustering == pytest.approx(float(rows.at_nodes() @ weight), rel=0.06)


def test_groups_have_the_triangles_that_the_law_says():
    """Coefficients of .1 at every degree, but for what a group's rounding takes; nodes of one degree."""
    nodes, degree = 20_000, 30
    start = np.arange(0, degree * nodes + 1, degree)
    law = affinity.law_of(np.arange(degree + 1), np.log(0.1), 0.0)
    chance = public_generator(1).random(nodes)
    divided = groups.divided(start, np.array([[0, nodes]]), *law, chance, affinity.DENSITY)
    triangles, _ = groups.expected(divided, np.ones(nodes))
    paths = degree * (degree - 1) / 2
    assert 3 * triangles / nodes / paths == pytest.approx(0.1, rel=0.15)
    inside = np.diff(divided[1]) - 1
    assert (inside * divided[2] <= affinity.MOST_INSIDE * degree + 1).all()


def test_edges_put_into_groups_make_the_triangles_expected_there(drawn):
    rows = rows_of(*drawn)
    before = rows.count()
    grouping = affinity.Grouping(rows, np.zeros(NODES), public_generator(4))
    law = affinity.law_of(np.arange(int(np.diff(rows.start).max()) + 1), np.log(0.15), 0.0)
    found = grouping._divided(law, grouping._chance)
    expected = groups.expected(found, np.zeros(NODES))[0]
    made = groups.filled(rows.arrays(), found, 10**9, public_generator(6))
    assert rows.closed.sum() == 2 * made
    np.testing.assert_array_equal(rows.others[rows.back], rows.owner)
    assert rows.count() - before == pytest.approx(expected, rel=0.25)  # some that were there go


def test_the_first_rung_of_rows_is_that_of_their_edges():
    graph = nx.gnp_random_graph(60, 0.2, seed=3)
    source, target = np.array(graph.edges(), dtype=np.int64).T
    rows = Rows.of(np.sort(source * 60 + target), 60, np.zeros(60, dtype=np.int64))
    damping = damping_of(60, 8)
    assert rows.first_rung(damping) == first_rung(source, target, 60, damping)

"""Reconstruction and post-processing: block totals, degrees, saturation, determinism."""

import numpy as np
import pytest
from scipy import stats

from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.matching.pairs import top_up
from core.privacy.entropy import public_generator
from papers._shared.blocks.reconstruct import Layout, reconstruct
from papers.psgraph.draw import met
from papers.psgraph.postprocess import post_process


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def all_blocks(count, edges):
    row, column = np.triu_indices(count)
    return Blocks(row, column, np.asarray(edges, dtype=np.int64))


def drawn_totals(keys, labels, count):
    low, high = np.divmod(keys, len(labels))
    a, b = np.sort(np.stack([labels[low], labels[high]]), axis=0)
    return np.bincount(a * count + b, minlength=count * count).reshape(count, count)[np.triu_indices(count)]


def test_every_block_receives_its_edges(rng):
    labels = rng.integers(0, 4, size=400)
    wanted = rng.integers(0, 600, size=10)
    keys = reconstruct(labels, rng.random(400), rng.random(400), all_blocks(4, wanted), rng)
    assert (np.diff(keys) > 0).all()
    low, high = np.divmod(keys, 400)
    assert (low < high).all()
    np.testing.assert_array_equal(drawn_totals(keys, labels, 4), wanted)


def test_full_blocks_and_uneven_weights(rng):
    """Blocks that ask for every pair of positive weight, or more, or whose weight sits on few pairs."""
    labels = np.repeat([0, 1, 2], [10, 12, 60])
    heavy = np.where(np.arange(82) % 20 == 0, 1e6, 1.0)
    wanted = [45, 10_000, 300, 66, 0, 1_500]
    keys = reconstruct(labels, heavy, np.ones(82), all_blocks(3, wanted), rng)
    np.testing.assert_array_equal(drawn_totals(keys, labels, 3), [45, 120, 300, 66, 0, 1_500])


def test_nodes_without_weight_stay_alone(rng):
    labels = np.zeros(100, dtype=np.int64)
    weight = np.where(np.arange(100) < 30, 1.0, 0.0)
    keys = reconstruct(labels, weight, weight, all_blocks(1, [10_000]), rng)
    assert len(keys) == 30 * 29 // 2
    assert max(np.divmod(keys, 100)[1]) < 30


def test_a_community_without_weight_is_drawn_uniformly(rng):
    labels = np.zeros(40, dtype=np.int64)
    keys = reconstruct(labels, np.zeros(40), np.zeros(40), all_blocks(1, [300]), rng)
    assert len(keys) == 300
    assert np.bincount(np.concatenate(np.divmod(keys, 40)), minlength=40).min() > 0


def test_expected_degrees_are_followed(rng):
    """Sparse draws: mean degrees proportional to the weights, inside and between."""
    n = 600
    labels = np.repeat([0, 1], n // 2)
    weight = 1 + np.arange(n) % 5
    degree = np.zeros(n)
    runs = 60
    for _ in range(runs):
        keys = reconstruct(labels, weight, weight, all_blocks(2, [400, 400, 400]), rng)
        degree += np.bincount(np.concatenate(np.divmod(keys, n)), minlength=n)
    mean = np.array([degree[weight == w].sum() for w in range(1, 6)])
    expected = np.array([weight[weight == w].sum() for w in range(1, 6)]) / weight.sum() * degree.sum()
    assert stats.chisquare(mean, expected).pvalue > 1e-4


def test_layout_draws_by_weight_in_each_community(rng):
    labels = np.array([0, 1, 1, 1, 2])
    layout = Layout.of(labels, 3, np.array([0.0, 1.0, 3.0, 0.0, 5.0]))
    drawn = layout.draw(np.repeat([0, 1, 2], 20_000), rng)
    counts = np.bincount(drawn, minlength=5)
    assert counts[0] == counts[4] == 20_000
    assert counts[3] == 0
    assert stats.binomtest(int(counts[1]), 20_000, 0.25).pvalue > 1e-4


def two_communities(rng, edges):
    labels = np.repeat([0, 1], 50)
    return labels, reconstruct(labels, np.ones(100), np.ones(100), all_blocks(2, edges), rng)


@pytest.mark.parametrize("wanted", [500, 200])
def test_post_processing_meets_the_count(rng, wanted):
    labels, keys = two_communities(rng, [100, 150, 100])
    share = wanted / 100
    result = post_process(keys, labels, np.full(100, share), np.full(100, share), wanted, rng)
    assert len(result) == wanted
    assert (np.diff(result) > 0).all()
    assert len(np.intersect1d(keys, result)) == min(wanted, len(keys))


def test_added_edges_go_where_degrees_are_missing(rng):
    labels, keys = two_communities(rng, [100, 150, 100])
    low, high = np.divmod(keys, 100)
    same = labels[low] == labels[high]
    d_in = np.bincount(np.concatenate([low[same], high[same]]), minlength=100).astype(float)
    d_out = np.bincount(np.concatenate([low[~same], high[~same]]), minlength=100).astype(float)
    d_in[7] += 20
    result = post_process(keys, labels, d_in, d_out, len(keys) + 20, rng)
    added = np.setdiff1d(result, keys)
    a, b = np.divmod(added, 100)
    assert len(added) == 20
    assert ((a == 7) | (b == 7)).all()
    assert (labels[a] == labels[b]).all()


def test_post_processing_stops_when_the_list_is_used_up(rng):
    """Complete communities have no room; degrees that ask for nothing add nothing."""
    labels, keys = two_communities(rng, [1_225, 0, 1_225])
    full = post_process(keys, labels, np.full(100, 80.0), np.zeros(100), 4_000, rng)
    np.testing.assert_array_equal(full, keys)
    satisfied = post_process(keys, labels, np.full(100, 49.0), np.zeros(100), 2_500, rng)
    np.testing.assert_array_equal(satisfied, keys)


def test_the_same_random_state_draws_the_same_graph():
    def once(seed):
        rng = public_generator(seed)
        labels, keys = two_communities(rng, [100, 150, 100])
        return post_process(keys, labels, np.full(100, 5.0), np.full(100, 5.0), 480, rng)

    np.testing.assert_array_equal(once(4), once(4))
    assert (once(4)[:300] != once(5)[:300]).any()


@pytest.mark.parametrize("edges", [50, 300, 1_000, 1_225, 5_000])
def test_topping_up_meets_the_count_and_keeps_what_was_drawn(rng, edges):
    """Few missing edges, many, nearly all pairs, all pairs, and more than there are."""
    pairs = np.sort(rng.choice(50 * 49 // 2, size=40, replace=False))
    low, high = np.triu_indices(50, 1)
    keys = np.sort(low[pairs] * 50 + high[pairs]).astype(np.int64)
    full = top_up(keys, 50, edges, rng)
    assert len(full) == min(edges, 1_225)
    assert (np.diff(full) > 0).all()
    assert np.isin(keys, full).all()
    low, high = np.divmod(full, 50)
    assert (low < high).all()


def test_topping_up_is_uniform_over_the_pairs_not_drawn(rng):
    keys = np.array([1], dtype=np.int64)  # the pair (0, 1) of four nodes
    counts = np.zeros(16, dtype=np.int64)
    for _ in range(3_000):
        counts[top_up(keys, 4, 2, rng)] += 1
    free = [2, 3, 6, 7, 11]
    assert counts[1] == 3_000
    assert stats.chisquare(counts[free]).pvalue > 1e-4
    assert counts.sum() == 6_000


@pytest.mark.parametrize(("edges", "found"), [(-3, 0), (0, 0), (7, 7), (20, 20), (33, 33), (1_000, 45)])
def test_the_count_is_met_at_random(rng, edges, found):
    pairs = np.stack(np.triu_indices(10, 1), axis=1)
    keys = np.sort(rng.choice(pairs @ [10, 1], 20, replace=False))
    again = met(keys, 10, edges, rng)
    assert len(again) == found
    assert (np.diff(again) > 0).all()
    assert np.isin(*((again, keys) if edges < 20 else (keys, again))).all()


def test_what_is_removed_to_meet_a_count_is_any_edge_alike(rng):
    keys = np.arange(1, 10)
    kept = np.bincount(np.concatenate([met(keys, 10, 3, rng) for _ in range(2_000)]), minlength=10)[1:]
    assert stats.chisquare(kept).pvalue > 1e-6

"""NormSub, combination, block totals and super-nodes: the arithmetic between noise and graph."""

import numpy as np
import pytest

from core.methods._shared.blocks.estimates import norm_sub, norm_sub_groups
from core.methods._shared.blocks.whole import upper_triangle
from core.methods._shared.degrees.counts import fill
from papers._shared.blocks.partition import louvain, super_nodes
from papers.psgraph.combined import Estimate, all_past, two_steps


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def test_norm_sub_keeps_the_sum_with_one_shift(rng):
    values = rng.integers(-20, 40, size=500)
    clean = norm_sub(values)
    assert clean.min() >= 0
    assert clean.sum() == pytest.approx(values.sum())
    kept = clean > 0
    shifts = values[kept] - clean[kept]
    assert np.ptp(shifts) < 1e-9
    assert values[~kept].max() <= shifts[0] + 1e-9


@pytest.mark.parametrize("values", [[-3, 1, 2], [-5, -1], [0, 0], []])
def test_norm_sub_of_no_positive_sum_is_zero(values):
    assert not norm_sub(np.array(values)).any()


def test_norm_sub_by_groups_is_norm_sub_of_each_group(rng):
    values, groups = rng.integers(-30, 50, size=400), rng.integers(0, 7, size=400)
    groups[groups == 3] = 4  # an empty group
    values[groups == 5] = -1  # a group without a positive sum
    found = norm_sub_groups(values, groups, 9)
    for group in range(9):
        np.testing.assert_allclose(found[groups == group], norm_sub(values[groups == group]), atol=1e-9)


def test_two_steps_are_weighed_by_epsilon():
    now, before = Estimate(np.array([10.0]), 4.0, 0.3), Estimate(np.array([2.0]), 8.0, 0.1)
    combined = two_steps(now, before)
    assert combined.values[0] == pytest.approx(0.75 * 10 + 0.25 * 2)
    assert combined.variance == pytest.approx(0.75**2 * 4 + 0.25**2 * 8)
    assert combined.weight == 0.3


def test_all_past_steps_are_their_mean_while_the_vector_stays(rng):
    """By precision: the plain mean of equal steps, its variance that of a mean."""
    readings = rng.normal(size=(6, 3))
    estimate = Estimate(readings[0], 2.0, 0.5)
    for values in readings[1:]:
        estimate = all_past(Estimate(values, 2.0, 0.5), estimate, most=100)
    np.testing.assert_allclose(estimate.values, readings.mean(axis=0))
    assert estimate.variance == pytest.approx(2.0 / 6)
    assert estimate.weight == pytest.approx(3.0)


def test_the_past_fades():
    """Evidence adds up, but never to more than four present steps."""
    estimate = Estimate(np.array([0.0]), 1.0, 1.0)
    for _ in range(10):
        estimate = all_past(Estimate(np.array([1.0]), 1.0, 1.0), estimate, most=4)
    assert estimate.weight == 5
    assert 0.85 < estimate.values[0] < 1
    assert 1 / 5 > estimate.variance > 1 / 10


def test_a_grown_estimate_is_less_precise():
    grown = Estimate(np.array([1.0, 3.0]), 2.0, 0.5).grown(2)
    np.testing.assert_array_equal(grown.values, [2, 6])
    assert (grown.variance, grown.weight) == (8, 0.125)


def test_fill_meets_the_total_within_the_room(rng):
    mass, room = rng.random(50) * 10, rng.integers(5, 40, size=50)
    filled = fill(mass, room, 400)
    assert filled.sum() == pytest.approx(400, abs=0.6)
    assert (filled <= room).all()
    free = filled < room
    ratios = filled[free] / mass[free]
    assert np.ptp(ratios) < 1e-6 * ratios.mean()


def test_fill_of_full_or_massless_blocks():
    np.testing.assert_array_equal(fill(np.array([1.0, 0.0]), np.array([3, 9]), 100), [3, 0])
    np.testing.assert_allclose(fill(np.zeros(2), np.array([10, 30]), 8), [2, 6])
    assert fill(np.ones(2), np.array([4, 4]), 0).sum() == 0


def test_super_nodes_are_balanced_bounded_and_random(rng):
    labels = super_nodes(1_003, 20, 2_048, rng)
    assert set(np.bincount(labels)) == {19, 20}
    assert len(np.bincount(super_nodes(1_003, 20, 7, rng))) == 7
    assert (labels != super_nodes(1_003, 20, 2_048, rng)).any()


@pytest.mark.parametrize("count", [1, 2, 9])
def test_upper_triangle_matches_numpy(count):
    for ours, theirs in zip(upper_triangle(count), np.triu_indices(count), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_louvain_finds_planted_blocks():
    row, column = upper_triangle(12)
    weights = np.where(row % 3 == column % 3, 40, -2)
    labels = louvain(weights, 12, seed=1)
    assert len(set(zip(labels, np.arange(12) % 3, strict=True))) == 3
    np.testing.assert_array_equal(louvain(np.full(len(row), -5), 12, seed=1), np.arange(12))

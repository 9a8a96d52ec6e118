"""Degree sequences: without noise what went in, with noise nearer than a rounded isotonic fit."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from core.privacy.mechanisms.noise import discrete_laplace
from papers.hetesdg.sound.sequences import SINGLES, ascending
from papers.hetesdg.tests.toys import distance


@pytest.mark.parametrize("values", [[0], [3], [0, 0, 1, 5], [2, 2, 2], [0, 1, 400, 401]])
def test_without_noise_nothing_changes(values):
    degrees = np.array(values)
    np.testing.assert_array_equal(ascending(degrees, 1e-3, 1000, 2000), degrees)


def test_the_result_is_ascending_and_in_range():
    rng = np.random.default_rng(3)
    for size, most in ((1, 1), (5, 2), (400, 30), (300, 5000)):
        noisy = np.sort(rng.integers(0, most + 1, size)) + np.rint(rng.laplace(0, 9, size)).astype(int)
        found = ascending(noisy, 9.0, most, 10**9)
        assert (np.diff(found) >= 0).all()
        assert found.min() >= 0
        assert found.max() <= most
    assert len(ascending(np.empty(0, dtype=np.int64), 1.0, 3, 5)) == 0


def test_large_degrees_follow_the_isotonic_fit():
    degrees = np.arange(SINGLES + 5, SINGLES + 205)
    np.testing.assert_array_equal(ascending(degrees, 4.0, 10**6, 10**6), degrees)


def test_votes_leave_less_than_the_isotonic_error():
    """Most nodes of degree 1 or 2, noise of scale 4: means of forty draws: .032 and .073."""
    degrees = np.sort(np.random.default_rng(1).geometric(0.6, 4000))
    mine, theirs = [], []
    for _ in range(40):
        noisy = discrete_laplace(degrees, 1, 250_000_000)
        mine.append(distance(ascending(noisy, 4.0, 5000, 10**5), degrees))
        rounded = np.rint(np.clip(isotonic_regression(noisy.astype(float)).x, 0, 5000)).astype(int)
        theirs.append(distance(rounded, degrees))
    assert np.mean(mine) < 0.05
    assert np.mean(mine) < np.mean(theirs)


@pytest.mark.parametrize("bound", [1, 900, 20_000])
def test_noise_wider_than_any_degree_adds_no_edges_beyond_the_bound(bound):
    noisy = np.rint(np.random.default_rng(4).laplace(2, 400, 3000)).astype(np.int64)
    found = ascending(noisy, 400.0, 2999, bound)
    assert found.sum() <= bound
    assert (np.diff(found) >= 0).all()


def test_a_bound_that_is_a_little_low_costs_a_little():
    found = ascending(np.ones(1000, dtype=np.int64), 1e-3, 50, 990)
    assert np.bincount(found).tolist() == [10, 990]

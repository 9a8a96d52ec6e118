"""Deconvolved degrees: the law, its quantiles, who gets which, and what little noise gives back."""

import numpy as np
import pytest

from core.methods._shared.degrees.fitted import (
    DegreeLaw,
    Evidence,
    degree_law,
    fitted_degrees,
    posterior_means,
    scaled_to,
)
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms

NANO = 10**9


def noised(degrees, epsilon, seed=1):
    return mechanisms.discrete_laplace(degrees, 2, int(epsilon * NANO), rng=np.random.default_rng(seed))


def variation(one, other):
    size = int(max(one.max(), other.max())) + 1
    counts = [np.bincount(part.astype(np.int64), minlength=size) / len(part) for part in (one, other)]
    return np.abs(counts[0] - counts[1]).sum() / 2


@pytest.fixture(scope="module")
def heavy():
    """Degrees with a tail: half of them below 13, a few in the hundreds."""
    return np.random.default_rng(7).lognormal(2.5, 1.0, 3_000).astype(np.int64)


def test_quantiles_are_those_of_the_law():
    law = DegreeLaw(np.array([0, 1, 2, 3]), np.array([0.25, 0.5, 0.0, 0.25]))
    assert law.quantiles(4).tolist() == [0, 1, 1, 3]
    spaced = DegreeLaw(np.array([0, 10, 20]), np.array([0.0, 1.0, 0.0]))
    found = spaced.quantiles(101)
    assert (found.min(), found.max()) == (5, 15)
    assert (np.diff(found) >= 0).all()


def test_next_to_no_noise_gives_the_degrees_back(heavy):
    found = fitted_degrees(noised(heavy, 900.0), 900 * NANO, public_generator(1))
    np.testing.assert_array_equal(found, heavy)


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_the_law_is_nearer_than_the_noisy_degrees(heavy, epsilon):
    noisy = noised(heavy, epsilon)
    found = fitted_degrees(noisy, int(epsilon * NANO), public_generator(1))
    spread = [np.abs(np.sort(part) - np.sort(heavy)).mean() for part in (found, np.maximum(noisy, 0))]
    assert spread[0] < 0.6 * spread[1]
    assert variation(found, heavy) < variation(np.maximum(noisy, 0), heavy)
    assert abs(found.mean() / heavy.mean() - 1) < 0.05
    assert np.corrcoef(found, heavy)[0, 1] > 0.93


def test_small_graphs_lean_on_the_parametric_law():
    """Few nodes under wide noise: the noise's spread must not be taken for that of the degrees."""
    rng = np.random.default_rng(3)
    errors = []
    for seed in range(20):
        degrees = 1 + rng.poisson(1.5, 150)
        found = fitted_degrees(noised(degrees, 0.5, seed), NANO // 2, rng, mean=degrees.mean())
        errors.append(found.std() - degrees.std())
    assert abs(np.mean(errors)) < 0.6  # the noise alone has a standard deviation of 5.7


def test_a_second_look_tells_nodes_apart(heavy):
    noisy = noised(heavy, 0.2)
    rng = np.random.default_rng(5)
    seen = rng.binomial(heavy, 0.9) + rng.normal(0, 3, len(heavy))
    evidence = Evidence(seen, np.full(len(heavy), 0.9), 9.0)
    alone = posterior_means(noisy, 10.0, degree_law(noisy, 10.0))
    both = posterior_means(noisy, 10.0, degree_law(noisy, 10.0), evidence)
    assert np.abs(both - heavy).mean() < 0.5 * np.abs(alone - heavy).mean()
    found = fitted_degrees(noisy, NANO // 5, rng, evidence)
    assert np.corrcoef(found, heavy)[0, 1] > 0.97


def test_posterior_means_follow_bayes():
    """Three degrees, one noisy value: the sum by hand."""
    law = DegreeLaw(np.array([0, 1, 5]), np.array([0.2, 0.5, 0.3]))
    weight = np.array([0.2, 0.5, 0.3]) * np.exp(-np.abs(2 - law.grid) / 3.0)
    assert posterior_means(np.array([2]), 3.0, law)[0] == pytest.approx(
        (weight * law.grid).sum() / weight.sum()
    )


def test_the_grid_ends_at_the_largest_noisy_degree(heavy):
    """Nothing is as long as the largest true degree."""
    noisy = noised(heavy, 0.3)
    assert degree_law(noisy, 2 / 0.3).grid[-1] == noisy.max()
    assert degree_law(np.full(50, 400), 2.0).grid[-1] == 49  # but never beyond n - 1


@pytest.mark.parametrize("noisy", [[0], [-7], [12], [-3, -9], [0, 0, 0, 0], [-50] * 40, [3, 3, 3]])
def test_odd_inputs_stay_within_bounds(noisy):
    noisy = np.array(noisy)
    found = fitted_degrees(noisy, NANO // 4, public_generator(2))
    assert found.shape == noisy.shape
    assert np.isfinite(found).all()
    assert 0 <= found.min() <= found.max() <= max(len(noisy) - 1, 0)


def test_many_distinct_values_are_merged():
    rng = np.random.default_rng(2)
    degrees = rng.integers(0, 9_000, 20_000)
    found = fitted_degrees(degrees + rng.integers(-3, 4, 20_000), NANO, public_generator(1))
    assert np.abs(np.sort(found) - np.sort(degrees)).mean() < 40


@pytest.mark.parametrize("total", [0, 7, 40, 90, 500])
def test_scaling_meets_the_total_or_the_ceiling(total):
    degrees = np.array([0.0, 1, 2, 3, 9, 9, 0, 1, 4, 5])
    found = scaled_to(degrees, total)
    assert found.sum() == pytest.approx(min(total, 8 * 9))  # two nodes have no edges and keep none
    assert found.max() <= 9
    assert (found[degrees == 0] == 0).all()


def test_scaling_of_nothing_spreads_evenly():
    assert scaled_to(np.zeros(5), 10).tolist() == [2.0] * 5
    assert scaled_to(np.zeros(1), 4).tolist() == [0.0]
    assert scaled_to(np.zeros(5), 0).tolist() == [0.0] * 5

"""The integer samplers follow their stated laws: chi-square over the bulk, and the tails."""

import math

import numpy as np
import pytest
from numba import njit
from scipy.stats import chisquare

from core.errors import InvalidInput
from core.privacy import entropy
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.communities import _bernoulli_eight_thirds_over_e

DRAWS = 200_000
ALPHA = 1e-6  # the seeds are fixed, OpenDP's entropy is not: a false alarm once in a million


def seeded(seed=11):
    return np.random.default_rng(seed)


def laplace_law(scale, x):
    p = math.exp(-1 / scale)
    return (1 - p) / (1 + p) * p ** np.abs(x)


def gaussian_law(variance, x):
    wide = np.arange(-int(40 * variance**0.5 + 40), int(40 * variance**0.5 + 41))
    return np.exp(-(x**2) / (2 * variance)) / np.exp(-(wide**2.0) / (2 * variance)).sum()


def assert_follows(draws, law):
    """Chi-square over every integer with at least 20 expected draws, the two tails pooled."""
    reach = int(np.abs(draws).max()) + 1
    support = np.arange(-reach, reach + 1)
    expected = law(support) * len(draws)
    bulk = support[expected >= 20]
    low, high = bulk[0], bulk[-1]
    observed = np.bincount(np.clip(draws, low - 1, high + 1) - (low - 1), minlength=high - low + 3)
    inside = expected[(support >= low) & (support <= high)]
    tail = (len(draws) - inside.sum()) / 2
    expected = np.concatenate([[tail], inside, [tail]])
    if tail < 20:
        observed[1] += observed[0]
        observed[-2] += observed[-1]
        observed, expected = observed[1:-1], inside * len(draws) / inside.sum()
    assert chisquare(observed, expected).pvalue > ALPHA


@pytest.mark.parametrize(
    ("sensitivity", "nano"), [(1, NANO), (2, NANO // 10), (3, 1_234_567_891), (1, 8 * NANO)]
)
def test_long_laplace_law(sensitivity, nano):
    draws = mechanisms.discrete_laplace(np.zeros(DRAWS, dtype=np.int64), sensitivity, nano, rng=seeded())
    assert_follows(draws, lambda x: laplace_law(sensitivity * NANO / nano, x))


def test_short_laplace_law():
    zeros = np.zeros(1000, dtype=np.int64)
    draws = np.concatenate([mechanisms.discrete_laplace(zeros, 2, NANO) for _ in range(80)])
    assert_follows(draws, lambda x: laplace_law(2.0, x))


def test_laplace_tails_are_not_cut():
    """At scale 3 one draw in 22 000 lies beyond 30; a sampler with a short tail has none."""
    draws = mechanisms.discrete_laplace(np.zeros(2_000_000, dtype=np.int64), 3, NANO, rng=seeded())
    for cut in (30, 36):
        expected = 2 * math.exp(-cut / 3) / (1 + math.exp(-1 / 3)) * len(draws)
        assert abs((np.abs(draws) >= cut).sum() - expected) < 5 * math.sqrt(expected)
    assert abs((draws > 0).mean() - (draws < 0).mean()) < 5 / math.sqrt(len(draws))


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 2.7, 12.5])
def test_long_gaussian_law(multiplier):
    draws = mechanisms.discrete_gaussian(np.zeros(DRAWS, dtype=np.int64), 2, multiplier, rng=seeded())
    assert_follows(draws, lambda x: gaussian_law(2 * multiplier**2, x.astype(float)))


def test_short_gaussian_law():
    zeros = np.zeros(1000, dtype=np.int64)
    draws = np.concatenate([mechanisms.discrete_gaussian(zeros, 1, 2.0) for _ in range(80)])
    assert_follows(draws, lambda x: gaussian_law(4.0, x.astype(float)))


@pytest.mark.parametrize("sigma", [4095.5, 4096, 2.0**24])
def test_wide_gaussian_law(sigma):
    draws = mechanisms.discrete_gaussian(np.zeros(50_000, dtype=np.int64), 1, sigma, rng=seeded())
    z = np.floor(draws / (sigma / 4)).astype(int)
    edges = np.arange(-16, 17)
    from scipy.stats import norm

    expected = np.diff(norm.cdf(edges / 4)) * len(draws)
    observed = np.bincount(np.clip(z + 16, 0, 31), minlength=32)
    keep = expected >= 20
    assert (
        chisquare(observed[keep], expected[keep] * observed[keep].sum() / expected[keep].sum()).pvalue > ALPHA
    )


@njit
def _many(rng, count, numerator, denominator):
    hits = 0
    for _ in range(count):
        hits += samplers.bernoulli_exp(rng, numerator, denominator)
    return hits


@njit
def _many_ratio(rng, count):
    hits = 0
    for _ in range(count):
        hits += _bernoulli_eight_thirds_over_e(rng)
    return hits


@pytest.mark.parametrize("gamma", [(0, 7), (1, 3), (1, 1), (7, 3), (5, 1), (3 * 2**58, 2**59)])
def test_bernoulli_exp(gamma):
    p = math.exp(-gamma[0] / gamma[1])
    hits = _many(seeded(), DRAWS, *gamma)
    assert abs(hits - p * DRAWS) <= 5 * math.sqrt(p * (1 - p) * DRAWS)


def test_bernoulli_eight_thirds_over_e():
    p = 8 / 3 / math.e
    assert abs(_many_ratio(seeded(), DRAWS) - p * DRAWS) <= 5 * math.sqrt(p * (1 - p) * DRAWS)


def test_huge_values_saturate_and_never_wrap():
    top = np.iinfo(np.int64).max
    for size in (10, 5000):
        noisy = mechanisms.discrete_laplace(np.full(size, top), 2**20, 1000)
        assert noisy.max() <= 2**62
        assert noisy.min() > 0
        noisy = mechanisms.discrete_gaussian(np.full(size, -top), 1, 2.0**24)
        assert noisy.min() >= -(2**62)
        assert noisy.max() < 0


def test_the_smallest_epsilon_and_largest_sensitivity_keep_their_scale():
    draws = mechanisms.discrete_laplace(np.zeros(5000, dtype=np.int64), 2**20, 1)
    scale = 2**20 * 1e9
    assert 0.9 * scale < np.abs(draws).mean() < 1.1 * scale


@pytest.mark.parametrize(
    ("sensitivity", "nano"),
    [(0, 1), (-1, 1), (1.0, 1), (2**21, 1), (1, 0), (1, -1), (1, math.nan), (1, 0.5), (1, True)],
)
def test_bad_laplace_arguments(sensitivity, nano):
    with pytest.raises(InvalidInput):
        mechanisms.discrete_laplace(np.zeros(3, dtype=np.int64), sensitivity, nano)


@pytest.mark.parametrize(("squared", "sigma"), [(0, 1), (1, 0), (1, math.nan), (1, math.inf), (1, 2.0**25)])
def test_bad_gaussian_arguments(squared, sigma):
    with pytest.raises(InvalidInput):
        mechanisms.discrete_gaussian(np.zeros(3, dtype=np.int64), squared, sigma)


def test_floats_are_never_noised():
    with pytest.raises(InvalidInput):
        mechanisms.discrete_laplace(np.zeros(3), 1, NANO)


def test_empty_vectors_stay_empty():
    assert mechanisms.discrete_laplace(np.zeros(0, dtype=np.int64), 1, NANO).size == 0


def test_release_streams_never_repeat():
    streams = {tuple(entropy.noise_generator().integers(0, 2**62, 4)) for _ in range(50)}
    assert len(streams) == 50
    same = [entropy.public_generator(5).integers(0, 2**62, 4).tolist() for _ in range(2)]
    assert same[0] == same[1]
    unseeded = [entropy.public_generator(None).integers(0, 2**62, 4).tolist() for _ in range(2)]
    assert unseeded[0] != unseeded[1]

"""Smooth histograms of persons: what lies in the noise is a smooth law, what stands out of it is kept."""

from __future__ import annotations

import numpy as np
import pytest

from core.methods.profiles.law import gaussian_law, power_laws, smooth_counts
from core.methods.profiles.persons import degree_bins, degrees_from
from core.privacy.entropy import public_generator

DEGREES = {
    "few hubs": np.minimum(np.random.default_rng(1).pareto(1.3, 20_000) * 3, 5000).astype(np.int64),
    "no hubs": np.random.default_rng(2).poisson(4, 1000),
    "all idle": np.zeros(100, dtype=np.int64),
}


def histogram(degrees: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(bounds, degrees, side="right") - 1, minlength=len(bounds))


def errors(degrees: np.ndarray, deviation: float, most: int = 20_000) -> np.ndarray:
    """The relative error of the number of edges, for each of 30 draws of the noise."""
    bounds, rng = degree_bins(most), np.random.default_rng(3)
    counts, found = histogram(degrees, bounds), []
    for seed in range(30):
        noisy = counts + np.rint(rng.normal(0, deviation, len(counts)))
        fit = smooth_counts(noisy, deviation, len(degrees), bounds, most)
        assert fit.min() >= 0
        assert fit.sum() == pytest.approx(len(degrees))
        drawn = degrees_from(fit, bounds, most, public_generator(seed))
        found.append(drawn.sum() / max(degrees.sum(), 1) - 1)
    return np.array(found)


@pytest.mark.parametrize("name", ["few hubs", "no hubs"])
@pytest.mark.parametrize(("deviation", "bias", "spread"), [(3.0, 0.1, 0.2), (10.0, 0.15, 0.3)])
def test_noise_makes_no_hubs_that_outweigh_everybody(
    name: str, deviation: float, bias: float, spread: float
) -> None:
    """Bins of a thousand edges each are many, and the noise in each of them is of some persons."""
    found = errors(DEGREES[name], deviation)
    assert abs(found.mean()) < bias
    assert np.sqrt(np.square(found).mean()) < spread


def test_without_noise_the_hubs_are_kept() -> None:
    degrees = np.append(np.full(500, 3), [900, 2500])
    bounds = degree_bins(4000)
    counts = histogram(degrees, bounds).astype(np.float64)
    fit = smooth_counts(counts, 0.01, len(degrees), bounds, 4000)
    assert fit == pytest.approx(counts, abs=0.05)


@pytest.mark.parametrize("name", DEGREES)
def test_noise_that_hides_everybody_leaves_a_law(name: str) -> None:
    degrees = DEGREES[name]
    assert np.isfinite(errors(degrees, 1e5)).all()


THINGS = {
    "a power": (np.random.default_rng(4).zipf(2.1, 5000), 0.15),
    "many without": (np.random.default_rng(5).negative_binomial(0.5, 0.1, 5000), 0.25),
    "alike": (np.random.default_rng(6).poisson(30, 2000), 0.3),
}


@pytest.mark.parametrize("name", THINGS)
def test_the_law_of_things_is_found_under_noise_of_several_edges(name: str) -> None:
    true, most = np.minimum(THINGS[name][0], 2000), THINGS[name][1]
    noisy = true + np.rint(np.random.default_rng(7).normal(0, 8, len(true)))
    drawn = gaussian_law(noisy, 8.0, float(true.mean()), 5000).quantiles(len(true)).astype(np.int64)
    counts = [np.bincount(each, minlength=2001) for each in (true, np.minimum(drawn, 2000))]
    assert np.abs(counts[0] - counts[1]).sum() / 2 / len(true) < most


@pytest.mark.parametrize("mean", [0.2, 1.0, 1.5, 40.0, 1e4])
def test_power_laws_are_laws_of_the_mean_asked_for(mean: float) -> None:
    grid = np.arange(3000)
    laws = power_laws(grid, mean)
    assert laws.shape == (0 if mean <= 1 else 5, 3000)
    assert laws.sum(axis=1) == pytest.approx(np.ones(len(laws)))
    if 1 < mean < 100:
        assert laws @ grid == pytest.approx(np.full(len(laws), mean), rel=0.02)
        assert (laws[:, 0] < 1e-9).all()

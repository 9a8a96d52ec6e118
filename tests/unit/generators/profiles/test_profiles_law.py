"""Smooth histograms of persons: what lies in the noise is a smooth law, what stands out of it is kept."""

from __future__ import annotations

import numpy as np
import pytest

from core.generators.profiles.law import smooth_counts
from core.generators.profiles.persons import degree_bins, degrees_from
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

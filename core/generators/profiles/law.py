"""The law of numbers that were seen under Gaussian noise, and smooth histograms. Post-processing."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from core.generators._shared.degrees.counts import to_total
from core.generators._shared.degrees.fitted import FLOOR, DegreeLaw, histogram, reference

SINGLES, SPACED = 100, 150
ROUNDS, PRIOR = 12, 100
SMALLEST_MEAN = 0.05
KNOWN = 2.0
"""A bin that lies so many deviations of the noise off a smooth law is believed for what lies beyond."""


def gaussian_law(noisy: np.ndarray, deviation: float, mean: float, most: int) -> DegreeLaw:
    """Find the law of integers in 0..``most`` that explains ``noisy`` under Gaussian noise; O(values * grid).

    Starts from negative binomial laws of that ``mean``, and leaves them by a few rounds of
    expectation-maximisation where the noise is small beside the law's own spread.
    """
    grid = grid_up_to(min(most, max(int(noisy.max(initial=0)), 1)))
    values, counts = histogram(noisy)
    far = (values[:, None] - grid[None, :]) / max(deviation, 0.25)
    far = far**2 / 2
    kernel = np.exp(np.maximum(far.min(axis=1, keepdims=True) - far, -700.0))
    start = reference(grid, kernel, counts, max(mean, SMALLEST_MEAN))
    spread = max(float(noisy.var()) - deviation**2, mean, SMALLEST_MEAN)
    weight = PRIOR * deviation**2 / spread
    mass = start
    for _ in range(ROUNDS):
        mass = mass * ((counts / np.maximum(kernel @ mass, FLOOR)) @ kernel) + weight * start
        mass /= mass.sum()
    return DegreeLaw(grid, mass)


def grid_up_to(last: int) -> np.ndarray:
    """List 0, 1, 2, ... and then integers by ratio, up to ``last``."""
    spaced = np.geomspace(SINGLES, max(last, SINGLES), SPACED)
    points = np.concatenate([np.arange(min(last + 1, SINGLES)), np.rint(spaced), [last]]).astype(np.int64)
    return np.unique(points[points <= last])


def smooth_counts(noisy: np.ndarray, deviation: float, total: int) -> np.ndarray:
    """Fit counts of ``total`` persons in bins of degrees; float64, none below zero.

    Bin 0 stands apart; the others rise to one peak and fall from it, but for bins that lie farther off than
    the noise goes, which are believed. Busy degrees end sharply: a smooth law would blur what is known.
    """
    return believed(noisy, np.append(noisy[:1], one_peak(noisy[1:])), deviation, total)


def one_peak(values: np.ndarray) -> np.ndarray:
    """Find the closest values that rise to one peak and then fall; float64. O(n^2)."""
    found, least = values, np.inf
    for peak in range(len(values) + 1):
        parts = [
            isotonic_regression(part, increasing=rising).x if len(part) else part
            for part, rising in ((values[:peak], True), (values[peak:], False))
        ]
        fit = np.concatenate(parts)
        off = float(np.square(fit - values).sum())
        if off < least:
            found, least = fit, off
    return found


def believed(noisy: np.ndarray, fit: np.ndarray, deviation: float, total: int) -> np.ndarray:
    """Move ``fit`` towards ``noisy`` by what the noise cannot explain; of sum ``total``, none below zero."""
    off = noisy - fit
    fit = fit + np.sign(off) * np.maximum(np.abs(off) - KNOWN * deviation, 0.0)
    return to_total(fit, total, total)

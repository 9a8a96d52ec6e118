"""Laws of numbers seen under Gaussian noise, and smooth histograms. Post-processing."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import isotonic_regression

from core.methods._shared.degrees.counts import to_total
from core.methods._shared.degrees.fitted import (
    FLOOR,
    SMALLEST_MASS,
    DegreeLaw,
    histogram,
    reference,
    stretches,
)

SINGLES, SPACED = 100, 150
ROUNDS, PRIOR = 12, 100
SMALLEST_MEAN = 0.05
KNOWN = 2.0
"""A bin that lies so many deviations of the noise off a smooth law is believed for what lies beyond."""
SEEN = 2.0
"""A bin stands out of the noise where it has so many deviations of it."""
SURELY = 3.0
"""The same as KNOWN for bins that do not stand out: there are many, and one that is wrong costs more."""
POWERS = np.array([0.75, 1.0, 1.5, 2.0, 3.0, 5.0])
EXPONENTS = (0.7, 1.0, 1.5, 2.0, 3.0)
SCALES = (-6.0, 16.0)
CUTS = 2.0 ** np.arange(-3, 8)
"""Where laws of busy persons end, in first degrees of those that do not stand out. Chosen, as SEEN was, while
looking at ML-100k, Amazon, bitcoin-otc and generated degrees: power laws, log-normal and Poisson ones."""


def gaussian_law(noisy: np.ndarray, deviation: float, mean: float, most: int) -> DegreeLaw:
    """Estimate the law of integers that explains ``noisy``.

    They are in 0..``most`` under Gaussian noise; O(values * grid). Starts from negative binomial laws and
    powers of that ``mean``, and leaves them by a few rounds of expectation-maximisation where the noise is
    small compared with the law's own spread.
    """
    grid = grid_up_to(min(most, max(int(noisy.max(initial=0)), 1)))
    values, counts = histogram(noisy)
    far = (values[:, None] - grid[None, :]) / max(deviation, 0.25)
    far = far**2 / 2
    # Relative to the nearest value; no less than what exp can write.
    kernel = np.exp(np.maximum(far.min(axis=1, keepdims=True) - far, -700.0))
    mean = max(mean, SMALLEST_MEAN)
    laws = np.vstack([reference(grid, kernel, counts, mean), power_laws(grid, mean)])
    fits = np.log(np.maximum(kernel @ laws.T, FLOOR)).T @ counts
    weights = np.exp(fits - fits.max())
    start = weights @ laws / weights.sum()
    spread = max(float(noisy.var()) - deviation**2, mean, SMALLEST_MEAN)
    weight = PRIOR * deviation**2 / spread
    mass = start
    for _ in range(ROUNDS):
        # Expectation-maximisation, with ``weight`` counts as the start has them: little noise, little of it.
        mass = mass * ((counts / np.maximum(kernel @ mass, FLOOR)) @ kernel) + weight * start
        mass /= mass.sum()
    return DegreeLaw(grid, mass)


def power_laws(grid: np.ndarray, mean: float) -> np.ndarray:
    """List power laws of that ``mean``.

    In them every thing has an edge; (laws, g), sums 1. None where the mean is 1 or less. What has one edge
    and what has none look alike under the noise: a list of things is mostly one of things that somebody has.
    O(grid).
    """
    last = np.floor(stretches(grid)[1])
    found = []
    for power in EXPONENTS if mean > 1 else ():
        low, high = SCALES
        for _ in range(40):
            middle = (low + high) / 2
            # The mean grows with the scale: halving finds it.
            below = falling(last, power, math.exp(middle)) @ grid < mean
            low, high = (middle, high) if below else (low, middle)
        found.append(np.maximum(falling(last, power, math.exp(high)), SMALLEST_MASS))
    laws = np.array(found).reshape(len(found), len(grid))
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def falling(last: np.ndarray, power: float, scale: float) -> np.ndarray:
    """Return the law with P(more than x) = (1 + x / scale)^-power.

    It is for x = 0, 1, ..., up to the last; (g,).
    """
    below = 1 - (1 + np.maximum(last, 0) / scale) ** -power
    below[-1] = 1.0
    return np.diff(below, prepend=0)


def grid_up_to(last: int) -> np.ndarray:
    """List 0, 1, 2, ... and then integers by ratio, up to ``last``."""
    spaced = np.geomspace(SINGLES, max(last, SINGLES), SPACED)
    points = np.concatenate([np.arange(min(last + 1, SINGLES)), np.rint(spaced), [last]]).astype(np.int64)
    return np.unique(points[points <= last])


def smooth_counts(
    noisy: np.ndarray, deviation: float, total: int, bounds: np.ndarray, last: int
) -> np.ndarray:
    """Fit counts of ``total`` persons in bins of degrees.

    The result is float64, none below zero.

    ``bounds``: where bins begin; ``last``: the largest degree there could be. Bin 0 stands apart; the others
    rise to one peak and fall from it, but for bins that lie farther off than the noise goes, which are
    believed. Busy degrees end sharply: a smooth law would blur what is known. Beyond the last bin that stands
    out of the noise a smooth law is all there is: see :func:`tail_counts`.
    """
    fit = np.append(noisy[:1], one_peak(noisy[1:]))
    seen = np.flatnonzero(fit[1:] >= SEEN * deviation)
    begin = int(seen[-1]) + 2 if len(seen) else 1
    tail = tail_counts(noisy, fit, deviation, bounds, last, begin)
    tail *= min(1.0, total / max(float(tail.sum()), 1e-12))
    left = max(total - float(tail.sum()), 0.0)
    return np.append(believed(noisy[:begin], fit[:begin], deviation, left), tail)


def tail_counts(
    noisy: np.ndarray, fit: np.ndarray, deviation: float, bounds: np.ndarray, last: int, begin: int
) -> np.ndarray:
    """Fit the counts of tail bins.

    They are those from ``begin`` on, where each by itself is lost in the noise; float64. The mean of power
    laws that end more or less sharply, weighted by how well they explain these bins and the one before. One
    bin of persons with a thousand edges each would weigh more than all that is known.
    """
    first = max(begin - 1, 1)
    low = bounds[first:].astype(np.float64)
    high = np.append(low[1:], last + 1.0)
    power, cut = (each.reshape(-1, 1) for each in np.meshgrid(POWERS, CUTS))
    cut = cut * bounds[min(begin, len(bounds) - 1)]
    shape = low**-power * np.exp(-low / cut) - high**-power * np.exp(-high / cut)
    shape /= np.maximum(shape.max(axis=1, keepdims=True), FLOOR)
    measured, variance = noisy[first:], deviation**2 + np.maximum(fit[first:], 0.0)
    # The level of each shape by weighted least squares.
    level = np.maximum(shape @ (measured / variance) / np.maximum(shape**2 @ (1 / variance), FLOOR), 0.0)
    laws = level[:, None] * shape
    off = np.square(measured - laws) @ (1 / variance)
    weight = np.exp((off.min() - off) / 2)
    found = (weight @ laws / weight.sum())[begin - first :]
    off = noisy[begin:] - found
    # Believed for what lies beyond the noise, and for no more (soft threshold).
    shrunk: np.ndarray = np.maximum(
        found + np.sign(off) * np.maximum(np.abs(off) - SURELY * deviation, 0.0), 0.0
    )
    return shrunk


def one_peak(values: np.ndarray) -> np.ndarray:
    """Fit the closest values that rise to one peak and fall. O(n^2)."""
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


def believed(noisy: np.ndarray, fit: np.ndarray, deviation: float, total: float) -> np.ndarray:
    """Move ``fit`` towards ``noisy`` by what noise cannot explain.

    It is of sum ``total``, none below zero.
    """
    off = noisy - fit
    fit = fit + np.sign(off) * np.maximum(np.abs(off) - KNOWN * deviation, 0.0)
    return to_total(fit, total, total)

"""The compiled part of :mod:`core.methods._shared.degrees.sides`.

Discrete Laplace noise makes every sum over degrees a two-sided exponential filter, which two recursions
compute: a round of expectation-maximisation takes as many steps as there are noisy values in range, whatever
the noise, and no matrix.
"""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel

SMOOTHING = 0.3  # of a degree's mass, how much its neighbours decide in each round
STEEP = 16  # up to this degree laws may fall steeply
TINY = 1e-290


@kernel
def filtered(values: np.ndarray, ratio: float) -> np.ndarray:
    """Sum ``values[j]`` times ``ratio`` to the power |i - j|. The sums are over j; float64."""
    result = np.empty(values.size)
    behind = 0.0
    for i in range(values.size):
        behind = values[i] + ratio * behind
        result[i] = behind
    ahead = 0.0
    for i in range(values.size - 1, -1, -1):
        result[i] += ahead
        ahead = ratio * (ahead + values[i])
    return result


@kernel
def deconvolved(
    counts: np.ndarray, zero: int, mass: np.ndarray, ratio: float, rounds: int, smooth: bool
) -> np.ndarray:
    """``mass`` of the degrees 0.. after ``rounds`` of expectation-maximisation; float64, sums to 1.

    ``counts``: how often each noisy value was seen, ``zero`` the place of value 0 among them; they reach to
    the largest degree at least. ``smooth``: each round draws the mass of degrees from 2 on towards the mean
    of their neighbours': a little, as more would level the law. For low degrees that is the geometric mean,
    which leaves a steep law as it is. Idle nodes and those of one edge are left as they are.
    """
    mass = mass.copy()
    last = mass.size - 1
    spread = np.zeros(counts.size)
    for _ in range(rounds):
        spread[:] = 0.0
        spread[zero : zero + mass.size] = mass
        weight = counts / np.maximum(filtered(spread, ratio), TINY)
        mass *= filtered(weight, ratio)[zero : zero + mass.size]
        mass /= mass.sum()
        if smooth and last > 2:
            before = mass[1]
            for d in range(2, last + 1):
                here = mass[d]
                after = mass[d + 1] if d < last else here
                between = math.sqrt(before * after) if d <= STEEP else (before + after) / 2
                mass[d] = (1 - SMOOTHING) * here + SMOOTHING * between
                before = here
    return mass


@kernel
def posterior_means(size: int, zero: int, mass: np.ndarray, ratio: float) -> np.ndarray:
    """Compute the posterior mean degree of each noisy value. There are ``size``, under ``mass``; float64."""
    spread, first = np.zeros(size), np.zeros(size)
    for d in range(mass.size):
        spread[zero + d] = mass[d]
        first[zero + d] = mass[d] * d
    estimated: np.ndarray = filtered(first, ratio) / np.maximum(filtered(spread, ratio), TINY)
    return estimated

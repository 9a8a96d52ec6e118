"""Intervals of sums of noisy numbers. They hold what several paid numbers make together.

Noises are independent: each was drawn for its own answer. The variance v of discrete Laplace noise determines
it, and its characteristic function is 1 / (1 + 2 v sin^2(u / 2)).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from core.privacy.accounting.measurements import deviation
from core.reports.precision import within

MANY = 10_000
"""Of so many noises the sum has the normal law, to far below what is printed."""
FINEST = 20_000
"""A spread beyond this is divided into so many steps."""
STEPS = 512
"""So many steps are in the spread of a weighted sum."""
ALMOST_NORMAL = 0.01
"""With less excess kurtosis a sum has the normal law, to a thousandth at the bounds that are asked."""
NEVER = 1e-9
"""Noise that is there no more often is none."""
COARSEST = 1 / 4096
"""A step is no finer than that part of a factor: noise that is almost never there needs no more."""


class Noise(NamedTuple):
    """``draws`` discrete Laplace noises of ``scale``, each times ``factor``."""

    factor: float
    scale: Fraction
    draws: int

    @property
    def variance(self) -> float:
        """The variance of their sum."""
        return float(self.draws * (self.factor * deviation(self.scale)) ** 2)


@lru_cache(maxsize=4096)
def sum_within(scale: Fraction, count: int, confidence: float) -> int:
    """Bound a sum of ``count`` discrete Laplace noises. It keeps within t with the stated confidence.

    The least such t, but for wide noise, where it is rounded up by less than a thousandth.
    """
    if count == 1:
        return within(scale, confidence)
    spread = float(scale) * math.sqrt(2 * count)
    if count >= MANY:
        # A unit wider than the normal law, as the noise is whole numbers.
        return math.ceil(NormalDist().inv_cdf((1 + confidence) / 2) * (spread + 1))
    # Wide noise on a coarser lattice, of the same variance in its units: the transform stays short.
    coarse = max(1, math.ceil(spread / FINEST))
    law = _law([(1, deviation(scale / coarse) ** 2, count)])
    found = _least(law, confidence)
    return found if coarse == 1 else (found + 1) * coarse


@lru_cache(maxsize=4096)
def weighted_within(noises: tuple[Noise, ...], confidence: float) -> float:
    """Bound a sum of unlike noises. It keeps within t with the stated confidence; noises have several scales
    or factors.

    Rounded up by less than a hundredth. Each factor is a whole number of steps, the variance kept as it is.
    """
    alike: dict[tuple[float, Fraction], int] = {}
    for each in noises:
        alike[each[:2]] = alike.get(each[:2], 0) + each.draws
    # One law, whose sum is bounded to the integer.
    if len(alike) == 1:
        (((factor, scale), count),) = alike.items()
        return factor * sum_within(scale, count, confidence)
    every = [Noise(*each, count) for each, count in alike.items()]
    parts = [each for each in every if each.variance and each.draws * deviation(each.scale) ** 2 > NEVER]
    variance = math.fsum(each.variance for each in parts)
    if not variance:
        return 0.0
    # One noise has the excess 3 + 1/v, and a sum the mean by the squares of variances.
    excess = math.fsum(
        (3 + 1 / deviation(each.scale) ** 2) * (each.variance / variance) ** 2 / each.draws for each in parts
    )
    if excess < ALMOST_NORMAL:
        # A little more than the normal law's bound: the tails are heavier by the excess.
        return NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance) * (1 + excess / 10)
    step = max(math.sqrt(variance) / STEPS, COARSEST * max(each.factor for each in parts))
    whole = [max(1, round(each.factor / step)) for each in parts]
    law = _law(
        [
            # The factor is rounded to whole steps, and the noise's variance makes up for it.
            (own, each.variance / each.draws / (own * step) ** 2, each.draws)
            for own, each in zip(whole, parts, strict=True)
        ]
    )
    found = _least(law, confidence)
    # Two steps more: for the lattice, and for factors that were rounded to it.
    return (found + 2) * step if found else 0.0


def _least(law: np.ndarray, confidence: float) -> int:
    """The least t of a symmetric law that -t..t holds the confidence."""
    # From 1 on: inside[0] is the probability of -1, 0 and 1.
    inside = law[0] + 2 * np.cumsum(law[1 : len(law) // 2])
    return int(np.searchsorted(inside, confidence)) + 1 if law[0] < confidence else 0


def _law(noises: list[tuple[int, float, int]]) -> np.ndarray:
    """The probabilities of 0, 1, 2, ... and, from the end, of -1, -2, ...; what lies beyond is nothing.

    ``noises``: so many steps, times noise of that variance, so many of them.
    """
    spread = math.sqrt(math.fsum(count * variance * steps**2 for steps, variance, count in noises))
    widest = max(steps * math.sqrt(variance / 2 + 1) for steps, variance, _ in noises)
    # What lies beyond wraps around: 12 deviations of the sum, and 40 scales of its widest noise, whose tail
    # is exponential, leave less than doubles hold.
    size = 2 ** math.ceil(math.log2(2 * (12 * spread + 40 * widest + 16)))
    at = math.pi * np.arange(size // 2 + 1) / size
    logs = np.zeros(len(at))
    for steps, variance, count in noises:
        # Discrete Laplace noise of variance v has the characteristic function 1 / (1 + 2 v sin^2(t / 2)), and
        # a sum the product of theirs; here t / 2 is at, times its steps.
        logs -= count * np.log1p(2 * variance * np.sin(steps * at) ** 2)
    # Rounding of the transform leaves tiny negative numbers.
    return np.maximum(np.fft.irfft(np.exp(logs), size), 0)

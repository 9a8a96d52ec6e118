"""How near a sum of noisy numbers is to the truth: intervals for what several paid numbers make together."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from core.reports.precision import within

MANY = 10_000
"""Of so many noises the sum has the normal law, to far below what is printed."""
FINEST = 20_000
"""A spread beyond this is divided into so many steps."""


@lru_cache(maxsize=4096)
def sum_within(scale: Fraction, count: int, confidence: float) -> int:
    """Find t that a sum of ``count`` discrete Laplace noises keeps within with the stated confidence.

    The least such t, but for wide noise, where it is rounded up by less than a thousandth. From the law's
    characteristic function (1 - q)^2 / (1 - 2 q cos u + q^2), q = exp(-1/scale), to the power of n.
    """
    if count == 1:
        return within(scale, confidence)
    spread = float(scale) * math.sqrt(2 * count)
    if count >= MANY:
        return math.ceil(NormalDist().inv_cdf((1 + confidence) / 2) * (spread + 1))
    coarse = max(1, math.ceil(spread / FINEST))
    law = _law(float(scale) / coarse, count)
    inside = law[0] + 2 * np.cumsum(law[1 : len(law) // 2])
    found = int(np.searchsorted(inside, confidence)) + 1 if law[0] < confidence else 0
    return found if coarse == 1 else (found + 1) * coarse


def _law(scale: float, count: int) -> np.ndarray:
    """The probabilities of 0, 1, 2, ... and, from the end, of -1, -2, ...; what lies beyond is nothing."""
    reach = 12 * scale * math.sqrt(2 * count) + 40 * scale + 16
    size = 2 ** math.ceil(math.log2(2 * reach))
    q = math.exp(-1 / scale)
    at = 2 * math.pi * np.arange(size // 2 + 1) / size
    # 1 - 2 q cos u + q^2 = (1 - q)^2 + 4 q sin^2(u/2), without loss where q is almost 1.
    gone = -math.expm1(-1 / scale)
    logs = -np.log1p(4 * q * np.sin(at / 2) ** 2 / gone**2)
    return np.maximum(np.fft.irfft(np.exp(count * logs), size), 0)

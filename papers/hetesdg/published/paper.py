"""HeteSDG as published. What it claims, what it reads, and why one edge is not what it protects."""

from __future__ import annotations

import math

from core.methods.base import Claimed

DELTA = 1e-5
ATTENUATION = 0.01
"""lambda of Eq. 15, as its program has it."""
SENSITIVITY = 2.0
"""Delta_2 S of Eq. 15, as its program has it: assumed, as rows are not clipped."""
RATE_CONSTANT = 1.0
"""c_2 of section 4.2, which the paper leaves open."""

REASON = "HeteSDG as published attends over the raw graph and scales its noise by what it finds there."
SOURCES = {
    "hetesdg": "Wei et al., HeteSDG (Knowledge and Information Systems 2023), Theorems 1 and 2, Algorithm 1",
    "hetedp": "Wei et al., HeteDP (ICDM 2022), as restated by HeteSDG (2023), Theorems 1 and 2",
}
REMARK = (
    "Where it is halved, the half for features has its noise multiplied by {attenuation:g}: one such draw, "
    "were its sensitivity what is stated, has epsilon {effective:.3g} at delta {delta:g}. That sensitivity "
    "is multiplied by attention weights of the raw graph, so the noise's scale tells of the graph; so does a "
    "split that follows losses on it. Of the other half, gradients are clipped by link, but every link is a "
    "neighbour in other links' examples, the weights of the attention are learned without noise, and the "
    "number of links of a release is the true one. None of this is in the stated epsilon."
)


def claim_of(method: str, epsilon: float) -> Claimed:
    """Return what the paper claims for ``epsilon``. With it is the epsilon of its attenuated noise."""
    deviation = ATTENUATION * feature_deviation(epsilon / 2)
    remark = REMARK.format(attenuation=ATTENUATION, effective=gaussian_epsilon(deviation, DELTA), delta=DELTA)
    return Claimed(f"{epsilon:g}", f"{DELTA:.5f}", SOURCES[method], remark)


def feature_deviation(epsilon: float) -> float:
    """Compute sigma of Eq. 2: the classical Gaussian mechanism's standard deviation over its sensitivity."""
    return math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon


def gradient_deviation(epsilon: float, rate: float, steps: int) -> float:
    """Compute sigma of section 4.2. It is c_2 P sqrt(T log(1/delta)) / epsilon."""
    return RATE_CONSTANT * rate * math.sqrt(steps * math.log(1 / DELTA)) / epsilon


def gaussian_epsilon(deviation: float, delta: float) -> float:
    """Solve for the least epsilon of one Gaussian draw.

    It is at ``delta``, and the draw has that deviation over its sensitivity. Exact up to bisection: Balle and
    Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, Theorem 8, in logarithms.
    """
    from scipy.special import log_ndtr

    def private(epsilon: float) -> bool:
        first = log_ndtr(0.5 / deviation - epsilon * deviation)
        second = epsilon + log_ndtr(-0.5 / deviation - epsilon * deviation)
        return bool(first + math.log1p(-math.exp(min(second - first, -1e-300))) <= math.log(delta))

    low, high = 0.0, 1.0
    while not private(high):
        low, high = high, high * 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high

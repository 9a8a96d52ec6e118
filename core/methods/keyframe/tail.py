"""A degree sequence from noisy tail counters.

They say how many nodes have at least j edges, for a few j. The counters fix a curve N(j) = n a (1 + (j - 1) /
s)^(-alpha) up to a cap; each is then trusted as far as its noise allows. Without curve and cap a noisy
counter far out invents hubs, and with them a dense core. Post-processing of noisy values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.late import late
from core.methods._shared.degrees.counts import fill

STARTS = ((2.0, 1.8), (10.0, 4.0))  # (s, alpha): a heavy tail and a light one
PULL = 0.02  # weight of the start, per squared difference of logarithms
MODEL_ERROR = 0.05  # of the curve at a counter, as a share of the counter
TOTAL_ERROR = 0.025  # of its sum, as a share of the edge ends
TRUST_SCALE = 0.1  # deviations from the curve of this share are taken as real where noise is smaller
SHORTEST_CAP = 8
EVIDENT = 3.0  # standard deviations by which a counter must exceed zero
TRUST_COUNT = 0.5  # and deviations of so many nodes
SMALLEST_COUNT = 1e-3  # below it a counter is zero
TINIEST = 1e-30  # the curve has a logarithm
ITERATIONS = 100
LARGEST_LOG = 20.0


def thresholds(nodes: int) -> np.ndarray:
    """List public thresholds of degrees below ``nodes``.

    They are 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, then 2^k and 3 * 2^k.
    """
    powers = 2 ** np.arange(5, 28)
    far = np.sort(np.concatenate([powers, powers + powers // 2]))
    every = np.concatenate([[1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24], far])
    return every[: max(1, int(np.searchsorted(every, nodes)))]


@dataclass(frozen=True)
class Counters:
    """Estimates of the counters at ``at``, with variances. The number of edges is among them; float64."""

    at: np.ndarray
    count: np.ndarray
    variance: np.ndarray
    edges: float
    edges_variance: float


def longest(counters: Counters, largest_known: float, nodes: int) -> int:
    """Choose the cap of the degrees.

    It is a little above the largest known one and the last evident counter.
    """
    evident = counters.at[counters.count > EVIDENT * np.sqrt(counters.variance)]
    reach = max(SHORTEST_CAP, 1.1 * largest_known + 1, 1.5 * float(evident.max(initial=0)) + 2)
    return int(max(1, min(reach, nodes - 1)))


def curve(counters: Counters, cap: int, nodes: int) -> np.ndarray:
    """Count the nodes of degree at least j = 1..cap.

    They are float64, non-increasing, within 0..nodes.
    """
    shape = _fitted(counters, cap, nodes)
    j = np.arange(1, cap + 1)
    smooth = np.maximum(_tail(shape, j), TINIEST)
    seen = counters.at <= cap
    at, noise = counters.at[seen], counters.variance[seen]
    base = smooth[at - 1]
    plausible = (TRUST_SCALE * base) ** 2 + TRUST_COUNT**2
    # A counter is trusted as far as deviations from the curve are likelier than its noise.
    corrected = base + plausible / (plausible + noise) * (counters.count[seen] - base)
    ratio = np.log(np.maximum(corrected, SMALLEST_COUNT) / base)
    # Between counters in logarithms: deviations of a power law are factors.
    whole = smooth * np.exp(np.interp(np.log(j), np.log(at), ratio))
    # More nodes of at least j + 1 edges than of at least j there cannot be.
    return np.minimum.accumulate(np.clip(whole, 0, nodes))


def _tail(shape: np.ndarray, j: np.ndarray) -> np.ndarray:
    top, scale, power = np.exp(shape)
    tail: np.ndarray = top * np.exp(-power * np.log1p((j - 1) / scale))
    return tail


def _slopes(shape: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Compute derivatives of the curve at ``j`` in its three logarithms; float64 (len(j), 3)."""
    _, scale, power = np.exp(shape)
    far = (j - 1) / scale
    slopes: np.ndarray = _tail(shape, j)[:, None] * np.stack(
        [np.ones(len(j)), power * far / (1 + far), -power * np.log1p(far)], axis=1
    )
    return slopes


_least_squares = late("scipy.optimize:least_squares")


def _fitted(counters: Counters, cap: int, nodes: int) -> np.ndarray:
    """Fit (log of n a, log s, log alpha) by weighted least squares, from the better of two starts."""
    seen = counters.at <= cap
    at, count = counters.at[seen], counters.count[seen]
    # One more, so that a counter without noise does not rule alone.
    spread = np.sqrt(counters.variance[seen] + (MODEL_ERROR * count) ** 2 + 1)
    total = 2 * counters.edges
    total_spread = np.sqrt(4 * counters.edges_variance + (TOTAL_ERROR * total) ** 2 + 1)
    j, weight = _nodes_of_sum(cap)
    pull = np.sqrt(PULL)
    anchors = np.hstack([np.zeros((2, 1)), pull * np.eye(2)])

    def misses(shape: np.ndarray, start: np.ndarray) -> np.ndarray:
        shape = np.clip(shape, -LARGEST_LOG, LARGEST_LOG)
        of_total = (weight @ _tail(shape, j) - total) / total_spread
        return np.concatenate([(_tail(shape, at) - count) / spread, [of_total], pull * (shape - start)[1:]])

    def slopes(shape: np.ndarray, start: np.ndarray) -> np.ndarray:
        shape = np.clip(shape, -LARGEST_LOG, LARGEST_LOG)
        of_total = weight @ _slopes(shape, j) / total_spread
        return np.concatenate([_slopes(shape, at) / spread[:, None], [of_total], anchors])

    found = []
    # Least squares may end in the nearer of two valleys.
    for scale, power in STARTS:
        start = np.log([np.clip(count[0], 1, nodes), scale, power])
        found.append(_least_squares(misses, start, slopes, method="lm", max_nfev=ITERATIONS, args=(start,)))
    fitted: np.ndarray = np.clip(min(found, key=lambda one: one.cost).x, -LARGEST_LOG, LARGEST_LOG)
    return fitted


def _nodes_of_sum(cap: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose places j and weights whose weighted sum of a smooth function is nearly its sum over 1..cap.

    All of 1..64, then runs that grow with j, each standing for its middle.
    """
    # Small degrees one by one: there the curve bends most.
    edges = np.arange(1, min(cap, 64) + 2).astype(np.float64)
    if cap > 64:
        count = int(np.ceil(16 * np.log2(cap / 64))) + 1
        far = np.unique(np.rint(np.geomspace(65, cap + 1, count + 1)))
        edges = np.concatenate([edges[:-1], far])
    return (edges[:-1] + edges[1:] - 1) / 2, np.diff(edges)


def sequence(tail: np.ndarray, nodes: int) -> np.ndarray:
    """List degrees in descending order, float64 (nodes,). Rank r has #{j: N(j) > r + 1/2} edges. O(nodes)."""
    # Rank r has j edges where N(j) > r + 1/2: as many ranks as ceil(N(j) - 1/2).
    reached = np.clip(np.ceil(tail - 0.5), 0, nodes).astype(np.int64)  # nodes of degree >= j
    last = np.bincount(reached, minlength=nodes + 1)
    return np.cumsum(last[::-1])[::-1][1:].astype(np.float64)


def to_total(degrees: np.ndarray, total: float, cap: float) -> np.ndarray:
    """Scale degrees above one so that they sum to ``total``.

    What ``degrees`` exceed one by is scaled; none is above ``cap``. Where even the first edges are too many,
    those are scaled. What the cap leaves over goes to the other nodes that have an edge, then to all.
    """
    result: np.ndarray = np.minimum(degrees, min(cap, 1.0))
    firsts, excess = result, degrees - result
    if (whole := result.sum()) >= total:
        scaled: np.ndarray = result * (total / whole if whole > 0 else 0.0)
        return scaled
    for mass in (excess, firsts, np.ones(len(degrees))):
        if mass.any():
            result = result + fill(mass, cap - result, total - result.sum())
    return result

"""Kernels over edges that expect and sample bins.

They sum how many of each bin the weights let expect, and sample bins by them. An edge's weight of a bin is
the product of its source's, its target's, its pair of classes' and its period's. Nodes have a factor for each
bin, (nodes, bins); or, where bins have scores, whole numbers within SCORE of 0, one number each, (nodes, 1):
their factor of a bin is that number to the power of its score.

``ends``: (source, target, step) of the edges, the last empty without time. ``where``: (class of each source,
class of each target, number of the latter, period of each step). ``factors``: (of sources, of targets, of
pairs, of periods). ``score`` int64 (bins,), from 0 on, SCORE for none; empty where values have no order.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.values.bins import SCORE
from core.methods._shared.values.scored import powers

Where = tuple[np.ndarray, np.ndarray, int, np.ndarray]
"""Classes of sources and of targets, the number of these, and the period of each step."""

MOST_LEAN = 0.9
"""How much more or less likely a bin becomes by what nodes are owed of it."""


@kernel(inline="always")
def _places(
    ends: tuple[np.ndarray, ...],
    where: Where,
    edge: int,
) -> tuple[int, int, int, int]:
    """Return an edge's nodes, pair of classes and period."""
    u, v = ends[0][edge], ends[1][edge]
    pair = where[0][u] * where[2] + where[1][v]
    return u, v, pair, where[3][ends[2][edge]] if ends[2].size else 0


@kernel(fastmath=True, inline="always")
def _weigh(
    u: int,
    v: int,
    pair: int,
    period: int,
    factors: tuple[np.ndarray, ...],
    score: np.ndarray,
    power: np.ndarray,
    weight: np.ndarray,
) -> float:
    """Write the weights of one edge, and return their sum."""
    of_source, of_target, of_pair, of_period = factors
    total = 0.0
    if score.size:
        # One number a node: powers are computed once and serve all bins of a score.
        powers(of_source[u, 0] * of_target[v, 0], power)
        for b in range(weight.size):
            weight[b] = power[score[b]] * of_pair[pair, b] * of_period[period, b]
    else:
        for b in range(weight.size):
            weight[b] = of_source[u, b] * of_target[v, b] * of_pair[pair, b] * of_period[period, b]
    for b in range(weight.size):
        total += weight[b]
    return total


@kernel(fastmath=True)
def expected_of_nodes(
    ends: tuple[np.ndarray, ...],
    where: Where,
    factors: tuple[np.ndarray, ...],
    score: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Sum expected numbers of each bin, by node.

    They are by source and by target, (nodes, bins) each; of values without order.
    """
    bins = factors[2].shape[1]
    sources, targets = np.zeros(factors[0].shape, np.float64), np.zeros(factors[1].shape, np.float64)
    weight, power = np.empty(bins, np.float64), np.empty(2 * SCORE + 1, np.float64)
    for edge in range(ends[0].size):
        u, v, pair, period = _places(ends, where, edge)
        total = _weigh(u, v, pair, period, factors, score, power, weight)
        if total > 0.0:
            part = 1.0 / total
            for b in range(bins):
                sources[u, b] += weight[b] * part
                targets[v, b] += weight[b] * part
    return sources, targets


@kernel(fastmath=True)
def expected_of(
    by_pair: bool,
    ends: tuple[np.ndarray, ...],
    where: Where,
    factors: tuple[np.ndarray, ...],
    score: np.ndarray,
    stride: int,
) -> np.ndarray:
    """Sum expected numbers of each bin, by group.

    Groups are pairs of classes, else periods; it takes every ``stride``-th edge; (groups, bins).
    """
    bins = factors[2].shape[1]
    found = np.zeros(factors[2].shape if by_pair else factors[3].shape, np.float64)
    weight, power = np.empty(bins, np.float64), np.empty(2 * SCORE + 1, np.float64)
    for edge in range(0, ends[0].size, stride):
        u, v, pair, period = _places(ends, where, edge)
        total = _weigh(u, v, pair, period, factors, score, power, weight)
        if total > 0.0:
            row, part = pair if by_pair else period, 1.0 / total
            for b in range(bins):
                found[row, b] += weight[b] * part
    return found


@kernel(fastmath=True)
def chosen(
    ends: tuple[np.ndarray, ...],
    where: Where,
    factors: tuple[np.ndarray, ...],
    score: np.ndarray,
    owed: tuple[np.ndarray, np.ndarray],
    uniform: np.ndarray,
) -> np.ndarray:
    """Sample one bin for each edge, by its weights.

    ``uniform`` is in [0, 1).

    ``owed``: (of sources, of targets), (nodes, bins) each: how many edges more of a bin a node should have so
    far, on the average, than it has; kept up to date. An edge leans towards what both its nodes are owed, so
    that nodes have what is expected of them nearly, and not by chance.
    """
    bins = factors[2].shape[1]
    found = np.zeros(ends[0].size, np.int32)
    weight, power = np.empty(bins, np.float64), np.empty(2 * SCORE + 1, np.float64)
    lean = np.empty(bins, np.float64)
    for edge in range(ends[0].size):
        u, v, pair, period = _places(ends, where, edge)
        total = _weigh(u, v, pair, period, factors, score, power, weight)
        part, mean, total = 1.0 / total if total > 0.0 else 0.0, 0.0, 0.0
        for b in range(bins):
            weight[b] *= part
            lean[b] = np.float64(owed[0][u, b]) + np.float64(owed[1][v, b])
            mean += weight[b] * lean[b]
        for b in range(bins):
            # What is expected is owed; what is sampled is taken off below. A node ends near what it is to
            # have.
            owed[0][u, b] += weight[b]
            owed[1][v, b] += weight[b]
            # Centred, so that weights still add up to one unless a lean is cut off; ``total`` makes up for
            # that.
            weight[b] *= 1.0 + min(max(lean[b] - mean, -MOST_LEAN), MOST_LEAN)
            total += weight[b]
        left, last = uniform[edge] * total, 0
        for b in range(bins):
            if weight[b] > 0.0:
                # The last bin that is possible, should rounding leave something of ``left``.
                last = b
                if left < weight[b]:
                    break
                left -= weight[b]
        owed[0][u, last] -= 1.0
        owed[1][v, last] -= 1.0
        found[edge] = last
    return found

"""Kernels over edges whose values have scores: what a node's edges are on the average, and bins drawn.

An edge's weight of a bin is a number of its source's times one of its target's, to the power of the bin's
score, times the factors of its pair of classes and its period. Scores are whole numbers within SCORE of 0, so
that few powers serve all bins.

``ends``: (source, target, step), the last empty without time. ``rows``: (of sources, of targets), (nodes, 4)
each. ``where``: (number of target classes, period of each step, number of periods). ``by_score`` (pairs *
periods, 2 SCORE + 1): factors of pair and period, all bins of a score together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from core.generators._shared.values.bins import SCORE

BATCH = 128
"""Edges whose nodes are looked up one after another, before anything is computed: rows far apart arrive
together."""
FACTOR, CLASS, MEAN, SQUARE = range(4)
"""Columns of a node of a relation whose values have scores: one row for each, as rows are far apart."""


@njit(cache=True, nogil=True, fastmath=True, inline="always")
def powers(ratio, power):
    """Write the powers of a number from -SCORE to SCORE, by doubling."""
    known, step = 1, ratio
    power[0] = 1.0
    while known < SCORE:
        for k in range(known):
            power[known + k] = power[k] * step
        known, step = 2 * known, step * step
    for k in range(SCORE):  # from here on the number to the power of SCORE is known: ``step``
        power[SCORE + k] = power[k] * step
    power[2 * SCORE] = step * step
    back = 1.0 / step
    for k in range(2 * SCORE + 1):
        power[k] *= back


@njit(cache=True, nogil=True)
def _looked_up(first, size, ends, rows, where, ratio, at):
    """Write the product of both ends' factors, and the row of pair and period, of a batch of edges."""
    (sources, targets), (classes, period_of, periods), timed = rows, where, ends[2].size > 0
    for i in range(size):
        u, v = ends[0][first + i], ends[1][first + i]
        ratio[i] = sources[u, FACTOR] * targets[v, FACTOR]
        at[i] = np.int64(sources[u, CLASS]) * classes + np.int64(targets[v, CLASS])
        at[i] = at[i] * periods + (period_of[ends[2][first + i]] if timed else 0)


@njit(cache=True, nogil=True, fastmath=True)
def add_scores(ends, rows, where, by_score):
    """Add to every node's row what its edges' scores are on the average, and their squares.

    MEAN and SQUARE of ``rows`` are added to.
    """
    sources, targets = rows
    power = np.empty(2 * SCORE + 1, np.float64)
    ratio, at = np.empty(BATCH, np.float64), np.empty(BATCH, np.int64)
    for first in range(0, ends[0].size, BATCH):
        size = min(BATCH, ends[0].size - first)
        _looked_up(first, size, ends, rows, where, ratio, at)
        for i in range(size):
            powers(ratio[i], power)
            total, mean, square = 0.0, 0.0, 0.0
            for k in range(2 * SCORE + 1):
                weight, away = by_score[at[i], k] * power[k], np.float64(k - SCORE)
                total += weight
                mean += weight * away
                square += weight * (away * away)
            if total > 0.0:
                u, v, part = ends[0][first + i], ends[1][first + i], 1.0 / total
                sources[u, MEAN] += mean * part
                sources[u, SQUARE] += square * part
                targets[v, MEAN] += mean * part
                targets[v, SQUARE] += square * part


@njit(cache=True, nogil=True, fastmath=True)
def chosen_by_score(ends, rows, where, by_score, inside, score, uniform):
    """One bin for each edge: a score by the edge's weights, then one of its bins by ``inside`` (pairs *
    periods, bins), the factors of pair and period. ``uniform`` in [0, 1)."""
    found, power = np.zeros(ends[0].size, np.int32), np.empty(2 * SCORE + 1, np.float64)
    ratio, place = np.empty(BATCH, np.float64), np.empty(BATCH, np.int64)
    for first in range(0, ends[0].size, BATCH):
        size = min(BATCH, ends[0].size - first)
        _looked_up(first, size, ends, rows, where, ratio, place)
        for i in range(size):
            at, total = place[i], 0.0
            powers(ratio[i], power)
            for k in range(2 * SCORE + 1):
                power[k] *= by_score[at, k]
                total += power[k]
            left, last = uniform[first + i] * total, SCORE
            for k in range(2 * SCORE + 1):
                if power[k] > 0.0:
                    last = k
                    if left < power[k]:
                        break
                    left -= power[k]
            share = min(max(left / power[last], 0.0), 1.0) if power[last] > 0.0 else 0.0
            left = share * by_score[at, last]
            for b in range(score.size):
                if score[b] == last and inside[at, b] > 0.0:
                    found[first + i] = b
                    if left < inside[at, b]:
                        break
                    left -= inside[at, b]
    return found

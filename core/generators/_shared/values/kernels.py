"""Kernels over edges: how many of each bin the weights let expect, and bins drawn by them.

An edge's weight of a bin is the product of its source's, its target's, its pair of classes' and its
period's. ``places`` (4, edges): which source, target, pair and period.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def expected(places, of_source, of_target, of_pair, of_period):
    """Expected numbers of each bin: (sources, bins), (targets, bins), (pairs, bins), (periods, bins)."""
    bins = of_source.shape[1]
    sources = np.zeros(of_source.shape, np.float64)
    targets = np.zeros(of_target.shape, np.float64)
    pairs = np.zeros(of_pair.shape, np.float64)
    periods = np.zeros(of_period.shape, np.float64)
    weight = np.empty(bins, np.float64)
    for edge in range(places.shape[1]):
        u, v, p, t = places[0, edge], places[1, edge], places[2, edge], places[3, edge]
        total = 0.0
        for b in range(bins):
            weight[b] = of_source[u, b] * of_target[v, b] * of_pair[p, b] * of_period[t, b]
            total += weight[b]
        if total <= 0.0:
            continue
        for b in range(bins):
            share = weight[b] / total
            sources[u, b] += share
            targets[v, b] += share
            pairs[p, b] += share
            periods[t, b] += share
    return sources, targets, pairs, periods


@njit(cache=True, nogil=True)
def chosen(places, of_source, of_target, of_pair, of_period, uniform):
    """One bin for each edge, by its weights; ``uniform`` in [0, 1)."""
    bins = of_source.shape[1]
    found = np.zeros(places.shape[1], np.int64)
    weight = np.empty(bins, np.float64)
    for edge in range(places.shape[1]):
        u, v, p, t = places[0, edge], places[1, edge], places[2, edge], places[3, edge]
        total = 0.0
        for b in range(bins):
            weight[b] = of_source[u, b] * of_target[v, b] * of_pair[p, b] * of_period[t, b]
            total += weight[b]
        left = uniform[edge] * total
        last = 0
        for b in range(bins):
            if weight[b] > 0.0:
                last = b
                if left < weight[b]:
                    break
                left -= weight[b]
        found[edge] = last
    return found

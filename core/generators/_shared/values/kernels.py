"""Kernels over edges: how many of each bin the weights let expect, and bins drawn by them.

An edge's weight of a bin is the product of its source's, its target's, its pair of classes' and its
period's. ``places`` (4, edges): which source, target, pair and period.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _weigh(places, edge, of_source, of_target, of_pair, of_period, weight):
    """Write the weights of one edge, and return their sum."""
    source, target = of_source[places[0, edge]], of_target[places[1, edge]]
    pair, period = of_pair[places[2, edge]], of_period[places[3, edge]]
    for b in range(weight.size):
        weight[b] = source[b] * target[b] * pair[b] * period[b]
    total = 0.0
    for b in range(weight.size):
        total += weight[b]
    return total


@njit(cache=True, nogil=True)
def expected_of_nodes(places, of_source, of_target, of_pair, of_period):
    """Expected numbers of each bin, by source and by target: (sources, bins), (targets, bins)."""
    sources = np.zeros(of_source.shape, np.float64)
    targets = np.zeros(of_target.shape, np.float64)
    weight = np.empty(of_source.shape[1], np.float64)
    for edge in range(places.shape[1]):
        total = _weigh(places, edge, of_source, of_target, of_pair, of_period, weight)
        if total > 0.0:
            u, v, part = places[0, edge], places[1, edge], 1.0 / total
            for b in range(weight.size):
                sources[u, b] += weight[b] * part
                targets[v, b] += weight[b] * part
    return sources, targets


@njit(cache=True, nogil=True)
def expected_of(kind, groups, places, of_source, of_target, of_pair, of_period):
    """Expected numbers of each bin by pair of classes (``kind`` 2) or period (3); (groups, bins)."""
    found = np.zeros((groups, of_source.shape[1]), np.float64)
    weight = np.empty(of_source.shape[1], np.float64)
    for edge in range(places.shape[1]):
        total = _weigh(places, edge, of_source, of_target, of_pair, of_period, weight)
        if total > 0.0:
            row, part = places[kind, edge], 1.0 / total
            for b in range(weight.size):
                found[row, b] += weight[b] * part
    return found


@njit(cache=True, nogil=True)
def chosen(places, of_source, of_target, of_pair, of_period, uniform):
    """One bin for each edge, by its weights; ``uniform`` in [0, 1)."""
    bins = of_source.shape[1]
    found = np.zeros(places.shape[1], np.int64)
    weight = np.empty(bins, np.float64)
    for edge in range(places.shape[1]):
        total = _weigh(places, edge, of_source, of_target, of_pair, of_period, weight)
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

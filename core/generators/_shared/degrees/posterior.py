"""The compiled part of :mod:`core.generators._shared.degrees.fitted`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def means(noisy, scale, grid, prior, seen, share, variance, spread):
    """The posterior mean over ``grid`` for each entry of ``noisy``; float64.

    Log weight of degree d: prior, -|noisy - d| / scale, and where ``variance`` is finite the normal log
    density of ``seen`` around share * d with variance + d share (1 - share) + (spread (1 - share) d)^2.
    """
    found = np.empty(noisy.size)
    log_weight = np.empty(grid.size)
    finite = math.isfinite(variance)
    for i in range(noisy.size):
        best = -math.inf
        for j in range(grid.size):
            d = grid[j]
            weight = prior[j] - abs(noisy[i] - d) / scale
            if finite:
                part = share[i]
                hidden = spread * (1 - part) * d
                room = variance + d * part * (1 - part) + hidden * hidden
                off = seen[i] - part * d
                weight -= 0.5 * (off * off / room + math.log(room))
            log_weight[j] = weight
            best = max(best, weight)
        total, mean = 0.0, 0.0
        for j in range(grid.size):
            gap = log_weight[j] - best
            if gap > -40:
                weight = math.exp(gap)
                total += weight
                mean += weight * grid[j]
        found[i] = mean / total
    return found

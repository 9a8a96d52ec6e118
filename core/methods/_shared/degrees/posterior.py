"""The compiled part of :mod:`core.methods._shared.degrees.fitted`."""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel


@kernel
def means(
    noisy: np.ndarray,
    scale: float,
    grid: np.ndarray,
    prior: np.ndarray,
    seen: np.ndarray,
    share: np.ndarray,
    variance: float,
    spread: float,
) -> np.ndarray:
    """Compute the posterior mean over ``grid`` of each noisy entry.

    The entries are ``noisy``'s; float64. Log weight of degree d: prior, -|noisy - d| / scale, and where
    ``variance`` is finite the normal log density of ``seen`` around share * d with variance + d share (1 -
    share) + (spread (1 - share) d)^2. ``share`` has few distinct values: what depends only on it and d is
    computed once for each in a row.
    """
    found = np.empty(noisy.size)
    log_weight = np.empty(grid.size)
    tightness, own = np.empty(grid.size), prior.copy()
    finite, last = math.isfinite(variance), -1.0
    for i in range(noisy.size):
        best, part = -math.inf, share[i]
        if finite and part != last:
            last = part
            for j in range(grid.size):
                hidden = spread * (1 - part) * grid[j]
                room = variance + grid[j] * part * (1 - part) + hidden * hidden
                tightness[j] = 0.5 / room
                own[j] = prior[j] - 0.5 * math.log(room)
        for j in range(grid.size):
            weight = own[j] - abs(noisy[i] - grid[j]) / scale
            if finite:
                off = seen[i] - part * grid[j]
                weight -= off * off * tightness[j]
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

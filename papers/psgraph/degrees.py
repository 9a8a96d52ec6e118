"""A degree sequence from very noisy degrees.

They say little about single nodes: a heavy-tailed law, then ranks. Where the noise is larger than the mean
degree, keeping what is positive (NormSub) makes hubs out of noise, and deconvolution by itself cannot tell
which of very different laws is right. Here the law starts as a curve with two parameters, N(j) = n a (1 + (j
- 1) / s)^(-alpha) nodes of degree j or more, whose mean is set by the paid-for number of edges: the
likelihood of the noisy degrees chooses s and alpha, with a pull to usual values. A few rounds of
expectation-maximisation then bend the curve where the data insist. Reads noisy values only.
"""

from __future__ import annotations

import math

import numpy as np

from core.methods._shared.degrees.fitted import DegreeLaw, fitted_degrees
from core.methods._shared.degrees.tails import Ends, Tails, law_with_tails
from core.privacy.entropy import Generator as Rng

SCALES = np.geomspace(0.3, 300, 16)
EXPONENTS = np.array([0.8, 1.1, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 6.0])
USUAL = ((2.0, 1.8), (10.0, 4.0))  # (s, alpha): a heavy tail and a light one
PULL = 30.0  # log likelihood per squared difference of logarithms; the exponent's counts four times
ROUNDS = 10  # more would follow the noise
SINGLES, SPACED = 100, 150  # degrees told apart, and groups of the larger ones
MAX_BINS = 4096
FLOOR = 1e-300


def deconvolved(noisy: np.ndarray, variance: float, rng: Rng) -> np.ndarray:
    """Fit every node's degree by the shared deconvolution; float64 (n,). For noise below the mean degree."""
    return fitted_degrees(np.rint(noisy).astype(np.int64), _nano_epsilon(variance), rng)


def with_tails(noisy: np.ndarray, variance: float, tails: Tails, ends: Ends, rng: Rng) -> np.ndarray:
    """Fit every node's degree with tail counts and edges.

    The law explains these too; float64 (n,).

    ``variance``: of the noise in each of ``noisy``.
    """
    whole = np.rint(noisy).astype(np.int64)
    law = law_with_tails(whole, math.sqrt(variance / 2), tails, ends) if len(whole) else None
    return fitted_degrees(whole, _nano_epsilon(variance), rng, law=law)


def _nano_epsilon(variance: float) -> int:
    """Return what degrees of this noise would cost, had they been read once."""
    return max(1, min(int(2e9 / max(math.sqrt(variance / 2), 1e-9)), 2**62))


def heavy_tailed(noisy: np.ndarray, variance: float, edges: int, rng: Rng) -> np.ndarray:
    """Fit a degree to every node, float64 (n,).

    It goes by the rank of ``noisy``; ties fall at random.

    ``variance``: of the noise in each value. ``edges``: the paid-for number. O(n log n + bins * grid).
    """
    nodes = len(noisy)
    if edges == 0 or nodes < 2:
        return np.zeros(nodes)
    law = _law(noisy, variance, 2 * edges / nodes)
    degrees = np.empty(nodes)
    degrees[np.lexsort((rng.random(nodes), noisy))] = law.quantiles(nodes)
    return degrees


def _law(noisy: np.ndarray, variance: float, mean: float) -> DegreeLaw:
    start = _grid(int(np.clip(np.rint(noisy.max()), 8, len(noisy) - 1)))
    grid = np.append((start[:-1] + start[1:] - 1) // 2, start[-1])
    values, counts = _histogram(noisy)
    # The noise of several steps is nearer to normal, but the wider tail of a Laplace law invents fewer hubs.
    far = np.abs(values[:, None] - grid[None, :]) / math.sqrt(variance / 2)
    kernel = np.exp(far.min(axis=1, keepdims=True) - far)
    curves, penalty = _curves(start, grid, mean)
    fit = counts @ np.log(np.maximum(kernel @ curves, FLOOR)) - penalty
    mass = curves[:, int(np.argmax(fit))]
    for _ in range(ROUNDS):
        mass = mass * ((counts / np.maximum(kernel @ mass, FLOOR)) @ kernel)
        mass /= mass.sum()
    return DegreeLaw(grid, mass)


def _curves(start: np.ndarray, grid: np.ndarray, mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute masses on the grid of every admissible curve with this mean, (g, c), and their penalties (c,).

    A curve is admissible while no more than all nodes have an edge. Of too dense a graph, the nearest one is.
    """
    scale, exponent = (each.ravel() for each in np.meshgrid(SCALES, EXPONENTS))
    reach = (1 + np.maximum(start - 1, 0)[:, None] / scale) ** -exponent
    mass = np.diff(-reach, axis=0, append=0.0)
    mass[0] = 0.0  # degree 0 gets what is left
    mass *= mean / (mass * grid[:, None]).sum(axis=0)
    active = mass.sum(axis=0)
    kept = active <= max(1.0, active.min())
    mass, active = mass[:, kept], active[kept]
    mass[0] = np.maximum(1 - active, 0.0)
    off = [np.log(scale / s) ** 2 + 4 * np.log(exponent / a) ** 2 for s, a in USUAL]
    return mass / mass.sum(axis=0), PULL * np.minimum(*off)[kept]


def _grid(last: int) -> np.ndarray:
    """List the smallest degree of each group, up to ``last``: 0, 1, 2, ... and then by ratio; int64."""
    spaced = np.geomspace(SINGLES, max(last, SINGLES), SPACED)
    points = np.concatenate([np.arange(SINGLES), np.rint(spaced).astype(np.int64)])
    return np.unique(np.append(points[points < last], last))


def _histogram(noisy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the nodes of each rounded value; in bins of equal width where values are many."""
    low, high = np.rint(noisy.min()), np.rint(noisy.max())
    width = max(1.0, math.ceil((high - low + 1) / MAX_BINS))
    bins, counts = np.unique((np.rint(noisy) - low) // width, return_counts=True)
    return low + bins * width + (width - 1) / 2, counts

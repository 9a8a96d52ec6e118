"""What a node's edges tend to carry: noisy sums drawn towards what nodes of like degree have.

Post-processing of noisy sums and drawn degrees.
"""

from __future__ import annotations

import numpy as np

DEGREE_CLASSES = 6
MOST_ALIKE = 0.95
"""Of what of a value's variance its node may explain."""


def by_degree(degrees: np.ndarray, classes: int) -> np.ndarray:
    """Divide the nodes by degree into ``classes`` at most, of like numbers of edge ends; int64 from 0 on."""
    return by_mass(degrees.astype(np.float64), degrees, np.zeros(len(degrees), dtype=np.int64), classes)


def by_mass(values: np.ndarray, degrees: np.ndarray, groups: np.ndarray, parts: int) -> np.ndarray:
    """Divide each of ``groups`` by ``values``, into ``parts`` of like numbers of edge ends; equal values stay
    together. int64, numbered from 0 over all groups.
    """
    order = np.lexsort((values, groups))
    mass = np.maximum(degrees[order], 1e-9).astype(np.float64)
    before = np.cumsum(mass) - mass / 2
    size = np.bincount(groups, weights=np.maximum(degrees, 1e-9))
    start = np.cumsum(size) - size
    place = (before - start[groups[order]]) / size[groups[order]]
    part = np.clip((place * parts).astype(np.int64), 0, parts - 1)
    ranked = values[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(ranked) != 0) | (np.diff(groups[order]) != 0)
    part = part[np.flatnonzero(new)][np.cumsum(new) - 1]
    found = np.empty(len(order), dtype=np.int64)
    found[order] = groups[order] * parts + part
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def node_rates(
    sums: np.ndarray, degrees: np.ndarray, mean: np.ndarray, spread: np.ndarray, noise: float
) -> np.ndarray:
    """Estimate every node's mean of each column; float64 (n, columns).

    ``sums`` (n, columns): of its edges, with noise of variance ``noise`` in each entry; ``degrees`` (n,);
    ``mean``, ``spread`` (columns,): of one edge, and its variance. The best linear estimate, where nodes
    differ by one share of that variance, which the sums tell. O(n columns).
    """
    d = np.maximum(degrees.astype(np.float64), 0)[:, None]
    prior = _of_like_degree(sums, degrees, mean, noise)
    spread = np.maximum(spread, 1e-12)[None, :]
    whole, noises = float(spread.sum()), noise * sums.shape[1]
    weight = (d > 0) / (noises + d * whole) ** 2  # one for all columns: a rare value's tells nothing
    beyond = weight * (((sums - d * prior) ** 2).sum(axis=1, keepdims=True) - d * whole - noises)
    if (scale := float((weight * d * np.maximum(d - 1, 0) * whole).sum())) <= 0:
        return prior
    alike = float(np.clip(beyond.sum() / scale, 0, MOST_ALIKE))
    told = alike * spread * d * d
    heed = told / np.maximum(told + (1 - alike) * spread * d + noise, 1e-300)
    return prior + heed * (sums / np.maximum(d, 1) - prior)


def _of_like_degree(sums: np.ndarray, degrees: np.ndarray, mean: np.ndarray, noise: float) -> np.ndarray:
    """What nodes of like degree have on average; less of it, the less it stands out from noise."""
    group = by_degree(degrees, DEGREE_CLASSES)
    ends = np.bincount(group, weights=degrees)
    nodes = np.bincount(group)
    known = np.maximum(ends, 1)
    found = np.stack([np.bincount(group, weights=column) for column in sums.T], axis=1) / known[:, None]
    away = found - mean
    variance = sums.shape[1] * noise * nodes / known**2
    heed = np.maximum(0, 1 - variance / np.maximum((away**2).sum(axis=1), 1e-300))
    return (mean + heed[:, None] * away)[group]

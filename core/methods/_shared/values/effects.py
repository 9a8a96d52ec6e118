"""What a node's edges tend to carry.

Noisy sums are shrunk towards what nodes of like degree have. Post-processing of noisy sums and sampled
degrees.
"""

from __future__ import annotations

import numpy as np

from core.graphs.columns.key_sort import sorted_keys
from core.kernels.decorator import kernel
from core.methods._shared.values.memory import Nodes

DEGREE_CLASSES = 6
MOST_ALIKE = 0.95
"""Of what of a value's variance its node may explain."""


def by_degree(degrees: np.ndarray, classes: int) -> np.ndarray:
    """Divide the nodes by degree into ``classes`` at most.

    These have like numbers of edge ends; int64 from 0 on.
    """
    return by_mass(degrees.astype(np.float64), degrees, np.zeros(len(degrees), dtype=np.int64), classes)


def by_mass(values: np.ndarray, degrees: np.ndarray, groups: np.ndarray, parts: int) -> np.ndarray:
    """Divide each of ``groups`` by ``values``, into ``parts``.

    They have like numbers of edge ends; values that are equal in single precision stay together. int64,
    numbered from 0 over all groups. O(n), of 2^28 nodes and 16 groups at most.
    """
    mass = np.maximum(degrees, 1e-9).astype(np.float64)
    size = np.bincount(groups, weights=mass)
    found = _parts(_in_order(values, groups), mass, size, parts)
    used = np.bincount(found) > 0
    ranks: np.ndarray = (np.cumsum(used) - 1)[found]
    return ranks


_INDEX_BITS, _VALUE_BITS = 28, 32


def _in_order(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sort nodes by group, then value: packed keys of group, value and node."""
    single = (values + 0.0).astype(np.float32)  # -0 is 0
    # The bits of floats sort as whole numbers do, but negative ones backwards: these are turned.
    bits = single.view(np.int32).astype(np.int64)
    ascending = np.where(bits < 0, -1 - (bits & 0x7FFFFFFF), bits) + (1 << (_VALUE_BITS - 1))
    # 4 bits of group, 32 of value, 28 of node: one sort of one array of words.
    keys = groups.astype(np.uint64) << np.uint64(_INDEX_BITS + _VALUE_BITS)
    keys |= ascending.astype(np.uint64) << np.uint64(_INDEX_BITS)
    keys |= np.arange(len(keys), dtype=np.uint64)
    return sorted_keys(keys)


@kernel
def _parts(keys: np.ndarray, mass: np.ndarray, size: np.ndarray, parts: int) -> np.ndarray:
    """Number the part of every node: of a run of equal values that of its first one's middle; int64."""
    found = np.empty(keys.size, np.int64)
    group, value, before = np.int64(-1), np.int64(-1), 0.0
    part = np.int64(0)
    for key in keys:
        node = np.int64(key & np.uint64((1 << _INDEX_BITS) - 1))
        own = np.int64(key >> np.uint64(_INDEX_BITS))
        if own >> _VALUE_BITS != group:
            group, before, value = own >> _VALUE_BITS, 0.0, np.int64(-1)
        if own != value:
            value = own
            # By the middle of its mass, so that a heavy node at a border goes where most of it lies.
            part = min(np.int64((before + mass[node] / 2) / size[group] * parts), np.int64(parts - 1))
        found[node] = group * parts + part
        before += mass[node]
    return found


def node_rates(own: Nodes, ends: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Estimate every node's mean of each column; float64 (n, columns).

    ``ends`` (n,): of its edges, as far as they count, which may be known better than only from sampled ones.
    ``mean``, ``spread`` (columns,): of one edge, and its variance. The best linear estimate, where nodes
    differ by one share of that variance, which the sums tell. O(n columns).
    """
    sums, noise = own.sums, own.noise[:, None]
    d = np.maximum(ends.astype(np.float64), 0)[:, None]
    # Edges may count for less than one: what chance does to a row is that of so many whole ones.
    part = np.divide(own.chance, own.ends, out=np.ones(len(d)), where=own.ends > 0)[:, None]
    chance = part * d
    prior = _of_like_degree(own, ends, mean)
    spread = np.maximum(spread, 1e-12)[None, :]
    whole, noises = float(spread.sum()), noise * sums.shape[1]
    # What chance and noise give to the sum of a row's squares.
    unsure = noises + chance * whole
    weight = np.divide(part, unsure, out=np.zeros_like(unsure), where=(d > 0) & (unsure > 0)) ** 2
    # One for all columns: a rare value's tells nothing.
    beyond = weight * (((sums - d * prior) ** 2).sum(axis=1, keepdims=True) - chance * whole - noises)
    scale = float((weight * np.maximum(d**2 - chance, 0) * whole).sum())
    if scale <= 0:
        return prior
    # How much of squared distances neither chance nor noise explains, of what they would be if nodes
    # explained all.
    alike = float(np.clip(beyond.sum() / scale, 0, MOST_ALIKE))
    signal = alike * spread * d * d
    # The best linear estimate: the signal's variance over that of signal, chance and noise.
    heed = signal / np.maximum(signal + (1 - alike) * spread * chance + noise, 1e-300)
    rates: np.ndarray = prior + heed * (sums / np.where(d > 0, d, 1.0) - prior)
    return rates


def _of_like_degree(own: Nodes, degrees: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """What nodes of like degree have on average; less of it, the less it stands out from noise."""
    group = by_degree(degrees, DEGREE_CLASSES)
    ends = np.bincount(group, weights=degrees)
    known = np.where(ends > 0, ends, 1.0)
    found = np.stack([np.bincount(group, weights=column) for column in own.sums.T], axis=1) / known[:, None]
    away = found - mean
    variance = own.sums.shape[1] * np.bincount(group, weights=own.noise) / known**2
    # James and Stein, the positive part: what stands out from noise is heeded, of no more than is there.
    heed = np.maximum(0, 1 - variance / np.maximum((away**2).sum(axis=1), 1e-300))
    means: np.ndarray = (mean + heed[:, None] * away)[group]
    return means

"""Pairs of nodes as integers. Keys, the place of a pair among all, and pairs at random."""

from __future__ import annotations

import numpy as np

from core.privacy.entropy import Generator as Rng

DENSE = 4
"""All pairs are listed where more than one in so many of them is asked for."""


def pack(u: np.ndarray, v: np.ndarray, nodes: int) -> np.ndarray:
    """Pack undirected pairs into keys ``low * nodes + high``; int64."""
    keys: np.ndarray = np.minimum(u, v) * np.int64(nodes) + np.maximum(u, v)
    return keys


def triangle(rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs a > b >= 0 by rank.

    The order is (1,0), (2,0), (2,1), ...: a is the triangular root of the rank.
    """
    a = ((1 + np.sqrt(1 + 8 * rank.astype(np.float64))) // 2).astype(np.int64)
    # The root in doubles may be off by one for large ranks: put right in whole numbers.
    a -= (a * (a - 1) // 2 > rank).astype(np.int64)
    a += (a * (a + 1) // 2 <= rank).astype(np.int64)
    return a, rank - a * (a - 1) // 2


def top_up(keys: np.ndarray, nodes: int, edges: int, rng: Rng) -> np.ndarray:
    """Fill up to ``edges`` sorted keys, or all pairs if fewer.

    What is missing is uniform over free pairs. Where noise leaves weight on a handful of nodes, their blocks
    are full long before the paid-for number of edges is met. ``keys``: sorted, distinct. O(m log m).
    """
    pairs = nodes * (nodes - 1) // 2
    wanted = min(edges, pairs)
    if wanted > len(keys) and edges * DENSE > pairs:
        every = pack(*triangle(np.arange(pairs)), nodes)
        free = every[~np.isin(every, keys, assume_unique=True)]
        first = np.argsort(rng.standard_exponential(len(free)), kind="stable")[: wanted - len(keys)]
        return np.sort(np.concatenate([keys, free[first]]))
    # By weights of one each, not by integers: what a seed gives stays as it was.
    until = np.cumsum(np.full(nodes, 1 / max(nodes, 1)))
    while (missing := wanted - len(keys)) > 0:  # a pair is free with probability three quarters
        u, v = (
            np.minimum(np.searchsorted(until, rng.random(missing) * until[-1], side="right"), nodes - 1)
            for _ in range(2)
        )
        fresh = np.unique(pack(u, v, nodes)[u != v])
        if len(keys):
            fresh = fresh[keys[np.minimum(np.searchsorted(keys, fresh), len(keys) - 1)] != fresh]
        keys = np.concatenate([keys, fresh])
        keys.sort(kind="stable")  # two sorted runs: merged in linear time
    return keys

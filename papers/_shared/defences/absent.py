"""Pairs that are no links, at random."""

from __future__ import annotations

import numpy as np

from core.methods._shared.matching.pairs import triangle
from core.privacy.entropy import Generator as Rng


def room(nodes: int) -> int:
    """Count the undirected pairs."""
    return nodes * (nodes - 1) // 2


def absent_pairs(taken: np.ndarray, nodes: int, wanted: int, rng: Rng) -> np.ndarray:
    """Sample ``wanted`` distinct pairs that are not in ``taken``.

    They are uniform among all such; sorted int64 keys.

    ``taken`` are sorted keys ``low * nodes + high``. Fewer where the graph has no room for more. Expected
    O((wanted + taken) log taken): of a graph that is half full or more every pair is looked at.
    """
    free = room(nodes) - len(taken)
    wanted = min(wanted, free)
    if 2 * (wanted + len(taken)) > room(nodes):
        rank = np.arange(room(nodes))
        high, low = triangle(rank)
        keys = np.setdiff1d(low * nodes + high, taken, assume_unique=True)
        return np.sort(keys[rng.permutation(len(keys))[:wanted]])
    found = np.empty(0, dtype=np.int64)
    while len(found) < wanted:  # a pair is free with probability one half at least
        missing = wanted - len(found)
        high, low = triangle(rng.integers(0, room(nodes), 2 * missing + 16))
        keys = np.setdiff1d(low * nodes + high, taken)
        fresh = np.setdiff1d(keys, found, assume_unique=True)
        found = np.union1d(found, fresh[rng.permutation(len(fresh))[:missing]])
    return found

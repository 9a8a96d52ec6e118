"""Compiled kernels that link pairs inside affinity blocks.

They belong to :mod:`papers.comparators.dgg.draw`.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.ends import key_of
from core.privacy.entropy import Generator


@kernel
def linked_pairs(
    order: np.ndarray, starts: np.ndarray, density: float, nodes: int, rng: Generator
) -> np.ndarray:
    """Link pairs inside blocks with probability ``density``.

    It is every pair of nodes of one block; uint64 keys, block by block.

    ``order``: nodes, block after block; ``starts``: where each block begins. O(pairs) time; eight bytes for
    each key, and for as many more as their number may exceed what is expected.
    """
    pairs = 0
    for block in range(starts.size):
        size = (starts[block + 1] if block + 1 < starts.size else order.size) - starts[block]
        pairs += size * (size - 1) // 2
    keys = np.empty(_room(pairs, density), np.uint64)
    found = 0
    for block in range(starts.size):
        stop = starts[block + 1] if block + 1 < starts.size else order.size
        for i in range(starts[block], stop):
            for j in range(starts[block], i):
                if rng.random() >= density:
                    continue
                if found == keys.size:
                    longer = np.empty(2 * found + 1, np.uint64)
                    longer[:found] = keys
                    keys = longer
                keys[found] = np.uint64(key_of(order[i], order[j], nodes))
                found += 1
    return keys[:found]


@kernel
def _room(pairs: int, density: float) -> int:
    """As many places as the number of linked pairs exceeds once in a billion draws."""
    mean = pairs * density
    return min(pairs, int(mean + 6.0 * np.sqrt(mean + 1.0)) + 1)

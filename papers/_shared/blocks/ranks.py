"""Places of pairs in rectangles, and distinct places at random."""

from __future__ import annotations

import numpy as np

from core.privacy.entropy import Generator as Rng


def rectangle(rank: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pair (row, column) of every rank, row by row. A rank is a place in a rectangle."""
    return rank // np.maximum(columns, 1), rank % np.maximum(columns, 1)


def distinct(wanted: np.ndarray, room: np.ndarray, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Sample ``wanted[i]`` distinct ranks below ``room[i]`` for every block.

    They are uniform: (block, rank), by block. In blocks more than half full, the ranks that are left out are
    sampled. O(wanted log wanted).
    """
    crowded = 2 * wanted > room
    few = np.where(crowded, room - wanted, wanted)
    offset = np.cumsum(room) - room
    found = np.empty(0, dtype=np.int64)
    missing = few.copy()
    while missing.any():  # a rank is free with probability one half at least: about log2(m) rounds
        block = np.repeat(np.arange(len(room)), missing)
        # Ranks of all blocks on one line, so that one sort serves all blocks.
        fresh = offset[block] + rng.integers(0, room[block])
        found = np.unique(np.concatenate([found, fresh]))
        block = np.searchsorted(offset + room, found, side="right")
        missing = few - np.bincount(block, minlength=len(room))
    block = np.searchsorted(offset + room, found, side="right")
    sparse = found[~crowded[block]]
    full = np.flatnonzero(crowded)
    size = room[full]
    # All ranks of crowded blocks, of which those that were sampled are left out.
    every = np.arange(size.sum()) + np.repeat(offset[full] - (np.cumsum(size) - size), size)
    keys = np.sort(np.concatenate([sparse, np.setdiff1d(every, found, assume_unique=True)]))
    block = np.searchsorted(offset + room, keys, side="right")
    return block, keys - offset[block]

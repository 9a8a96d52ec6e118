"""Embeddings of what stands together in walks: skip-gram with negative sampling.

Mikolov et al., "Distributed representations of words and phrases and their compositionality" (NeurIPS 2013).
"""

from __future__ import annotations

import numpy as np

from core.learning.skip_gram_kernels import train
from core.privacy.entropy import public_generator

FIRST_RATE, LAST_RATE = 0.025, 0.0001
"""Steps shrink from the first to the last one evenly."""
SMOOTHING = 0.75
"""Negatives are drawn in proportion to this power of how often a number occurs."""
TABLE_PLACES = 2**20
"""Of the table that negatives are looked up in."""


def skip_gram(
    rows: np.ndarray, count: int, *, dimensions: int, window: int, negatives: int, epochs: int, seed: int
) -> np.ndarray:
    """Train float32 vectors of the numbers 0..count-1. They are (count, dimensions); those in no walk get
    zeros.

    ``rows`` (walks, length) integers, padded at their ends with -1. One thread: skip-gram's updates race
    otherwise. Same seed, same vectors. O(values of rows * window * negatives * dimensions).
    """
    lengths = (rows >= 0).sum(axis=1)
    occurs = np.bincount(rows[rows >= 0], minlength=count)
    if not occurs.any():
        return np.zeros((count, dimensions), dtype=np.float32)
    rng = public_generator(seed)
    inner = (rng.random((count, dimensions), dtype=np.float32) - np.float32(0.5)) / np.float32(dimensions)
    inner[occurs == 0] = 0
    # The law of negatives as a table of places, so that a kernel draws by one look.
    share = np.cumsum(occurs**SMOOTHING)
    places = (np.arange(TABLE_PLACES) + 0.5) / TABLE_PLACES * share[-1]
    drawn = np.searchsorted(share, places).astype(np.int64)
    state = rng.integers(0, 2**64, 1, dtype=np.uint64)
    rates = np.linspace(FIRST_RATE, LAST_RATE, epochs * len(rows), dtype=np.float32)
    train(rows.astype(np.int64), lengths, inner, drawn, rates, (window, negatives), state)
    return inner

"""Embeddings of what stands together in walks: skip-gram with negative sampling.

Mikolov et al., "Distributed representations of words and phrases and their compositionality" (NeurIPS 2013).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class _Sentences:
    """Walks as lists of numbers, without their padding; iterated anew for each pass."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.lengths = (rows >= 0).sum(axis=1)

    def __iter__(self) -> Iterator[list[int]]:
        for row, length in zip(self.rows, self.lengths, strict=True):
            yield row[:length].tolist()


def skip_gram(
    rows: np.ndarray, count: int, *, dimensions: int, window: int, negatives: int, epochs: int, seed: int
) -> np.ndarray:
    """Train (count, dimensions) float32 vectors of the numbers 0..count-1; those in no walk get zeros.

    ``rows`` (walks, length) integers, padded at their ends with -1. One thread: skip-gram's updates race
    otherwise. Same seed, same vectors. O(values of rows * window * negatives * dimensions).
    """
    from gensim.models import Word2Vec

    model = Word2Vec(
        _Sentences(rows),
        vector_size=dimensions,
        window=window,
        min_count=1,
        sg=1,
        negative=negatives,
        epochs=epochs,
        workers=1,
        seed=seed,
        hashfxn=hash,  # of integers: the same in every process
    )
    embedding = np.zeros((count, dimensions), dtype=np.float32)
    embedding[model.wv.index_to_key] = model.wv.vectors
    return embedding

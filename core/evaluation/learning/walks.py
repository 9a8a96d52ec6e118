"""Biased second-order random walks over a CSR adjacency.

Source: Grover and Leskovec, "node2vec", KDD 2016.
"""

from __future__ import annotations

import numpy as np

from core.evaluation.view import UndirectedView
from core.kernels.decorator import kernel
from core.privacy.entropy import Generator


def walks(
    view: UndirectedView, starts: np.ndarray, length: int, p: float, q: float, rng: Generator
) -> np.ndarray:
    """Walk at most ``length`` nodes from each start.

    The result is (len(starts), length) int32, padded with -1. After the step t -> v the next node x of v's
    neighbours has weight 1/p for x = t, 1 for a neighbour of t, 1/q else (section 3.2.2). Sampled by
    rejection: a uniform neighbour is kept with its weight over the greatest, so that no table over pairs of
    links is needed. Expected O(log d) a step for p, q near 1.
    """
    adjacency = view.adjacency
    return _walk(
        adjacency.indptr.astype(np.int64),
        adjacency.indices.astype(np.int64),
        starts.astype(np.int64),
        length,
        1 / p,
        1 / q,
        rng,
    )


@kernel
def _walk(
    indptr: np.ndarray,
    indices: np.ndarray,
    starts: np.ndarray,
    length: int,
    back: float,
    away: float,
    rng: Generator,
) -> np.ndarray:
    out = np.full((len(starts), length), -1, dtype=np.int32)
    most = max(1.0, back, away)
    for walk in range(len(starts)):
        before, here = -1, starts[walk]
        out[walk, 0] = here
        for place in range(1, length):
            low, degree = indptr[here], indptr[here + 1] - indptr[here]
            if degree == 0:
                break
            follow = indices[low + rng.integers(0, degree)]
            # Rejection: kept with its weight over the greatest one.
            while before >= 0 and rng.random() * most >= _weight(indptr, indices, before, follow, back, away):
                follow = indices[low + rng.integers(0, degree)]
            before, here = here, follow
            out[walk, place] = here
    return out


@kernel
def _weight(
    indptr: np.ndarray, indices: np.ndarray, before: int, follow: int, back: float, away: float
) -> float:
    if follow == before:
        return back
    low, high = indptr[before], indptr[before + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < follow:
            low = middle + 1
        else:
            high = middle
    return 1.0 if low < end and indices[low] == follow else away

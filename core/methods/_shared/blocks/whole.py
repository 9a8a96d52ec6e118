"""Whole numbers of edges between labels that exhaust edge ends. Reads noisy values only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.privacy.entropy import Generator as Rng

SCALINGS = 50
EVERYWHERE = 1e-6  # share of edges that fall anywhere, so that a label without counts finds partners


@dataclass(frozen=True)
class Blocks:
    """Non-empty blocks (i, j), i <= j, and their numbers of edges. The columns are int64."""

    row: np.ndarray
    column: np.ndarray
    edges: np.ndarray


def upper_triangle(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of each cell i <= j. Row by row as in ``group_matrix``; int32. O(count^2)."""
    sizes = np.arange(count, 0, -1)
    row = np.repeat(np.arange(count, dtype=np.int32), sizes)
    column = np.arange(len(row), dtype=np.int32) - np.repeat(
        (np.cumsum(sizes) - count).astype(np.int32), sizes
    )
    return row, column


def whole_blocks(counts: np.ndarray, labels: np.ndarray, degrees: np.ndarray, rng: Rng) -> Blocks:
    """Round ``counts`` to blocks that use up all edge ends.

    They are whole numbers of edges between labels, nearly in proportion to ``counts``. Every label's ends
    (the sum of its nodes' ``degrees``, whose total is even) are met exactly: iterative proportional fitting,
    rounding at random, and what is odd or too much put right. O(n + k^2).
    """
    groups = int((math.isqrt(8 * len(counts) + 1) - 1) // 2)
    ends = np.bincount(labels, weights=degrees, minlength=groups).astype(np.int64)
    row, column = (side.astype(np.int64) for side in upper_triangle(groups))
    square = np.zeros((groups, groups))
    square[row, column] = counts
    square = square + square.T  # edge ends: an edge inside a label has two of them there
    square += EVERYWHERE * np.outer(ends, ends) / max(int(ends.sum()), 1)
    factor = np.ones(groups)
    for _ in range(SCALINGS):
        # The root of the plain step: of a symmetric matrix that one goes to and fro without end.
        factor = np.sqrt(factor * ends / np.maximum(square @ factor, np.finfo(float).tiny))
    off = row < column
    whole = np.zeros((groups, groups), dtype=np.int64)
    fitted = (square * np.outer(factor, factor))[row[off], column[off]]
    # Up or down at random by the fraction, so that no cell is biased.
    whole[row[off], column[off]] = np.floor(fitted + rng.random(len(fitted)))
    whole += whole.T
    for i in range(groups):
        # Rounding up may ask for more ends than a label has: taken where most are, as it matters least there.
        while (excess := int(whole[i].sum() - ends[i])) > 0:
            j = int(whole[i].argmax())
            less = min(int(whole[i, j]), excess)
            whole[i, j] -= less
            whole[j, i] -= less
    odd = np.flatnonzero((ends - whole.sum(axis=1)) % 2)  # an even number of labels, as the total is even
    whole[odd[::2], odd[1::2]] += 1
    whole[odd[1::2], odd[::2]] += 1
    diagonal = np.arange(groups)
    # What is left is inside the label, two ends for each edge.
    whole[diagonal, diagonal] = (ends - whole.sum(axis=1)) // 2
    return Blocks(row, column, whole[row, column])

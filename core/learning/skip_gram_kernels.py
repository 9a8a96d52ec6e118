"""The compiled part of :mod:`core.learning.skip_gram`."""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel

GOLDEN, MIX_ONE, MIX_TWO = (
    np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
STEEPEST = 6.0
"""Where a score says this clearly what is so, the step is left out."""


@kernel(inline="always")
def _next(state: np.ndarray) -> np.int64:
    """Draw 32 bits by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): nothing that is kept secret."""
    state[0] += GOLDEN
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * MIX_ONE
    word = (word ^ (word >> np.uint64(27))) * MIX_TWO
    return np.int64((word ^ (word >> np.uint64(31))) >> np.uint64(32))


@kernel(fastmath=True)
def _step(vector: np.ndarray, other: np.ndarray, change: np.ndarray, wanted: int, rate: float) -> None:
    """Move ``other`` towards ``vector`` or away, and note in ``change`` how the vector is to move."""
    score = np.float32(0)
    for k in range(vector.size):
        score += vector[k] * other[k]
    if score > STEEPEST or score < -STEEPEST:
        return
    step = np.float32(rate * (wanted - 1 / (1 + math.exp(-score))))
    for k in range(vector.size):
        change[k] += step * other[k]
        other[k] += step * vector[k]


@kernel
def train(
    rows: np.ndarray,
    lengths: np.ndarray,
    inner: np.ndarray,
    drawn: np.ndarray,
    rates: np.ndarray,
    chances: tuple[int, int],
    state: np.ndarray,
) -> None:
    """Train ``inner`` in place. It takes a walk and a rate at a time, over all walks again until the rates
    end.

    ``drawn``: a table whose places hold numbers as often as they are to be negatives. ``chances``: (window,
    negatives). Of each place the window is cut at random, so that what is near counts more.
    """
    window, negatives = chances
    outer = np.zeros_like(inner)
    change = np.empty(inner.shape[1], inner.dtype)
    for turn in range(rates.size):
        row, rate = turn % len(rows), rates[turn]
        for i in range(lengths[row]):
            here = rows[row, i]
            reach = 1 + _next(state) % window
            first, last = max(np.int64(0), i - reach), min(np.int64(lengths[row]), i + reach + 1)
            for j in range(first, last):
                if j == i:
                    continue
                vector = inner[rows[row, j]]
                change[:] = 0
                _step(vector, outer[here], change, 1, rate)
                for _ in range(negatives):
                    other = drawn[_next(state) % drawn.size]
                    if other != here:
                        _step(vector, outer[other], change, 0, rate)
                # After all of them: negatives are moved by the vector as it was.
                for k in range(change.size):
                    vector[k] += change[k]

"""The compiled sets of columns, one for each row.

A part of :mod:`core.methods._shared.relations.static`. A row's set S has log weight sum of (offset[column] +
ratio where the row marks the column) over S, plus ``weights[size of S]``. With independent coins of these
odds, the number of chosen columns has a law that is computed column by column (Poisson-binomial); given the
number, columns are decided from the last to the first.
"""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel
from core.privacy.entropy import Generator

_LEAST = 1e-300


@kernel
def _forward(
    row: int,
    marked: np.ndarray,
    offset: np.ndarray,
    ratio: float,
    loop: bool,
    chance: np.ndarray,
    table: np.ndarray,
) -> None:
    """Fill ``chance`` (columns,), the coin of each, and ``table[j, k]``: k of the first j succeed; the last
    entry of a row holds exactly that many too, and what is beyond is left out."""
    columns, most = offset.size, table.shape[1] - 1
    table[0, :] = 0.0
    table[0, 0] = 1.0
    for j in range(columns):
        chance[j] = 0.0
        # A node of a directed relation inside one type has no column of its own.
        if not (loop and j == row):
            chance[j] = 1 / (1 + math.exp(-(offset[j] + ratio * marked[row, j])))
        p = chance[j]
        # Poisson-binomial, one coin after the other.
        table[j + 1, 0] = table[j, 0] * (1 - p)
        for k in range(1, most + 1):
            table[j + 1, k] = table[j, k] * (1 - p) + table[j, k - 1] * p


@kernel
def _sizes(table: np.ndarray, weights: np.ndarray, law: np.ndarray) -> None:
    """Fill ``law``, that of a row's number of columns; where no number is possible, it is none."""
    columns, most, best = table.shape[0] - 1, table.shape[1] - 1, -math.inf
    for k in range(most + 1):
        law[k] = -math.inf
        # A number that coins never reach is impossible, whatever weight it has.
        if table[columns, k] > _LEAST:
            law[k] = weights[k] + math.log(table[columns, k])
            best = max(best, law[k])
    total = 0.0
    for k in range(most + 1):
        # Relative to the likeliest, so that not all underflow.
        law[k] = math.exp(law[k] - best) if best > -math.inf else (1.0 if k == 0 else 0.0)
        total += law[k]
    for k in range(most + 1):
        law[k] /= total


@kernel
def expected(
    marked: np.ndarray, offset: np.ndarray, ratio: float, weights: np.ndarray, loop: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Compute each column's expected rows, and summed variances.

    They are how many rows should hold it; float64 (columns,).
    """
    rows, columns = marked.shape
    most = weights.size - 1
    table, chance, law = np.empty((columns + 1, most + 1)), np.empty(columns), np.empty(most + 1)
    mean, variance = np.zeros(columns), np.zeros(columns)
    for row in range(rows):
        _forward(row, marked, offset, ratio, loop, chance, table)
        _sizes(table, weights, law)
        for j in range(columns - 1, -1, -1):
            held = 0.0
            for k in range(most + 1):  # ascending: law[k - 1] has passed on what belongs to column j
                if law[k] == 0.0 or k == 0:
                    continue
                # P(column j is in | k of the first j + 1 are) by Bayes, from the forward table.
                part = law[k] * chance[j] * table[j, k - 1] / max(table[j + 1, k], _LEAST)
                held += part
                law[k] -= part
                law[k - 1] += part
            mean[j] += held
            # Of one coin; rows are independent given the offsets, so that their variances add.
            variance[j] += held * (1 - held)
    return mean, variance


@kernel
def size_laws(
    marked: np.ndarray, offset: np.ndarray, ratio: float, weights: np.ndarray, loop: bool
) -> np.ndarray:
    """Compute each row's distribution of its number of columns. It is float64 (rows, len(weights))."""
    rows, columns = marked.shape
    table, chance = np.empty((columns + 1, weights.size)), np.empty(columns)
    laws = np.empty((rows, weights.size))
    for row in range(rows):
        _forward(row, marked, offset, ratio, loop, chance, table)
        _sizes(table, weights, laws[row])
    return laws


@kernel
def drawn(
    marked: np.ndarray, offset: np.ndarray, ratio: float, sizes: np.ndarray, loop: bool, rng: Generator
) -> np.ndarray:
    """Sample ``sizes[row]`` columns for each row, by its law.

    The result is bool (rows, columns). Where a row has no set of its size, it gets a smaller one.
    """
    rows, columns = marked.shape
    table, chance = np.empty((columns + 1, sizes.max() + 1)), np.empty(columns)
    chosen = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        _forward(row, marked, offset, ratio, loop, chance, table)
        left = sizes[row]
        for j in range(columns - 1, -1, -1):
            if left == 0:
                break
            # From the last column on: P(column j is in | ``left`` of the first j + 1 are).
            part = chance[j] * table[j, left - 1] / max(table[j + 1, left], _LEAST)
            if rng.random() < part:
                chosen[row, j] = True
                left -= 1
    return chosen

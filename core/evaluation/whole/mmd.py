"""THEPUFF's maximum mean discrepancy (Eqs. 18-20), as its published figures are computed.

MMD^2(x, y) = mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean_{i, j} k(x_i, y_j)

with k(a, b) = exp(-4 ((a - b)^2 + 1e-5)). Unbiased: it may be negative, and two equal samples do not score 0.
The kernel sees nothing beyond a difference of about 1: on counts it asks whether they are equal.
"""

from __future__ import annotations

import numpy as np

ALPHA = 4.0
OFFSET = 1e-5
# exp(-4 * 14^2) is below the smallest positive double, so whole numbers further apart add nothing.
REACH = 13


def _kernel(difference: np.ndarray | float) -> np.ndarray:
    return np.exp(-ALPHA * (np.square(difference) + OFFSET))


def squared_mmd(x: np.ndarray, y: np.ndarray) -> float | None:
    """Compute the squared MMD of two short samples.

    They are of any numbers; None below two values. O(|x| |y|).
    """
    if len(x) < 2 or len(y) < 2:
        return None
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return _within(x) + _within(y) - 2 * float(_kernel(x[:, None] - y[None, :]).mean())


def _within(x: np.ndarray) -> float:
    n = len(x)
    # Without pairs of a value with itself.
    total = float(_kernel(x[:, None] - x[None, :]).sum()) - n * float(_kernel(0.0))
    return total / (n * (n - 1))


def squared_mmd_of_counts(x: np.ndarray, y: np.ndarray) -> float | None:
    """Compute the squared MMD of two samples of counts.

    They are whole numbers: ``x[d]`` values of the first are d. None below two values. O(largest value),
    whatever the size of the samples.
    """
    n, m = int(x.sum()), int(y.sum())
    if n < 2 or m < 2:
        return None
    length = max(len(x), len(y))
    a, b = np.zeros(length), np.zeros(length)
    a[: len(x)], b[: len(y)] = x, y
    own = float(_kernel(0.0))
    within_x = (_cross(a, a) - n * own) / (n * (n - 1))
    within_y = (_cross(b, b) - m * own) / (m * (m - 1))
    return within_x + within_y - 2 * _cross(a, b) / (n * m)


def _cross(a: np.ndarray, b: np.ndarray) -> float:
    total = float(_kernel(0.0)) * float(a @ b)
    # Either may be the larger.
    for lag in range(1, min(REACH, len(a) - 1) + 1):
        total += float(_kernel(float(lag))) * float(a[lag:] @ b[:-lag] + a[:-lag] @ b[lag:])
    return total

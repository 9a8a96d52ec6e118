"""Noisy degree vectors made consistent, and whole numbers from them. All of it is post-processing."""

from __future__ import annotations

import numpy as np

from core.privacy.entropy import Generator as Rng

BISECTIONS = 64  # past the last bit of any shift


def to_total(values: np.ndarray, total: int, most: np.ndarray | int | None = None) -> np.ndarray:
    """``values`` shifted and cut to 0..``most`` (n - 1 unless given) that sum to ``total``; float64 (n,).

    The one shift s with sum clip(values - s, 0, most) = total, which is at most the sum of ``most``: the
    projection onto such vectors of that sum (NormSub with a ceiling). By bisection, O(n).
    """
    values = np.asarray(values, dtype=np.float64)
    ceiling = np.broadcast_to(np.asarray(len(values) - 1 if most is None else most), values.shape)
    low, high = float((values - ceiling).min(initial=0)), float(values.max(initial=0))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if np.clip(values - middle, 0, ceiling).sum() >= total:
            low = middle
        else:
            high = middle
    return np.clip(values - (low + high) / 2, 0, ceiling)


def integers(mass: np.ndarray, rng: Rng) -> np.ndarray:
    """Integers of expectation ``mass`` that sum to its rounded sum: systematic sampling; int64."""
    steps = np.cumsum(mass)
    last, total = steps[-1:], np.rint(steps[-1:])
    # Whole totals stay whole; the ladder stays monotone, and what has no mass gets nothing.
    steps = np.where(steps == last, total, np.minimum(steps, total))
    return np.diff(np.floor(steps + max(rng.random(), 1e-9)).astype(np.int64), prepend=0)

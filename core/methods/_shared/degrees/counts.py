"""Noisy counts, and vectors made consistent and whole.

A count is what many methods pay for first. All but :func:`noisy_count` is post-processing.
"""

from __future__ import annotations

import numpy as np

from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng
from core.privacy.session.counted import CountedCell

BISECTIONS = 64  # past the last bit of any shift


def noisy_count(cell: CountedCell, nano_epsilon: int, decides: float | None = None) -> int:
    """Count the cell's edges with discrete Laplace noise.

    The result lies within 0..slots.

    Sensitivity: 1. Unit: one edge of the cell. Costs ``nano_epsilon``; the limits are public.
    ``decides``: as of ``laplace``.
    """
    noisy = cell.laplace("edge_count", nano_epsilon=nano_epsilon, purpose="edge count", decides=decides)
    return int(np.clip(noisy[0], 0, cell.shape.slots))


def summed_variance(numbers: int, nano_epsilon: int, multiplicity: int) -> float:
    """Compute the variance of an edge count from summed counts.

    It is of a sum of so many counts; of degrees, half their sum.

    ``multiplicity``: edges that a unit may have in the cell.
    """
    return 2 * numbers * (multiplicity * NANO / nano_epsilon) ** 2


def to_total(values: np.ndarray, total: float, most: np.ndarray | float | None = None) -> np.ndarray:
    """Shift and cut ``values`` to 0..``most`` with sum ``total``.

    ``most`` is n - 1 unless given; float64 (n,). The one shift s with sum clip(values - s, 0, most) = total,
    which is at most the sum of ``most``: the projection onto such vectors of that sum (NormSub with a
    ceiling). By bisection, O(n).
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


def fill(mass: np.ndarray, room: np.ndarray, total: int) -> np.ndarray:
    """Rescale ``mass`` to sum to ``total``, no entry above ``room``.

    What is cut goes to the others; float64 (n,). Where only full blocks carry mass, the sum stays below
    ``total``. Without any mass the room itself is the mass: a uniform graph.
    """
    if mass.sum() <= 0:
        mass = room.astype(np.float64)
    result = np.zeros(len(mass))
    for _ in range(32):
        free = (result < room) & (mass > 0)
        left = total - result.sum()
        if left < 0.5 or not free.any():
            break
        share = np.where(free, mass, 0.0)
        result = np.minimum(result + share * (left / share.sum()), room)
    return result


def integers(mass: np.ndarray, rng: Rng) -> np.ndarray:
    """Round ``mass`` to integers of that expectation.

    They sum to its rounded sum: systematic sampling; int64.
    """
    steps = np.cumsum(mass)
    last, total = steps[-1:], np.rint(steps[-1:])
    # Whole totals stay whole; the ladder stays monotone, and what has no mass gets nothing.
    steps = np.where(steps == last, total, np.minimum(steps, total))
    return np.diff(np.floor(steps + max(rng.random(), 1e-9)).astype(np.int64), prepend=0)

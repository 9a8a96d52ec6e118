"""Counts of edges by what they carry, compiled. They take one pass over the edges, and no table of their
size."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel(inline="always")
def _many(labels: np.ndarray) -> int:
    """How many labels there are, numbered from 0; one of no nodes."""
    return labels.max() + 1 if labels.size else 1


@kernel
def by_group(
    groups: np.ndarray, ends: np.ndarray, labels: np.ndarray, bins: np.ndarray, count: int
) -> np.ndarray:
    """Count edges by group of their end and bin. The end is a node or a step, and the bin counts by its
    label; (groups * count,).

    ``groups``: of every end that there may be, from 0 on; ``labels``: of every bin, below ``count``.
    """
    found = np.zeros((groups.max() + 1 if groups.size else 0) * count, np.int64)
    for edge in range(ends.size):
        found[groups[ends[edge]] * count + labels[bins[edge]]] += 1
    return found


@kernel
def by_pair(
    classes: tuple[np.ndarray, np.ndarray],
    ends: tuple[np.ndarray, np.ndarray],
    labels: np.ndarray,
    bins: np.ndarray,
    count: int,
    smaller_first: bool,
) -> np.ndarray:
    """Count edges by classes of ends and bin. Both ends have a class, the bin its label; (classes * classes *
    count,).

    ``smaller_first``: an edge counts where the smaller class comes first, whichever end has it.
    """
    second = _many(classes[1])
    found = np.zeros(_many(classes[0]) * second * count, np.int64)
    for edge in range(ends[0].size):
        a, b = classes[0][ends[0][edge]], classes[1][ends[1][edge]]
        if smaller_first and a > b:
            a, b = b, a
        found[(a * second + b) * count + labels[bins[edge]]] += 1
    return found

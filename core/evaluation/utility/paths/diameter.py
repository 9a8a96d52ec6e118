"""The exact diameter, without all pairs.

The method is iterated fringe upper bounds (Crescenzi et al. 2013).
"""

from __future__ import annotations

import numpy as np

from core.evaluation.utility.paths import _kernels
from core.evaluation.utility.paths.layout import Layout, Search

# Rounds of looking for a central root; two searches each.
ROUNDS = 4


def diameter(layout: Layout, work: int) -> int | None:
    """Compute the largest distance within any component.

    None where ``work`` edge visits do not settle it. All components at once: the nodes farthest from their
    component's central root search first. When every node at depth i or more has searched, what is left lies
    within 2 (i - 1). A few searches settle a small-world graph; O(n m) at worst, which ``work`` cuts off.
    """
    depth, largest = _central(layout)
    search = Search(layout)
    for level in range(int(depth.max()), 0, -1):
        if 2 * level <= largest:
            break
        for batch in search.batches(np.flatnonzero(depth == level)):
            if search.work > work:
                return None
            largest = max(largest, search.run(*batch)[0])
    return largest


def _central(layout: Layout) -> tuple[np.ndarray, int]:
    """Search from central roots: every node's distance to its component's best one, and the largest seen.

    The hub first; then, as in a double sweep, whoever is nearest to the far ends met so far.
    """
    starts, sizes = layout.bounds[:-1], layout.sizes
    numbers = np.arange(layout.node_count)

    def searched(roots: np.ndarray) -> np.ndarray:
        return _kernels.levels(layout.start, layout.columns, roots)

    def first(holds: np.ndarray) -> np.ndarray:
        return np.minimum.reduceat(np.where(holds, numbers, len(numbers)), starts)

    best = searched(starts)
    best_deepest = deepest = np.maximum.reduceat(best, starts)
    far = first(best == np.repeat(deepest, sizes))
    at_least = searched(far)  # of every node's eccentricity
    far = first(at_least == np.repeat(np.maximum.reduceat(at_least, starts), sizes))
    largest = 0
    for _ in range(ROUNDS):
        at_least = np.maximum(at_least, searched(far))
        largest = max(largest, int(at_least.max()))
        if 2 * int(best_deepest.max()) <= largest:
            break
        depth = searched(first(at_least == np.repeat(np.minimum.reduceat(at_least, starts), sizes)))
        deepest = np.maximum.reduceat(depth, starts)
        far = first(depth == np.repeat(deepest, sizes))
        best = np.where(np.repeat(deepest < best_deepest, sizes), depth, best)
        best_deepest = np.minimum(deepest, best_deepest)
    return best, largest

"""The kernel that keeps edges of the step before."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def first_come(keys: np.ndarray, left: np.ndarray, wanted: int) -> np.ndarray:
    """Keep up to ``wanted`` edges in the order of ``keys``, while both their nodes have ends left; O(m).

    Keys are ``low * n + high``. ``left`` int64 (n,): ends; those that are taken go off it.
    """
    kept = np.empty(min(len(keys), wanted), np.int64)
    count, nodes = 0, len(left)
    for key in keys:
        if count == len(kept):
            break
        low, high = key // nodes, key % nodes
        if left[low] > 0 and left[high] > 0:
            left[low] -= 1
            left[high] -= 1
            kept[count] = key
            count += 1
    return kept[:count]

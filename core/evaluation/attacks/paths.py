"""The kernel that counts paths of three links. Brings numba: import it late."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def weighted_paths(
    start: np.ndarray, neighbour: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Sum weighted paths of three links between each pair.

    A path source - b - a - target weighs weight(b) weight(a); float64.

    They are paths source - b - a - target; float64.

    ``start`` and ``neighbour`` are a symmetric CSR adjacency, ``weight`` float64 by node. Paths visit no node
    twice. O(sum over b of degree(b) + degree(target)) a pair, O(n) memory.
    """
    near = np.zeros(len(start) - 1)
    sums = np.zeros(len(source))
    for i in range(len(source)):
        s, t = source[i], target[i]
        for place in range(start[t], start[t + 1]):
            near[neighbour[place]] = weight[neighbour[place]]
        near[s] = 0.0
        total = 0.0
        for first in range(start[s], start[s + 1]):
            b = neighbour[first]
            if b == t:
                continue
            through = 0.0
            for second in range(start[b], start[b + 1]):
                through += near[neighbour[second]]
            total += weight[b] * through
        sums[i] = total
        for place in range(start[t], start[t + 1]):
            near[neighbour[place]] = 0.0
    return sums

"""Triangles by the node types of their corners: the kernel."""

from __future__ import annotations

import numpy as np

from core.evaluation.utility._triangles import oriented
from core.kernels.decorator import kernel


@kernel
def by_types(
    node_count: int, u: np.ndarray, v: np.ndarray, rank: np.ndarray, kind: np.ndarray, kinds: int
) -> np.ndarray:
    """Count triangles by their corners' types.

    They are ``[a, b, c]``, a <= b <= c, int64.

    ``rank`` numbers the nodes by rising degree and ``kind`` is a node's type. Edges point from the lower rank
    to the higher; every triangle is met once, at its lowest corner. O(m * arboricity).
    """
    start, out = oriented(node_count, u, v, rank)
    kind_of_rank = np.empty(node_count, dtype=np.int64)
    for i in range(node_count):
        kind_of_rank[rank[i]] = kind[i]
    triangles = np.zeros((kinds, kinds, kinds), dtype=np.int64)
    owner = np.full(node_count, -1, dtype=np.int32)
    for x in range(node_count):
        for i in range(start[x], start[x + 1]):
            # Marked by its owner, so that nothing has to be cleared.
            owner[out[i]] = x
        for i in range(start[x], start[x + 1]):
            y = out[i]
            for j in range(start[y], start[y + 1]):
                z = out[j]
                if owner[z] == x:
                    a, b, c = kind_of_rank[x], kind_of_rank[y], kind_of_rank[z]
                    low, high = min(a, b, c), max(a, b, c)
                    # The middle type is what the sum leaves.
                    triangles[low, a + b + c - low - high, high] += 1
    return triangles

"""Triangles through every node. The kernel, and the orientation that triangle kernels walk."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def oriented(
    node_count: int, u: np.ndarray, v: np.ndarray, rank: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Point edges from lower rank x to higher.

    Returned is (start, out), x's in out[start[x]:start[x + 1]]. O(n + m).
    """
    start = np.zeros(node_count + 2, dtype=np.int64)
    for e in range(len(u)):
        # Counted two places on: filling moves each start to the end of its row, so that starts come out in
        # place.
        start[min(rank[u[e]], rank[v[e]]) + 2] += 1
    for i in range(2, node_count + 2):
        start[i] += start[i - 1]
    out = np.empty(len(u), dtype=np.int32)
    for e in range(len(u)):
        low, high = rank[u[e]], rank[v[e]]
        if low > high:
            low, high = high, low
        out[start[low + 1]] = high
        start[low + 1] += 1
    return start, out


@kernel
def through(node_count: int, u: np.ndarray, v: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Count triangles through every node, by rank.

    The result is int64; ``rank`` numbers the nodes by rising degree. Edges point from the lower rank to the
    higher, so no node has more than sqrt(2 m) out-neighbours; every triangle is met once, at its lowest node.
    O(m * arboricity).
    """
    start, out = oriented(node_count, u, v, rank)
    triangles = np.zeros(node_count, dtype=np.int64)
    owner = np.full(node_count, -1, dtype=np.int32)
    for a in range(node_count):
        first, last = start[a], start[a + 1]
        if last - first < 2:
            continue
        # Who is a neighbour of a: then each later step is one look.
        for i in range(first, last):
            owner[out[i]] = a
        for i in range(first, last):
            b = out[i]
            met = 0
            for j in range(start[b], start[b + 1]):
                c = out[j]
                if owner[c] == a:
                    met += 1
                    triangles[c] += 1
            triangles[b] += met
            triangles[a] += met
    return triangles

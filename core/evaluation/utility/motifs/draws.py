"""Compiled look-ups for sampled motifs."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def reverses(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Locate the reverse (v, u) of every entry (u, v).

    They are entries of a symmetric CSR with ascending columns. O(m).
    """
    places = np.empty(len(indices), np.int64)
    free = indptr[:-1].copy()
    for u in range(len(indptr) - 1):
        for p in range(indptr[u], indptr[u + 1]):
            # Rows are visited in order, so that u is the next column of each neighbour's row.
            places[p] = free[indices[p]]
            free[indices[p]] += 1
    return places


@kernel
def masks(indptr: np.ndarray, indices: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Mark the edges induced on every row as bits.

    Rows are those of ``nodes`` (samples, size); -1 where a node repeats.
    """
    samples, size = nodes.shape
    bits = np.zeros(samples, np.int64)
    for sample in range(samples):
        bit = 0
        for high in range(1, size):
            for low in range(high):
                u, v = nodes[sample, low], nodes[sample, high]
                if u == v:
                    bits[sample] = -1
                # The shorter of both rows is searched.
                if indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]:
                    u, v = v, u
                row = indices[indptr[u] : indptr[u + 1]]
                at = np.searchsorted(row, v)
                if at < len(row) and row[at] == v and bits[sample] >= 0:
                    bits[sample] |= 1 << bit
                bit += 1
    return bits

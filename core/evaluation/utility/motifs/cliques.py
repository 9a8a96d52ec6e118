"""Compiled clique kernels on bit rows.

These hold what all corners of a triangle are joined to. Arrays as in ``kernels``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from core.kernels.decorator import kernel

ONE = np.uint64(1)


def _ones(typingctx: Any, word: Any) -> tuple[Any, Any]:
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


def _lowest_bit(typingctx: Any, word: Any) -> tuple[Any, Any]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


# Machine instructions on a uint64: how many bits are set, and the index of the lowest one.
ones: Any = intrinsic(_ones)
lowest_bit: Any = intrinsic(_lowest_bit)


@kernel
def _fill(row: np.ndarray, place: np.ndarray, around: np.ndarray, other: np.ndarray) -> None:
    """Set the bits of the places in ``around`` of the nodes that ``other`` holds too; both ascend."""
    # A much longer row is searched; else it is read.
    if len(other) > 16 * len(around):
        for x in around:
            at = np.searchsorted(other, x)
            if at < len(other) and other[at] == x:
                row[place[x] >> 6] |= ONE << np.uint64(place[x] & 63)
    else:
        for x in other:
            if place[x] >= 0:
                row[place[x] >> 6] |= ONE << np.uint64(place[x] & 63)


@kernel
def triangle_sums(
    indptr: np.ndarray, indices: np.ndarray, out_ptr: np.ndarray, out: np.ndarray, on_edge: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sum over triangles, and count 4-cliques.

    Sums are by the lowest corner, counts on every edge and node. With t_e the triangles on an edge and c the
    nodes joined to all three corners: sum of t_e t_f over the pairs of sides (``gems``), of t_e times the
    opposite corner's degree (``kites``), of c(c-1)/2 (``near_cliques``). A bit row per higher neighbour v of
    u over all neighbours of u: at most 2m bits, as no v has a smaller degree than u.
    """
    n = len(out_ptr) - 1
    gems, kites, near_cliques = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    on_node, cliques = np.zeros(n, np.int64), np.zeros(len(out), np.int64)
    place = np.full(n, -1, np.int64)
    edge_to = np.full(n, -1, np.int64)
    for u in range(n):
        first, last = out_ptr[u], out_ptr[u + 1]
        if last - first < 2:
            continue
        around = indices[indptr[u] : indptr[u + 1]]
        for at in range(len(around)):
            place[around[at]] = at
        rows = np.zeros((last - first, (len(around) + 63) >> 6), np.uint64)
        for e in range(first, last):
            edge_to[out[e]] = e
            _fill(rows[e - first], place, around, indices[indptr[out[e]] : indptr[out[e] + 1]])
        for e in range(first, last):
            v = out[e]
            for f in range(out_ptr[v], out_ptr[v + 1]):
                w = out[f]
                g = edge_to[w]
                if g < 0:
                    continue
                c = 0
                for word in range(rows.shape[1]):
                    # Nodes that v and w are both joined to, among those of u: joined to all three.
                    c += ones(rows[e - first, word] & rows[g - first, word])
                near_cliques[u] += c * (c - 1) // 2
                cliques[e] += c
                cliques[f] += c
                cliques[g] += c
                on_node[u] += c
                on_node[v] += c
                on_node[w] += c
                a, b, d = on_edge[e], on_edge[f], on_edge[g]
                gems[u] += a * b + a * d + b * d
                kites[u] += (
                    a * (indptr[w + 1] - indptr[w])
                    + b * (indptr[u + 1] - indptr[u])
                    + d * (indptr[v + 1] - indptr[v])
                )
        for e in range(first, last):
            edge_to[out[e]] = -1
        for x in around:
            place[x] = -1
    # An edge of a 4-clique is in two of its triangles, a node in three.
    return gems, kites, near_cliques, cliques // 2, on_node // 3


@kernel
def five_cliques(out_ptr: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Count 5-cliques by their lowest node. Steps: 4-cliques times words of a row of higher neighbours."""
    n = len(out_ptr) - 1
    cliques = np.zeros(n, np.int64)
    place = np.full(n, -1, np.int64)
    for u in range(n):
        around = out[out_ptr[u] : out_ptr[u + 1]]
        if len(around) < 4:
            continue
        for at in range(len(around)):
            place[around[at]] = at
        words = (len(around) + 63) >> 6
        rows = np.zeros((len(around), words), np.uint64)
        both = np.empty(words, np.uint64)
        for at in range(len(around)):
            _fill(rows[at], place, around, out[out_ptr[around[at]] : out_ptr[around[at] + 1]])
        for v in range(len(around)):
            for w in range(v + 1, len(around)):
                if not rows[v, w >> 6] >> np.uint64(w & 63) & ONE:
                    continue
                # Rows hold higher neighbours only: words before that of w are empty.
                for word in range(w >> 6, words):
                    both[word] = rows[v, word] & rows[w, word]
                for word in range(w >> 6, words):
                    rest = both[word]
                    while rest:
                        x = (word << 6) + lowest_bit(rest)
                        # The lowest bit is cleared.
                        rest &= rest - ONE
                        for after in range(x >> 6, words):
                            cliques[u] += ones(both[after] & rows[x, after])
        for x in around:
            place[x] = -1
    return cliques

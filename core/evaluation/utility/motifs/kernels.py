"""Compiled kernels on a graph in degree order.

Its nodes are numbered by ascending degree. ``indptr, indices``: symmetric CSR, columns ascending. ``out_ptr,
out``: the same, higher-numbered neighbours only; an edge's id is its position in ``out``. A node has at most
sqrt(2m) of them (Chiba and Nishizeki, SIAM J. Comput. 1985), which keeps every kernel that walks them near m
times the arboricity. Results come as one int64 per node or edge, small enough under the bounds of ``exact``;
they are summed outside.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def edge_triangles(out_ptr: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count triangles on every edge and node.

    On nodes they are counted as the lowest, and as the highest, of the three.
    """
    n = len(out_ptr) - 1
    on_edge = np.zeros(len(out), np.int64)
    lowest, highest = np.zeros(n, np.int64), np.zeros(n, np.int64)
    edge_to = np.full(n, -1, np.int64)
    # Edges go from lower to higher numbers: each triangle is met once, from its lowest node.
    for u in range(n):
        for e in range(out_ptr[u], out_ptr[u + 1]):
            edge_to[out[e]] = e
        for e in range(out_ptr[u], out_ptr[u + 1]):
            v = out[e]
            for f in range(out_ptr[v], out_ptr[v + 1]):
                g = edge_to[out[f]]
                if g >= 0:
                    on_edge[e] += 1
                    on_edge[f] += 1
                    on_edge[g] += 1
                    lowest[u] += 1
                    highest[out[f]] += 1
        # Only what was marked is cleared: O(edges) over all nodes, and not O(n) for each.
        for e in range(out_ptr[u], out_ptr[u + 1]):
            edge_to[out[e]] = -1
    return on_edge, lowest, highest


@kernel
def four_cycles(indptr: np.ndarray, indices: np.ndarray, out_ptr: np.ndarray) -> tuple[np.ndarray, int]:
    """Count 4-cycles by their highest node. Returned too are the steps that :func:`five_walks` would take."""
    n = len(indptr) - 1
    cycles = np.zeros(n, np.int64)
    steps = 0
    seen = np.zeros(n, np.int32)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            if k >= i:
                break
            for q in range(indptr[k], indptr[k + 1]):
                j = indices[q]
                if j >= i:
                    break
                if seen[j] == 0:
                    steps += out_ptr[j + 1] - out_ptr[j]
                # Each earlier way from i to j closes a cycle with this one.
                cycles[i] += seen[j]
                seen[j] += 1
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            if k >= i:
                break
            for q in range(indptr[k], indptr[k + 1]):
                if indices[q] >= i:
                    break
                seen[indices[q]] = 0
    return cycles, steps


@kernel
def five_walks(indptr: np.ndarray, indices: np.ndarray, out_ptr: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Count closed walks of length 5 from every node.

    They are over lower-numbered nodes, one for both directions.
    """
    n = len(indptr) - 1
    closed = np.zeros(n, np.int64)
    paths = np.zeros(n, np.int64)
    reached = np.empty(n, np.int64)
    for i in range(n):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            # Neighbours ascend: all that follow are higher, too.
            if k >= i:
                break
            for q in range(indptr[k], indptr[k + 1]):
                j = indices[q]
                if j >= i:
                    break
                if paths[j] == 0:
                    reached[count] = j
                    count += 1
                paths[j] += 1
        total = 0
        # A walk i, k, j, l, m, i is two paths of length 2, to j and to l, and the edge between these.
        for r in range(count):
            j = reached[r]
            ends = 0
            for e in range(out_ptr[j], out_ptr[j + 1]):
                if out[e] >= i:
                    break
                ends += paths[out[e]]
            total += paths[j] * ends
        closed[i] = total
        for r in range(count):
            paths[reached[r]] = 0
    return closed


@kernel
def pair_rows(
    indptr: np.ndarray, indices: np.ndarray, out_ptr: np.ndarray, out: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum powers of common neighbours, per node and edge.

    Per node i over all j of c_ij^2 and c_ij^3, c = A^2; per edge (i, j) the entry of A^3.
    """
    n = len(indptr) - 1
    squares, cubes = np.zeros(n, np.int64), np.zeros(n, np.int64)
    walks = np.zeros(len(out), np.int64)
    common = np.zeros(n, np.int64)
    reached = np.empty(n, np.int64)
    for i in range(n):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            for q in range(indptr[k], indptr[k + 1]):
                j = indices[q]
                if common[j] == 0:
                    reached[count] = j
                    count += 1
                common[j] += 1
        for e in range(out_ptr[i], out_ptr[i + 1]):
            j = out[e]
            for q in range(indptr[j], indptr[j + 1]):
                # (A^3)_ij is the sum of (A^2)_iq over the neighbours q of j.
                walks[e] += common[indices[q]]
        for r in range(count):
            c = common[reached[r]]
            squares[i] += c * c
            cubes[i] += c * c * c
            common[reached[r]] = 0
    return squares, cubes, walks


@kernel
def triangle_lists(
    out_ptr: np.ndarray, out: np.ndarray, on_edge: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """List the common neighbours of every edge's ends, ascending.

    Returned are offsets, and one int32 array of 3T entries.
    """
    n = len(out_ptr) - 1
    start = np.zeros(len(out) + 1, np.int64)
    start[1:] = np.cumsum(on_edge)
    free = start[:-1].copy()
    third = np.empty(start[-1], np.int32)
    edge_to = np.full(n, -1, np.int64)
    for u in range(n):
        for e in range(out_ptr[u], out_ptr[u + 1]):
            edge_to[out[e]] = e
        for e in range(out_ptr[u], out_ptr[u + 1]):
            v = out[e]
            for f in range(out_ptr[v], out_ptr[v + 1]):
                g = edge_to[out[f]]
                if g >= 0:
                    # Of an edge those below both ends come first, then those between, then those above: they
                    # ascend.
                    third[free[e]] = out[f]
                    third[free[f]] = u
                    third[free[g]] = v
                    free[e] += 1
                    free[f] += 1
                    free[g] += 1
        for e in range(out_ptr[u], out_ptr[u + 1]):
            edge_to[out[e]] = -1
    return start, third


@kernel
def wheels(
    indptr: np.ndarray, indices: np.ndarray, edge_id: np.ndarray, start: np.ndarray, third: np.ndarray
) -> np.ndarray:
    """Count 4-cycles among every node's neighbours. Steps: about 2/3 of the sum of squared edge triangles."""
    n = len(indptr) - 1
    cycles = np.zeros(n, np.int64)
    edge_to = np.full(n, -1, np.int64)
    seen = np.zeros(n, np.int32)
    for a in range(n):
        for p in range(indptr[a], indptr[a + 1]):
            edge_to[indices[p]] = edge_id[p]
        total = 0
        for p in range(indptr[a], indptr[a + 1]):
            b = indices[p]
            e = edge_id[p]
            # A cycle b, c, d, c' is counted at its highest node b, for every c whose d an earlier c' has
            # seen.
            for s in range(start[e], start[e + 1]):
                if third[s] >= b:
                    break
                f = edge_to[third[s]]
                for r in range(start[f], start[f + 1]):
                    d = third[r]
                    if d >= b:
                        break
                    total += seen[d]
                    seen[d] += 1
            # The same steps again, to clear what was seen from b.
            for s in range(start[e], start[e + 1]):
                if third[s] >= b:
                    break
                f = edge_to[third[s]]
                for r in range(start[f], start[f + 1]):
                    if third[r] >= b:
                        break
                    seen[third[r]] = 0
        cycles[a] = total
        for p in range(indptr[a], indptr[a + 1]):
            edge_to[indices[p]] = -1
    return cycles


@kernel
def braced(
    indptr: np.ndarray,
    indices: np.ndarray,
    out_ptr: np.ndarray,
    out: np.ndarray,
    start: np.ndarray,
    third: np.ndarray,
) -> np.ndarray:
    """Sum c_ij per node i over edges among its neighbours.

    The edges are (x, y), and j > i is joined to both.
    """
    n = len(indptr) - 1
    sums = np.zeros(n, np.int64)
    common = np.zeros(n, np.int32)
    near = np.zeros(n, np.bool_)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            near[k] = True
            for q in range(indptr[k], indptr[k + 1]):
                common[indices[q]] += 1
        total = 0
        for p in range(indptr[i], indptr[i + 1]):
            x = indices[p]
            for e in range(out_ptr[x], out_ptr[x + 1]):
                if near[out[e]]:
                    # Third corners ascend, so that those above i stand at the end.
                    for s in range(start[e + 1] - 1, start[e] - 1, -1):
                        if third[s] <= i:
                            break
                        total += common[third[s]]
        sums[i] = total
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            near[k] = False
            for q in range(indptr[k], indptr[k + 1]):
                common[indices[q]] = 0
    return sums

"""The two numbers of a graph that the ladder mechanism needs, compiled. They are triangles and common
neighbours."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.privacy.mechanisms.threads import cut, on_threads

LEAST_ENTRIES = 2**18  # of rows, in a piece of the work


def triangles_and_common(source: np.ndarray, target: np.ndarray, nodes: int) -> tuple[np.ndarray, int]:
    """Count every node's triangles and most common neighbours. The latter are those of any two, linked or
    not.

    ``source`` and ``target``: the edges of a simple undirected graph, each in one direction. int64 (n,).
    Exact. Memory O(n + m). Triangles O(m^1.5). The most common neighbours by paths of length two, O(sum of
    degree squared) at worst; paths are walked only between nodes whose degrees exceed the most found so far,
    which on graphs with hubs leaves few of them.
    """
    start, others, order = rows_by_degree(source, target, nodes)
    found = np.empty(nodes, dtype=np.int64)
    found[order] = triangles_in_rows(start, others)
    return found, int(_most_common(start, others, nodes))


def triangles(source: np.ndarray, target: np.ndarray, nodes: int) -> int:
    """Count only the triangles."""
    # Each was counted at three nodes.
    return int(triangles_in_rows(*rows_by_degree(source, target, nodes)[:2]).sum()) // 3


def triangles_in_rows(start: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Count every node's triangles in the rows of :func:`rows_by_degree`. They stay in their order."""
    nodes = len(start) - 1

    def counted(low: int, high: int) -> np.ndarray:
        first, last = np.searchsorted(start, [low, high])  # as many edges in each piece
        return np.asarray(_triangles_of(start, others, nodes, min(first, nodes), min(last, nodes)))

    parts = on_threads(counted, cut(int(start[-1]), LEAST_ENTRIES))
    return np.asarray(parts[0] if len(parts) == 1 else np.sum(parts, axis=0))


def rows_by_degree(
    source: np.ndarray, target: np.ndarray, nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Renumber nodes by descending degree, and list neighbours. Returned are the rows of neighbours: where
    each begins, and all of them, sorted; and the old number of each node."""
    # The densest come first: a walk along a sorted row ends at the first node of too high a number.
    order = np.argsort(-degrees_of(source, target, nodes), kind="stable")
    rank = np.empty(nodes, dtype=np.int32)
    rank[order] = np.arange(nodes, dtype=np.int32)
    return *_rows(source, target, rank), order


@kernel
def degrees_of(source: np.ndarray, target: np.ndarray, nodes: int) -> np.ndarray:
    """Count the edges of every node; int64 (n,). No copies are made."""
    found = np.zeros(nodes, np.int64)
    for i in range(source.size):
        found[source[i]] += 1
        found[target[i]] += 1
    return found


@kernel
def _rows(source: np.ndarray, target: np.ndarray, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of neighbours under their ranks, sorted: where each begins, and all of them. O(n + m).

    Nodes are written into the rows of their neighbours one after another, so that every row comes out sorted.
    """
    nodes, edges = rank.size, source.size
    start = np.zeros(nodes + 1, np.int64)
    for i in range(edges):
        start[rank[source[i]] + 1] += 1
        start[rank[target[i]] + 1] += 1
    start = np.cumsum(start)
    mixed, others = np.empty(2 * edges, np.int32), np.empty(2 * edges, np.int32)
    free = start[:-1].copy()
    for i in range(edges):
        u, v = rank[source[i]], rank[target[i]]
        mixed[free[u]] = v
        free[u] += 1
        mixed[free[v]] = u
        free[v] += 1
    free = start[:-1].copy()
    for u in range(nodes):
        for i in range(start[u], start[u + 1]):
            v = mixed[i]
            others[free[v]] = u
            free[v] += 1
    return start, others


@kernel
def _triangles_of(start: np.ndarray, others: np.ndarray, nodes: int, first: int, last: int) -> np.ndarray:
    """How many triangles each node is in; rows sorted, nodes numbered by descending degree; int64 (n,).

    Each triangle is seen once, from its node of highest rank (least degree).

    Of the triangles whose last node is in ``first``..``last``-1.
    """
    marked = np.zeros(nodes, np.bool_)
    found = np.zeros(nodes, np.int64)
    for u in range(first, last):
        for i in range(start[u], start[u + 1]):
            if others[i] > u:
                break
            marked[others[i]] = True
        for i in range(start[u], start[u + 1]):
            v = others[i]
            if v > u:
                break
            for j in range(start[v], start[v + 1]):
                w = others[j]
                if w > v:
                    break
                if marked[w]:
                    found[u] += 1
                    found[v] += 1
                    found[w] += 1
        for i in range(start[u], start[u + 1]):
            if others[i] > u:
                break
            marked[others[i]] = False
    return found


@kernel
def _most_common(start: np.ndarray, others: np.ndarray, nodes: int) -> int:
    """The maximum over pairs w < u (in rank) of their common neighbours; stops once no degree can do better.

    ``count[w]`` holds u * 2^32 + the common neighbours of w and u found so far; what a former u left is less
    than u * 2^32, so that nothing has to be cleared.
    """
    count = np.zeros(nodes, np.int64)
    best = 0
    for u in range(nodes):
        if start[u + 1] - start[u] <= best:
            break
        base = u << 32
        for i in range(start[u], start[u + 1]):
            v = others[i]
            for j in range(start[v], start[v + 1]):
                w = others[j]
                if w >= u:
                    break
                seen = max(count[w], base) + 1
                count[w] = seen
                best = max(best, seen - base)
    return best

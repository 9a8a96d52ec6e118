"""Triangles of a graph in rows, estimated from random paths.

These have length two; compiled.

``rows``: what ``Rows.arrays`` gives. Paths are sampled node by node, each node as often as a sum ``until``
(n,) over the nodes up to each says, evenly spaced along it: rows are read in order, and estimates vary less.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.rows import Arrays, degree_of, linked
from core.privacy.entropy import Generator


@kernel
def ahead_of(rows: Arrays) -> np.ndarray:
    """Count each node's neighbours of higher rank.

    They have more edges, or as many and a larger number; int32 (n,). O(m).
    """
    start, others = rows[0], rows[1]
    found = np.zeros(start.size - 1, np.int32)
    for v in range(found.size):
        for i in range(start[v], start[v + 1]):
            found[v] += _is_ahead(start, v, others[i])
    return found


@kernel
def closed_ahead(rows: Arrays, until: np.ndarray, looks: int, rng: Generator) -> int:
    """Count closed paths among random ones to neighbours ahead.

    They go from a node to two neighbours that are ahead of it; closed ones make a triangle.

    ``until``: the pairs of such neighbours. Every triangle is on one such path.
    """
    start, others = rows[0], rows[1]
    ends, met, v = np.empty(1, np.int32), 0, 0
    for look in range(looks):
        # Shares rise with ``look``, so that the search goes on from v and all of it is linear.
        v = _at(until, v, (look + rng.random()) / looks)
        if ends.size < degree_of(start, v):
            # Twice as much as is needed: few hubs would else make it grow at each of them.
            ends = np.empty(2 * degree_of(start, v), np.int32)
        size = 0
        for i in range(start[v], start[v + 1]):
            if _is_ahead(start, v, others[i]):
                ends[size] = others[i]
                size += 1
        met += _closed(start, others, ends, 0, size, rng)
    return met


@kernel
def closed_around(rows: Arrays, until: np.ndarray, looks: int, rng: Generator) -> int:
    """Count closed ones of so many paths of length two. ``until``: what the paths around nodes count."""
    start, others = rows[0], rows[1]
    met, v = 0, 0
    for look in range(looks):
        # As in :func:`closed_ahead`: evenly spaced shares, read in one pass.
        v = _at(until, v, (look + rng.random()) / looks)
        met += _closed(start, others, others, start[v], degree_of(start, v), rng)
    return met


@kernel(inline="always")
def _is_ahead(start: np.ndarray, v: Int, w: Int) -> bool:
    more = degree_of(start, w) - degree_of(start, v)
    return more > 0 or bool(more == 0 and w > v)


@kernel(inline="always")
def _at(until: np.ndarray, v: int, share: float) -> int:
    """The node, from v on, at which ``until`` passes that share of its whole."""
    while v + 1 < until.size and until[v] <= share * until[-1]:
        v += 1
    return v


@kernel(inline="always")
def _closed(
    start: np.ndarray, others: np.ndarray, ends: np.ndarray, first: int, size: int, rng: Generator
) -> bool:
    """Whether two random nodes of ``ends[first : first + size]`` are linked."""
    if size < 2:
        return False
    # Two different places, each pair equally likely: the last place stands in for a repetition.
    one, two = np.int64(rng.random() * size), np.int64(rng.random() * (size - 1))
    if two == one:
        two = np.int64(size - 1)
    return linked(start, others, np.int64(ends[first + one]), np.int64(ends[first + two]))

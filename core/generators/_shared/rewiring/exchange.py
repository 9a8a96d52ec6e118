"""One move on rows of neighbours: what it would gain, and making it; compiled.

Edges (x, a) and (y, b) become (x, y) and (a, b). No triangle holds both old edges, nor both new ones. A new
edge's triangles are its ends' common neighbours, less a or b where the edge that made it one goes away.

``move``: (x, y, a, b, the entry of a in x's row, the entry of b in y's row). ``at`` (n,): where each
neighbour of x stands in x's row, -1 elsewhere. ``spare`` (n,): -1. Both are left so.
"""

from __future__ import annotations

from numba import njit

from core.generators._shared.rewiring.rows import clear, degree_of, mark


@njit(cache=True, nogil=True)
def joined(rows, weight, at, move):
    """The triangles that (x, y) would be in, and what their corners weigh by ``weight`` (n,)."""
    start, others = rows[0], rows[1]
    x, y, a, b = move[:4]
    more, worth = 0, 0.0
    for i in range(start[y], start[y + 1]):
        w = others[i]
        if at[w] >= 0 and w != a and w != b:
            more += 1
            worth += weight[w]
    return more, worth + more * (weight[x] + weight[y])


@njit(cache=True, nogil=True)
def swapped(rows, weight, at, spare, move):
    """The triangles of (a, b) less those of (x, a) and (y, b), and what their corners weigh."""
    start, others, closed = rows[0], rows[1], rows[6]
    x, y, a, b, place_a, place_b = move
    more, worth = _common(rows, weight, spare, a, b, x, y)
    if closed[place_a]:
        more -= closed[place_a]
        ends = weight[x] + weight[a]
        for i in range(start[a], start[a + 1]):
            if at[others[i]] >= 0:
                worth -= ends + weight[others[i]]
    if closed[place_b]:
        number, less = _common(rows, weight, spare, y, b, -1, -1)
        more, worth = more - number, worth - less
    return more, worth


@njit(cache=True, nogil=True)
def _common(rows, weight, spare, u, v, but_one, but_two):
    """How many neighbours u and v share, two left out, and what u, v and each of them weigh."""
    start, others = rows[0], rows[1]
    if degree_of(start, u) > degree_of(start, v):
        u, v = v, u
    mark(start, others, spare, u)
    number, worth = 0, 0.0
    for i in range(start[v], start[v + 1]):
        w = others[i]
        if spare[w] >= 0 and w != but_one and w != but_two:
            number += 1
            worth += weight[w]
    clear(start, others, spare, u)
    return number, worth + number * (weight[u] + weight[v])


@njit(cache=True, nogil=True)
def exchange(rows, at, spare, move):
    """Makes the move; ``back`` and ``closed`` stay true."""
    start, others, back, closed = rows[0], rows[1], rows[2], rows[6]
    x, y, a, b, place_a, place_b = move
    back_a, back_b = back[place_a], back[place_b]
    if closed[place_a]:
        for j in range(start[a], start[a + 1]):
            i = at[others[j]]
            if i >= 0:
                _add(back, closed, i, j, -1)
    if closed[place_b]:
        _between(rows, spare, y, b, -1)
    others[place_a], others[place_b], others[back_a], others[back_b] = y, x, b, a
    back[place_a], back[place_b], back[back_a], back[back_b] = place_b, place_a, back_b, back_a
    at[a], at[y] = -1, place_a
    closed[back_a] = closed[back_b] = _between(rows, spare, a, b, 1)
    found = 0
    for j in range(start[y], start[y + 1]):
        i = at[others[j]]
        if i >= 0:
            found += 1
            _add(back, closed, i, j, 1)
    closed[place_a] = closed[place_b] = found


@njit(cache=True, nogil=True)
def _between(rows, spare, u, v, sign):
    """How many neighbours u and v share; the edges to them are in ``sign`` more triangles."""
    start, others, back, closed = rows[0], rows[1], rows[2], rows[6]
    if degree_of(start, u) > degree_of(start, v):
        u, v = v, u
    mark(start, others, spare, u)
    found = 0
    for j in range(start[v], start[v + 1]):
        i = spare[others[j]]
        if i >= 0:
            found += 1
            _add(back, closed, i, j, sign)
    clear(start, others, spare, u)
    return found


@njit(cache=True, nogil=True, inline="always")
def _add(back, closed, i, j, sign):
    """Both entries of two edges are in ``sign`` more triangles."""
    closed[i] += sign
    closed[back[i]] += sign
    closed[j] += sign
    closed[back[j]] += sign

"""The compiled part of :mod:`core.generators._shared.rewiring.triangles`: moves proposed, weighed and made.

Graphs are rows of neighbours in any order: ``others[start[v]:start[v + 1]]``. Every node keeps its degree, so
rows keep their places and a move writes four entries. Neighbourhoods are compared through marks, one byte a
node.
"""

from __future__ import annotations

import numpy as np
from numba import njit

TRIES = 4  # choices of b before a proposal is given up
VISIT = 8  # proposals at a node before the next: nodes of few edges, whose triangles weigh most, have a turn
TURNS = 0.25  # of the proposals go so; then hubs, where most triangles are closed, have as many as edges


@njit(cache=True, nogil=True)
def shift_product(start, others, owner, first, labels, product, aim, band, proposals, rng):
    """Swaps ends of equal label at random where that brings the product sum nearer to ``aim``, until it is
    within ``band``; the product sum, and the proposals made.

    Edges (x, a) and (y, b), x and y of one label, become (x, b) and (y, a). ``owner`` (2m,): the node of each
    entry. ``first`` (k + 1,): where each label's entries begin; nodes are sorted by label.
    """
    ends, made = others.size, 0
    while made < proposals and abs(product - aim) > band:
        made += 1
        one = int(rng.random() * ends)
        x, a = owner[one], others[one]
        label = labels[x]
        two = first[label] + int(rng.random() * (first[label + 1] - first[label]))
        y, b = owner[two], others[two]
        if x in (y, b) or a in (y, b):
            continue
        shift = _degree(start, x) - _degree(start, y)
        shift *= _degree(start, b) - _degree(start, a)
        if abs(product + shift - aim) >= abs(product - aim):
            continue
        if _linked(start, others, x, b) or _linked(start, others, y, a):
            continue
        others[_place(start, others, a, x)] = y
        others[_place(start, others, b, y)] = x
        others[one], others[two] = b, a
        product += shift
    return product, made


@njit(cache=True, nogil=True)
def close_triangles(start, others, labels, triangles, target, product, aim, band, steer, proposals, rng):
    """Moves that add triangles until there are ``target``; triangles, product sum and the proposals made.

    x and y have a common neighbour and one label, and are not linked: (x, a) and (y, b) become (x, y) and
    (a, b). With ``steer``, a move keeps the product sum within ``band`` of ``aim`` or brings it nearer.
    """
    nodes, ends = start.size - 1, others.size
    marks = np.zeros(nodes, np.int8)  # 1: neighbour of x, 2: neighbour of b
    # The triangles on each edge when it was last weighed. A guess that costs nothing: edges that hold few are
    # proposed more often, and what a move gains is counted anew.
    closed = np.zeros(ends, np.int32)
    made = 0
    while made < proposals and triangles < target:
        x = int(rng.random() * nodes)
        degree_x = _degree(start, x)
        made += 1
        visit = min(degree_x, VISIT) if made < TURNS * proposals else degree_x
        for i in range(start[x], start[x + 1]):
            marks[others[i]] = 1
        for _ in range(visit):
            made += 1
            u = rng.random() * degree_x
            v = others[start[x] + int(u)]
            u -= int(u)  # what is left of the draw is as random
            y = others[start[v] + int(u * _degree(start, v))]
            if y == x or marks[y] or labels[y] != labels[x]:
                continue
            degree_y = _degree(start, y)
            place_a = _poorer(start, closed, x, rng)
            a = others[place_a]
            if a == v:
                continue
            place_b, shift = -1, 0
            for _ in range(TRIES):
                place = _poorer(start, closed, y, rng)
                b = others[place]
                if b in (a, v) or (labels[a] != labels[x] and labels[b] != labels[x]):
                    continue
                shift = (degree_x - _degree(start, b)) * (degree_y - _degree(start, a))
                if not steer or abs(product + shift - aim) <= max(band, abs(product - aim) - 1):
                    place_b = place
                    break
            if place_b < 0 or _linked(start, others, a, others[place_b]):
                continue
            b = others[place_b]
            back_a, back_b, xa, yb, xy, ab = _weigh(start, others, marks, x, y, a, b)
            gain = xy + ab - xa - yb
            if gain <= 0:
                closed[place_a] = closed[back_a] = xa
                closed[place_b] = closed[back_b] = yb
                continue
            closed[place_a] = closed[place_b] = xy
            closed[back_a] = closed[back_b] = ab
            others[place_a], others[place_b] = y, x
            others[back_a], others[back_b] = b, a
            marks[a], marks[y] = 0, 1
            triangles += gain
            product += shift
        for i in range(start[x], start[x + 1]):
            marks[others[i]] = 0
    return triangles, product, made


@njit(cache=True, nogil=True)
def open_triangles(
    start, others, owner, first, labels, triangles, target, product, aim, band, steer, proposals, rng
):
    """Random swaps of ends of equal label that lose triangles, until there are ``target`` at most."""
    marks = np.zeros(start.size - 1, np.int8)
    ends, made = others.size, 0
    while made < proposals and triangles > target:
        made += 1
        one = int(rng.random() * ends)
        x, a = owner[one], others[one]
        label = labels[x]
        two = first[label] + int(rng.random() * (first[label + 1] - first[label]))
        y, b = owner[two], others[two]
        if x in (y, b) or a in (y, b):
            continue
        shift = _degree(start, x) - _degree(start, y)
        shift *= _degree(start, b) - _degree(start, a)
        if steer and abs(product + shift - aim) > max(band, abs(product - aim) - 1):
            continue
        if _linked(start, others, x, b) or _linked(start, others, y, a):
            continue
        # The same move with the names of b and y exchanged: (x, a) and (b, y) become (x, b) and (a, y).
        for i in range(start[x], start[x + 1]):
            marks[others[i]] = 1
        back_a, back_y, xa, yb, xb, ya = _weigh(start, others, marks, x, b, a, y)
        for i in range(start[x], start[x + 1]):
            marks[others[i]] = 0
        gain = xb + ya - xa - yb
        if gain >= 0 or triangles + gain < target - (triangles - target):
            continue
        back_b = _place(start, others, b, y)
        others[one], others[back_b] = b, x
        others[back_a], others[back_y] = y, a
        triangles += gain
        product += shift
    return triangles, product, made


@njit(cache=True, nogil=True)
def _poorer(start, closed, v, rng):
    """Of two random places among v's neighbours, the one whose edge holds fewer triangles by ``closed``."""
    one = start[v] + int(rng.random() * _degree(start, v))
    two = start[v] + int(rng.random() * _degree(start, v))
    return one if closed[one] <= closed[two] else two


@njit(cache=True, nogil=True)
def _weigh(start, others, marks, x, y, a, b):
    """Before (x, a) and (y, b) become (x, y) and (a, b), x's neighbours being marked: the places of x among
    a's neighbours and of y among b's, the triangles on the two old edges, and those on the two new ones.

    No triangle holds both old edges, nor both new ones. A new edge's triangles are its ends' common
    neighbours, less a or b where the edge that made it one goes away.
    """
    back_a, back_b = -1, -1
    for i in range(start[b], start[b + 1]):
        marks[others[i]] |= 2
        if others[i] == y:
            back_b = i
    xa, yb, xy, ab = 0, 0, 0, 0
    for i in range(start[a], start[a + 1]):
        mark = marks[others[i]]
        ab += mark >> 1
        xa += mark & 1
        if others[i] == x:
            back_a = i
    for i in range(start[y], start[y + 1]):
        mark = marks[others[i]]
        xy += mark & 1
        yb += mark >> 1
        if others[i] == a:
            xy -= 1
            ab -= 1
    if marks[b] & 1:
        xy -= 1
        ab -= 1
    for i in range(start[b], start[b + 1]):
        marks[others[i]] &= 1
    return back_a, back_b, xa, yb, xy, ab


@njit(cache=True, nogil=True, inline="always")
def _degree(start, v):
    return start[v + 1] - start[v]


@njit(cache=True, nogil=True)
def _place(start, others, u, v):
    """Where v stands among u's neighbours; -1 when it does not."""
    for i in range(start[u], start[u + 1]):
        if others[i] == v:
            return i
    return -1


@njit(cache=True, nogil=True)
def _linked(start, others, u, v):
    """True when u and v are linked; looks through the shorter row."""
    if _degree(start, u) > _degree(start, v):
        u, v = v, u
    return _place(start, others, u, v) >= 0

"""Compiled moves that bring the number of triangles and the damped sum of clustering to their aims together.

Graphs are rows of neighbours as in :mod:`core.generators._shared.rewiring.moves`. A triangle counts one in
the first number, and in the second as much as its three corners weigh. Moves that add triangles and moves
that lose some take turns at random; one is made if both relative misses together become smaller.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from core.generators._shared.rewiring.moves import _degree, _linked, _place, _poorer

TRIES = 4  # choices of b before a proposal is given up
NEAR = 0.02  # both misses together: nearer is not sought
TINY = 1e-9


@njit(cache=True, nogil=True)
def balance(rows, weight, triangles, clustering, products, proposals, rng):
    """Triangles and clustering near their aims; both, and the proposals made.

    ``rows``: start, others, owner, first and labels, as for ``shift_product``; nodes are sorted by label.
    ``triangles`` and ``clustering``: (now, aim); ``clustering`` sums the ``weight`` (n,) of every triangle's
    corners. ``products``: (now, aim, band, whether to steer); a move keeps the sum of degree products within
    the band or brings it nearer. Edges (x, a) and (y, b) become (x, y) and (a, b).
    """
    start, others = rows[0], rows[1]
    (count, target), (total, wanted) = triangles, clustering
    product, made = products[0], 0
    marks = np.zeros(start.size - 1, np.int8)
    closed = np.zeros(others.size, np.int32)  # triangles on each edge when it was last weighed: a free guess
    miss = _miss(count, target, total, wanted)
    while made < proposals and miss > NEAR:
        made += 1
        if rng.random() < 0.5:
            place_a, place_b = _closing(rows, closed, total < wanted, rng)
        else:
            place_a, place_b = _swapping(rows, rng)
        if place_a < 0:
            continue
        x, a, y, b = rows[2][place_a], others[place_a], rows[2][place_b], others[place_b]
        shift = (_degree(start, x) - _degree(start, b)) * (_degree(start, y) - _degree(start, a))
        if products[3] and abs(product + shift - products[1]) > max(
            products[2], abs(product - products[1]) - 1
        ):
            continue
        if _linked(start, others, x, y) or _linked(start, others, a, b):
            continue
        for i in range(start[x], start[x + 1]):
            marks[others[i]] = 1
        back_a, back_b, counts, weighed = _gains(start, others, marks, weight, x, y, a, b)
        for i in range(start[x], start[x + 1]):
            marks[others[i]] = 0
        xa, yb, xy, ab = counts
        gain = xy + ab - xa - yb
        after = _miss(count + gain, target, total + weighed, wanted)
        if after >= miss:
            closed[place_a] = closed[back_a] = xa
            closed[place_b] = closed[back_b] = yb
            continue
        closed[place_a] = closed[place_b] = xy
        closed[back_a] = closed[back_b] = ab
        others[place_a], others[place_b] = y, x
        others[back_a], others[back_b] = b, a
        count, total, product, miss = count + gain, total + weighed, product + shift, after
    return count, total, made


@njit(cache=True, nogil=True, inline="always")
def _miss(count, target, total, wanted):
    """How far both are off, relative to the aims; squared, so that neither is given up for the other."""
    of_count, of_total = (count - target) / max(target, 1), (total - wanted) / max(wanted, TINY)
    return math.hypot(of_count, of_total)


@njit(cache=True, nogil=True)
def _closing(rows, closed, lacking, rng):
    """Places of the edges (x, a) and (y, b), y two steps from x and of its label, a or b too; or (-1, -1).

    Where clustering is ``lacking`` x is any node, as nodes of few edges weigh the most; otherwise the end of
    any edge. Edges that hold few triangles are given up first.
    """
    start, others, owner, _, labels = rows
    x = int(rng.random() * labels.size) if lacking else int(owner[int(rng.random() * others.size)])
    if not _degree(start, x):
        return -1, -1
    place_a = _poorer(start, closed, x, rng)
    v = others[start[x] + int(rng.random() * _degree(start, x))]
    y = others[start[v] + int(rng.random() * _degree(start, v))]
    a = others[place_a]
    if x == y or a in (v, y) or labels[y] != labels[x]:
        return -1, -1
    for _ in range(TRIES):
        place_b = _poorer(start, closed, y, rng)
        b = others[place_b]
        if b not in (a, v) and b != x and (labels[a] == labels[x] or labels[b] == labels[x]):
            return place_a, place_b
    return -1, -1


@njit(cache=True, nogil=True)
def _swapping(rows, rng):
    """Places of any two edges (x, a) and (y, b), x and b of one label, no two nodes the same; or (-1, -1)."""
    start, others, owner, first, labels = rows
    place_a = int(rng.random() * others.size)
    x, a = owner[place_a], others[place_a]
    label = labels[x]
    two = first[label] + int(rng.random() * (first[label + 1] - first[label]))
    b, y = owner[two], others[two]
    if x == y or x == b or a == y or a == b:  # noqa: SIM109 (two types of integers)
        return -1, -1
    return place_a, _place(start, others, y, b)


@njit(cache=True, nogil=True)
def _gains(start, others, marks, weight, x, y, a, b):
    """Before (x, a) and (y, b) become (x, y) and (a, b), x's neighbours being marked: the places of x among
    a's neighbours and of y among b's; the triangles on (x, a), (y, b), (x, y) and (a, b); and what is gained
    by the weights of their corners."""
    back_a, back_b = -1, -1
    for i in range(start[b], start[b + 1]):
        marks[others[i]] |= 2
        if others[i] == y:
            back_b = i
    xa, yb, xy, ab, weighed = 0, 0, 0, 0, 0.0
    old_a, new_ab = weight[x] + weight[a], weight[a] + weight[b]
    for i in range(start[a], start[a + 1]):
        v = others[i]
        if v == x:
            back_a = i
        mark = marks[v]
        if mark & 2 and v != y and v != x:
            ab += 1
            weighed += new_ab + weight[v]
        if mark & 1:
            xa += 1
            weighed -= old_a + weight[v]
    old_b, new_xy = weight[y] + weight[b], weight[x] + weight[y]
    for i in range(start[y], start[y + 1]):
        v = others[i]
        mark = marks[v]
        if mark & 1 and v != a and v != b:
            xy += 1
            weighed += new_xy + weight[v]
        if mark & 2:
            yb += 1
            weighed -= old_b + weight[v]
    for i in range(start[b], start[b + 1]):
        marks[others[i]] &= 1
    return back_a, back_b, (xa, yb, xy, ab), weighed

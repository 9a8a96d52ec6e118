"""The compiled part of :mod:`core.generators._shared.rewiring.affinity`: groups of nodes, and edges in them.

``rows``: what ``Rows.arrays`` gives, of rows whose nodes stand by falling degree in each circle; ``closed``
says of an entry whether its edge was put into a group, where it stays. A group's nodes are linked with
probability p each: of s nodes each is expected in C(s - 1, 2) p^3 triangles.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from core.generators._shared.rewiring.exchange import NEAR_X
from core.generators._shared.rewiring.rows import clear, degree_of, linked, mark

LOOKS = 8
SCANNED = 32  # choices of two edges to give up for one in a group
LEAST_GROUP = 3


@njit(cache=True, nogil=True)
def divided(start, stretches, links, share, chance, density):
    """Divide nodes into groups: (members, where each group begins and the last ends, p of each).

    ``stretches`` (c, 2): where the nodes of each circle begin and end. ``links`` and ``share``, by degree:
    how many edges in its group a node should have, and how likely it is in one at all; ``chance`` (n,):
    uniform in 0..1. A group is as large as its node of fewest edges asks for. O(nodes).
    """
    most = 0
    for c in range(stretches.shape[0]):
        most += stretches[c, 1] - stretches[c, 0]
    members, begin, odds = np.empty(most, np.int32), np.zeros(most + 2, np.int64), np.empty(most + 1)
    size, groups = 0, 0
    for c in range(stretches.shape[0]):
        wanted = 0.0
        for v in range(stretches[c, 0], stretches[c, 1]):
            degree = degree_of(start, v)
            if chance[v] >= share[degree]:
                continue
            members[size], wanted = v, links[degree]
            size += 1
            if size - begin[groups] >= wanted / density + 1:
                groups, size = _ended(begin, odds, groups, size, wanted)
        groups, size = _ended(begin, odds, groups, size, wanted)
    return members[:size], begin[: groups + 1], odds[:groups]


@njit(cache=True, nogil=True, inline="always")
def _ended(begin, odds, groups, size, wanted):
    """Ends the group that grows, unless it is too small, which leaves its nodes out: (groups, members)."""
    nodes = size - begin[groups]
    if nodes < LEAST_GROUP:
        return groups, begin[groups]
    odds[groups] = min(1.0, wanted / (nodes - 1))
    begin[groups + 1] = size
    return groups + 1, size


@njit(cache=True, nogil=True)
def expected(groups, weight):
    """The triangles that are expected in the groups, and what their corners weigh by ``weight`` (n,)."""
    members, begin, odds = groups
    triangles, total = 0.0, 0.0
    for g in range(odds.size):
        nodes = begin[g + 1] - begin[g]
        at_each = (nodes - 1) * (nodes - 2) / 2 * odds[g] ** 3
        triangles += nodes * at_each / 3
        for k in range(begin[g], begin[g + 1]):
            total += at_each * weight[members[k]]
    return triangles, total


@njit(cache=True, nogil=True)
def filled(rows, groups, most, rng):
    """Links the nodes of each group, with its probability; the edges put in, about ``most`` at most.

    x and y, of one label, not linked: (x, a) and (y, b), in no group, become (x, y) and (a, b), where a or b
    has that label too.
    """
    start, others, back, closed = rows[0], rows[1], rows[2], rows[6]
    members, begin, odds = groups
    marks, made = np.zeros(start.size - 1, np.uint8), 0
    for g in range(odds.size):
        if made >= most:
            break
        for i in range(begin[g], begin[g + 1] - 1):
            x = np.int64(members[i])
            mark(start, others, marks, x, NEAR_X)
            for j in range(i + 1, begin[g + 1]):
                y = np.int64(members[j])
                if rng.random() >= odds[g] or marks[y]:
                    continue
                place_a, place_b = _given_up(rows, x, y, rng)
                if place_a < 0:
                    continue
                a, b = others[place_a], others[place_b]
                back_a, back_b = back[place_a], back[place_b]
                others[place_a], others[place_b], others[back_a], others[back_b] = y, x, b, a
                back[place_a], back[place_b] = place_b, place_a
                back[back_a], back[back_b] = back_b, back_a
                closed[place_a] = closed[place_b] = 1
                marks[a], marks[y] = 0, NEAR_X
                made += 1
            clear(start, others, marks, x, NEAR_X)
    return made


@njit(cache=True, nogil=True)
def closed_wedges(rows, cumulative, wedges, rng):
    """Of so many random paths of length two, how many are closed to a triangle. ``cumulative`` (n,): the
    paths around the nodes up to each."""
    start, others = rows[0], rows[1]
    met = 0
    for _ in range(wedges):
        v = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        met += _wedge_closed(start, others, v, rng)
    return met


@njit(cache=True, nogil=True)
def closed_weight(rows, weight, looks, rng):
    """The mean, over so many random nodes, of what triangles at a node weigh, by one path around each."""
    start, others = rows[0], rows[1]
    total = 0.0
    for _ in range(looks):
        v = np.int64(rng.random() * (start.size - 1))
        degree = degree_of(start, v)
        if degree > 1 and _wedge_closed(start, others, v, rng):
            total += weight[v] * (degree * (degree - 1) / 2)
    return total / looks


@njit(cache=True, nogil=True, inline="always")
def _wedge_closed(start, others, v, rng):
    """Whether two random neighbours of v are linked."""
    degree = degree_of(start, v)
    one, two = np.int64(rng.random() * degree), np.int64(rng.random() * (degree - 1))
    if two == one:
        two = np.int64(degree - 1)
    return linked(start, others, np.int64(others[start[v] + one]), np.int64(others[start[v] + two]))


@njit(cache=True, nogil=True)
def _given_up(rows, x, y, rng):
    """Entries of edges (x, a) and (y, b) that may become (x, y) and (a, b); (-1, -1) where none were met.

    Where some are met, a and b are of one circle, so that circles have more edges, as with (x, y).
    """
    start, others, _, _, _, labels, closed, circles = rows[:8]
    found = np.int64(-1), np.int64(-1)
    degree = degree_of(start, y)
    for _ in range(LOOKS):
        place_a = start[x] + np.int64(rng.random() * degree_of(start, x))
        a = np.int64(others[place_a])
        if closed[place_a] or (found[0] >= 0 and circles[a] == circles[x]):
            continue
        at = np.int64(rng.random() * degree)
        for _ in range(min(degree, SCANNED)):
            at = np.int64(at + 1 if at + 1 < degree else 0)
            place_b = start[y] + at
            b = np.int64(others[place_b])
            together = circles[a] == circles[b] and circles[a] != circles[x]
            if closed[place_b] or a == b or (found[0] >= 0 and not together):
                continue
            if (labels[a] != labels[x] and labels[b] != labels[x]) or linked(start, others, a, b):
                continue
            found = place_a, place_b
            if together:
                return found
    return found

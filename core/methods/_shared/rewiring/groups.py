"""The compiled groups of nodes, and edges in them.

A part of :mod:`core.methods._shared.rewiring.affinity`.

``rows``: what ``Rows.arrays`` gives, of rows whose nodes stand by falling degree in each circle; ``closed``
says of an entry whether its edge was put into a group, where it stays. A group's nodes are linked with
probability p each: of s nodes each is expected in C(s - 1, 2) p^3 triangles.

``products``: the sum of degree products over edges: (now, aim, band, whether to steer). It is led towards its
aim by the choice of edges that are given up, where there is one.
"""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.rows import Arrays, Products, degree_of, linked, mark, marked, marks_for
from core.privacy.entropy import Generator

LOOKS = 8
SCANNED = 32  # choices of two edges to give up for one in a group
LEAST_GROUP = 3


@kernel
def divided(
    start: np.ndarray,
    stretches: np.ndarray,
    links: np.ndarray,
    share: np.ndarray,
    chance: np.ndarray,
    density: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide nodes into groups.

    Returned are (members, where each group begins and the last ends, p of each).

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
            # Nodes come by falling degree, so the last wants fewest; (s - 1) * density are the edges of each
            # of s.
            if size - begin[groups] >= wanted / density + 1:
                groups, size = _ended(begin, odds, groups, size, wanted)
        groups, size = _ended(begin, odds, groups, size, wanted)
    return members[:size], begin[: groups + 1], odds[:groups]


@kernel(inline="always")
def _ended(begin: np.ndarray, odds: np.ndarray, groups: int, size: int, wanted: float) -> tuple[int, int]:
    """Ends the group that grows, unless it is too small, which leaves its nodes out: (groups, members)."""
    nodes = size - begin[groups]
    if nodes < LEAST_GROUP:
        return groups, begin[groups]
    odds[groups] = min(1.0, wanted / (nodes - 1))
    begin[groups + 1] = size
    return groups + 1, size


@kernel
def by_degree(
    links: np.ndarray, share: np.ndarray, nodes: np.ndarray, weight: np.ndarray, density: float
) -> tuple[float, float, float]:
    """Compute triangles, corners' weight and edges of one circle.

    They are of its groups, from how many ``nodes`` it has of each degree, parts of nodes too, and their
    ``weight``. O(degrees).
    """
    triangles, total, edges = 0.0, 0.0, 0.0
    size, heavy = 0.0, 0.0
    # As :func:`divided` goes, but in expected numbers: the law is fitted without making any group.
    for degree in range(nodes.size - 1, 1, -1):
        left, wanted = nodes[degree] * share[degree], links[degree]
        full = max(math.ceil(wanted / density + 1), LEAST_GROUP)
        while left > 0:
            if size == 0 and left >= full:
                groups = math.floor(left / full)
                taken, size = groups * full, np.float64(full)
            # What is left of a degree begins the next group, which lower degrees fill up.
            else:
                groups, taken = 1.0, min(left, max(full - size, 0.0))
                size += taken
            left -= taken
            heavy += taken * weight[degree]
            if size < full:
                break
            odds = min(1.0, wanted / (size - 1))
            # A node's C(size - 1, 2) pairs, each closed if all three links are there.
            at_each = (size - 1) * (size - 2) / 2 * odds**3
            # A third, as every triangle is counted at three corners.
            triangles += groups * size * at_each / 3
            total += at_each * heavy
            edges += groups * size * (size - 1) / 2 * odds
            size, heavy = 0.0, 0.0
    return triangles, total, edges


@kernel
def expected(groups: tuple[np.ndarray, np.ndarray, np.ndarray], weight: np.ndarray) -> tuple[float, float]:
    """Compute the groups' expected triangles, and corners' weight. The weight is by ``weight`` (n,)."""
    members, begin, odds = groups
    triangles, total = 0.0, 0.0
    for g in range(odds.size):
        nodes = begin[g + 1] - begin[g]
        at_each = (nodes - 1) * (nodes - 2) / 2 * odds[g] ** 3
        triangles += nodes * at_each / 3
        for k in range(begin[g], begin[g + 1]):
            total += at_each * weight[members[k]]
    return triangles, total


@kernel
def filled(
    rows: Arrays,
    groups: tuple[np.ndarray, np.ndarray, np.ndarray],
    products: Products,
    most: int,
    rng: Generator,
) -> tuple[int, int]:
    """Link the nodes of each group, with its probability.

    Returned are the edges put in, about ``most`` at most, and the product sum. x and y, of one label, not
    linked: (x, a) and (y, b), in no group, become (x, y) and (a, b), where a or b has that label too.
    """
    start, others, back, closed = rows[0], rows[1], rows[2], rows[5]
    (members, begin, odds), (product, aim, band, steer) = groups, products
    marks, made = marks_for(start), 0
    for g in range(odds.size):
        if made >= most:
            break
        for i in range(begin[g], begin[g + 1] - 1):
            x = np.int64(members[i])
            mark(start, others, marks, x)
            for j in range(i + 1, begin[g + 1]):
                y = np.int64(members[j])
                # Independent of what was put in before, but for links that are there already.
                if rng.random() >= odds[g] or marked(marks, y):
                    continue
                place_a, place_b = _given_up(rows, x, y, (product, aim, band, steer), rng)
                if place_a < 0:
                    continue
                a, b = np.int64(others[place_a]), np.int64(others[place_b])
                product += _shift(start, x, y, a, b)
                _linked_across(others, back, x, y, place_a, place_b)
                # Both are entries of (x, y) now. (a, b) is of no group: it may be given up for another edge.
                closed[place_a] = closed[place_b] = 1
                marks[a], marks[y] = 0, marks[-1]
                made += 1
    return made, product


@kernel
def gathered(rows: Arrays, products: Products, wanted: int, tries: int, rng: Generator) -> tuple[int, int]:
    """Link nodes of one circle in place of two's.

    It does so until there are ``wanted`` more such edges; returned are the product sum and the tries made,
    ``tries`` at most. x and y, of one circle, not linked: (x, a) and (y, b), which leave it, become (x, y)
    and (a, b), where a or b has their label; a and b of one circle too where y's row has such a b.
    """
    start, others, back, _, labels, _, circles, _, begin = rows
    (product, aim, band, steer), gained, made = products, 0, 0
    while made < tries and gained < wanted:
        made += 1
        # By the ends of edges, so that hubs gather as many edges as they have.
        place_a = np.int64(rng.random() * others.size)
        x, a = np.int64(others[back[place_a]]), np.int64(others[place_a])
        circle, theirs = circles[x], circles[a]
        if circle == theirs:
            continue
        low, high = start[begin[circle]], start[begin[circle + 1]]
        # The owner of a random entry of x's circle: a node in proportion to its degree.
        y = np.int64(others[back[low + np.int64(rng.random() * (high - low))]])
        if x == y or linked(start, others, x, y):
            continue
        place_b, degree = np.int64(-1), degree_of(start, y)
        # A whole stretch of y's row from a random place on: one draw serves all that are looked at.
        at = np.int64(rng.random() * degree)
        for _ in range(min(degree, SCANNED)):
            at = np.int64(at + 1 if at + 1 < degree else 0)
            b = np.int64(others[start[y] + at])
            together = circles[b] == theirs
            if b == a or circles[b] == circle or (place_b >= 0 and not together):
                continue
            # x and y are of one label L: {L, a} and {L, b} become {L, L} and {a, b}. Totals stay if a or b is
            # of L.
            if labels[a] != labels[x] and labels[b] != labels[x]:
                continue
            if steer and _astray(product, _shift(start, x, y, a, b), aim, band):
                continue
            place_b = start[y] + at
            if together:
                break
        if place_b < 0 or linked(start, others, a, np.int64(others[place_b])):
            continue
        b = np.int64(others[place_b])
        product += _shift(start, x, y, a, b)
        gained += 2 if circles[b] == theirs else 1
        _linked_across(others, back, x, y, place_a, place_b)
    return product, made


@kernel(inline="always")
def _shift(start: np.ndarray, x: Int, y: Int, a: Int, b: Int) -> int:
    """What the product sum gains where (x, a) and (y, b) become (x, y) and (a, b)."""
    # d_x d_y + d_a d_b - d_x d_a - d_y d_b, factored.
    return (degree_of(start, x) - degree_of(start, b)) * (degree_of(start, y) - degree_of(start, a))


@kernel(inline="always")
def _astray(product: int, shift: int, aim: int, band: int) -> bool:
    """Whether a move leads away from the aim, and out of the band."""
    return abs(product + shift - aim) > max(band, abs(product - aim))


@kernel(inline="always")
def _linked_across(others: np.ndarray, back: np.ndarray, x: Int, y: Int, place_a: Int, place_b: Int) -> None:
    """Makes (x, y) and (a, b) of edges (x, a) and (y, b), given by their entries in the rows of x and y."""
    a, b = others[place_a], others[place_b]
    back_a, back_b = back[place_a], back[place_b]
    others[place_a], others[place_b], others[back_a], others[back_b] = y, x, b, a
    back[place_a], back[place_b], back[back_a], back[back_b] = place_b, place_a, back_b, back_a


@kernel
def _given_up(rows: Arrays, x: Int, y: Int, products: Products, rng: Generator) -> tuple[Int, Int]:
    """Entries of edges (x, a) and (y, b) that may become (x, y) and (a, b); (-1, -1) where none were met.

    Where some are met, a and b are of one circle, so that circles have more edges, as with (x, y), and the
    product sum is not led astray; else one of the two, or neither.
    """
    start, others, _, _, labels, closed, circles = rows[:7]
    product, aim, band, steer = products
    found, best, degree = (np.int64(-1), np.int64(-1)), 0, degree_of(start, y)
    for _ in range(LOOKS):
        place_a = start[x] + np.int64(rng.random() * degree_of(start, x))
        a = np.int64(others[place_a])
        if closed[place_a]:
            continue
        at = np.int64(rng.random() * degree)
        for _ in range(min(degree, SCANNED)):
            at = np.int64(at + 1 if at + 1 < degree else 0)
            place_b = start[y] + at
            b = np.int64(others[place_b])
            together = circles[a] == circles[b] and circles[a] != circles[x]
            worth = 1 + 2 * together
            # No better than the best even if it is steered well: what costs more to check is not.
            if worth + 1 <= best or closed[place_b] or a == b:
                continue
            if not steer or not _astray(product, _shift(start, x, y, a, b), aim, band):
                worth += 1
            # Block totals stay only if a or b is of x's label, see :func:`gathered`.
            if worth <= best or (labels[a] != labels[x] and labels[b] != labels[x]):
                continue
            if linked(start, others, a, b):
                continue
            found, best = (place_a, place_b), worth
            if best == 4:
                return found
    return found

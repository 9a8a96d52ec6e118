"""One move on rows of neighbours, weighed and made; compiled.

Edges (x, a) and (y, b) become (x, y) and (a, b). No triangle holds both old edges, nor both new ones. A new
edge's triangles are its ends' common neighbours, less a or b where the edge that made it one goes away.

Most moves that are proposed are not made. So what is asked of them first is a number alone, without a branch
in its loop; who the common neighbours are is looked at for moves that are made.

``move``: (x, y, a, b, the entry of a in x's row, the entry of b in y's row). ``places``: two of (n,), where
each node stands in x's row and in b's, see ``rows.mark``; the second is unset, and left so.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.rows import Arrays, Move, clear, degree_of, mark

IMPOSSIBLE = np.int64(-(2**62))
Places = tuple[np.ndarray, np.ndarray]
"""Of x and of b: see above."""


@kernel
def places_for(start: np.ndarray) -> Places:
    """Make room for places, unset."""
    return np.zeros(start.size - 1, np.int32), np.zeros(start.size - 1, np.int32)


@kernel
def joined(rows: Arrays, places: Places, move: Move) -> int:
    """Count the triangles of (x, y)."""
    start, others, at = rows[0], rows[1], places[0]
    _, y, a, b, _, _ = move
    at_a, at_b = at[a], at[b]
    at[a] = at[b] = 0
    found = 0
    for j in range(start[y], start[y + 1]):
        found += at[others[j]] != 0
    at[b], at[a] = at_b, at_a
    return found


@kernel
def weighed(rows: Arrays, weight: np.ndarray, places: Places, move: Move) -> tuple[int, float]:
    """Count the triangles of (x, y), and weigh their corners by ``weight`` (n,)."""
    start, others, at = rows[0], rows[1], places[0]
    x, y, a, b, _, _ = move
    at_a, at_b = at[a], at[b]
    at[a] = at[b] = 0
    number, found = 0, 0.0
    for j in range(start[y], start[y + 1]):
        w = others[j]
        number += at[w] != 0
        found += weight[w] * (at[w] != 0)
    at[b], at[a] = at_b, at_a
    return number, found + number * (weight[x] + weight[y])


@kernel(inline="always")
def may_gain(rows: Arrays, move: Move, number: int) -> bool:
    """Tell whether a move that joins so many triangles gains any if a and b share all that they may."""
    start, closed = rows[0], rows[5]
    _, _, a, b, place_a, place_b = move
    shared = min(degree_of(start, a), degree_of(start, b)) - 1
    able: bool = number + shared > closed[place_a] + closed[place_b]
    return able


@kernel
def gained(rows: Arrays, places: Places, move: Move, number: int) -> Int:
    """Count the triangles that a move gains which joins ``number``. IMPOSSIBLE where a and b are linked."""
    start, others, closed, at_b = rows[0], rows[1], rows[5], places[1]
    x, y, a, b, place_a, place_b = move
    mark(start, others, at_b, b)
    apart, crossed = at_b[a] == 0, 0
    if apart:
        at_b[x] = at_b[y] = 0
        for j in range(start[a], start[a + 1]):
            crossed += at_b[others[j]] != 0
    clear(start, others, at_b, b)
    return number + crossed - closed[place_a] - closed[place_b] if apart else IMPOSSIBLE


@kernel
def worth(
    rows: Arrays, weight: np.ndarray, places: Places, move: Move, joins: tuple[int, float], more: Int
) -> float:
    """Weigh what a move gains that was :func:`weighed`, and gains so many triangles."""
    start, others, closed = rows[0], rows[1], rows[5]
    x, y, a, b, place_a, place_b = move
    (at, at_b), (number, new) = places, joins
    crossed = more - number + closed[place_a] + closed[place_b]
    mark(start, others, at_b, b)
    old = _weight(start, others, weight, at_b, y, 0.0) if closed[place_b] else 0.0
    if closed[place_a]:
        old = _weight(start, others, weight, at, a, old)
    at_b[x] = at_b[y] = 0
    gain = _weight(start, others, weight, at_b, a, 0.0) if crossed else 0.0
    clear(start, others, at_b, b)
    gain += crossed * (weight[a] + weight[b])
    old += closed[place_a] * (weight[x] + weight[a]) + closed[place_b] * (weight[y] + weight[b])
    whole: float = new + gain - old
    return whole


@kernel
def _weight(
    start: np.ndarray, others: np.ndarray, weight: np.ndarray, at: np.ndarray, v: Int, begun: float
) -> float:
    """Add the weight of v's neighbours that are marked in ``at``."""
    for j in range(start[v], start[v + 1]):
        w = others[j]
        begun += weight[w] * (at[w] != 0)
    return begun


@kernel
def exchange(rows: Arrays, places: Places, move: Move) -> None:
    """Make a move. ``back``, ``closed`` and x's places stay true."""
    start, others, back, closed = rows[0], rows[1], rows[2], rows[5]
    x, y, a, b, place_a, place_b = move
    at, at_b = places
    mark(start, others, at_b, b)
    joins, crosses, row_x, row_b = 0, 0, start[x] - 1, start[b] - 1
    for j in range(start[y], start[y + 1]):
        w = others[j]
        if at[w] and w != a and w != b:
            _count(back, closed, row_x + at[w], j, 1)
            joins += 1
        if at_b[w]:
            _count(back, closed, row_b + at_b[w], j, -1)
    for j in range(start[a], start[a + 1]):
        w = others[j]
        if at_b[w] and w != x and w != y:
            _count(back, closed, row_b + at_b[w], j, 1)
            crosses += 1
        if at[w]:
            _count(back, closed, row_x + at[w], j, -1)
    clear(start, others, at_b, b)
    back_a, back_b = back[place_a], back[place_b]
    others[place_a], others[place_b], others[back_a], others[back_b] = y, x, b, a
    back[place_a], back[place_b], back[back_a], back[back_b] = place_b, place_a, back_b, back_a
    at[a], at[y] = 0, place_a - start[x] + 1
    closed[place_a] = closed[place_b] = joins
    closed[back_a] = closed[back_b] = crosses


@kernel(inline="always")
def _count(back: np.ndarray, closed: np.ndarray, i: Int, j: Int, sign: int) -> None:
    """Count a triangle more or less on two edges, by an entry of each."""
    closed[i] += sign
    closed[back[i]] += sign
    closed[j] += sign
    closed[back[j]] += sign

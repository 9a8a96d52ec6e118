"""One move on rows of neighbours, weighed and made; compiled.

Edges (x, a) and (y, b) become (x, y) and (a, b). No triangle holds both old edges, nor both new ones. A new
edge's triangles are its ends' common neighbours, less a or b where the edge that made it one goes away.

``move``: (x, y, a, b, the entry of a in x's row, the entry of b in y's row). ``at`` (n,): where in x's row
each node stands, see ``rows.mark``. ``found``: (numbers, entries, at) of the triangles that were met, which
:func:`exchange` makes or breaks without looking again: the entries of the node where each stands, in the row
of x or b, and in that of y or a; and what ``at`` is for b, left unset.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.rows import Arrays, Move, clear, degree_of, mark

IMPOSSIBLE = np.int64(-(2**62))
JOINED, CROSSED, LEFT_X, LEFT_Y = 0, 1, 2, 3  # triangles of (x, y), (a, b), (x, a) and (y, b)
Found = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Numbers, entries and places: see above."""


@kernel
def room_for(start: np.ndarray) -> Found:
    """Make room for the triangles of a move.

    It is for how many of each kind, the entries of two edges of each, and a place for each node.
    """
    most = 1
    for v in range(start.size - 1):
        most = max(most, degree_of(start, v))
    return np.zeros(4, np.int64), np.empty((4, most, 2), np.int32), np.zeros(start.size - 1, np.int32)


@kernel(inline="always")
def _note(found: Found, kind: int, i: Int, j: Int) -> None:
    """Keep a triangle of a move: the two entries of the node where it stands."""
    numbers, entries, _ = found
    entries[kind, numbers[kind], 0], entries[kind, numbers[kind], 1] = i, j
    numbers[kind] += 1


@kernel
def joined(rows: Arrays, weight: np.ndarray, at: np.ndarray, found: Found, move: Move) -> float:
    """Note the triangles of (x, y), which most moves fail by; returned is what their corners weigh."""
    start, others = rows[0], rows[1]
    x, y, a, b, _, _ = move
    numbers, new, row = found[0], 0.0, start[x] - 1
    numbers[:] = 0
    for j in range(start[y], start[y + 1]):
        w = others[j]
        if at[w] and w != a and w != b:
            _note(found, JOINED, row + at[w], j)
            new += weight[w]
    return new + numbers[JOINED] * (weight[x] + weight[y])


@kernel(inline="always")
def may_gain(rows: Arrays, found: Found, move: Move) -> bool:
    """Tell whether a move that was :func:`joined` gains triangles if a and b share all that they may."""
    start, closed = rows[0], rows[5]
    _, _, a, b, place_a, place_b = move
    shared = min(degree_of(start, a), degree_of(start, b)) - 1
    able: bool = found[0][JOINED] + shared > closed[place_a] + closed[place_b]
    return able


@kernel
def weighed(
    rows: Arrays, weight: np.ndarray, at: np.ndarray, found: Found, move: Move, new: float
) -> tuple[Int, float]:
    """Weigh what a move gains that was :func:`joined`, which returned ``new``.

    That is triangles, and what their corners weigh by ``weight`` (n,). Triangles are IMPOSSIBLE where a and b
    are linked.
    """
    start, others, closed = rows[0], rows[1], rows[5]
    x, y, a, b, place_a, place_b = move
    numbers, _, at_b = found
    mark(start, others, at_b, b)
    if at_b[a]:
        clear(start, others, at_b, b)
        return IMPOSSIBLE, 0.0
    crossed, old, row_b, row_x = 0.0, 0.0, start[b] - 1, start[x] - 1
    if closed[place_b]:
        for j in range(start[y], start[y + 1]):
            w = others[j]
            if at_b[w]:
                _note(found, LEFT_Y, row_b + at_b[w], j)
                old += weight[w]
    loses_a = closed[place_a] > 0
    for j in range(start[a], start[a + 1]):
        w = others[j]
        if at_b[w] and w != x and w != y:
            _note(found, CROSSED, row_b + at_b[w], j)
            crossed += weight[w]
        if loses_a and at[w]:
            _note(found, LEFT_X, row_x + at[w], j)
            old += weight[w]
    clear(start, others, at_b, b)
    crossed += numbers[CROSSED] * (weight[a] + weight[b])
    old += numbers[LEFT_X] * (weight[x] + weight[a]) + numbers[LEFT_Y] * (weight[y] + weight[b])
    return numbers[JOINED] + numbers[CROSSED] - numbers[LEFT_X] - numbers[LEFT_Y], new + crossed - old


@kernel
def exchange(rows: Arrays, at: np.ndarray, found: Found, move: Move) -> None:
    """Make the move that was weighed last. ``back`` and ``closed`` stay true."""
    start, others, back, closed = rows[0], rows[1], rows[2], rows[5]
    x, y, a, b, place_a, place_b = move
    numbers, entries, _ = found
    for kind in range(4):
        sign = 1 if kind in (JOINED, CROSSED) else -1
        for k in range(numbers[kind]):
            i, j = entries[kind, k, 0], entries[kind, k, 1]
            closed[i] += sign
            closed[back[i]] += sign
            closed[j] += sign
            closed[back[j]] += sign
    back_a, back_b = back[place_a], back[place_b]
    others[place_a], others[place_b], others[back_a], others[back_b] = y, x, b, a
    back[place_a], back[place_b], back[back_a], back[back_b] = place_b, place_a, back_b, back_a
    at[a], at[y] = 0, place_a - start[x] + 1
    closed[place_a] = closed[place_b] = numbers[JOINED]
    closed[back_a] = closed[back_b] = numbers[CROSSED]

"""One move on rows of neighbours, weighed and made; compiled.

Edges (x, a) and (y, b) become (x, y) and (a, b). No triangle holds both old edges, nor both new ones. A new
edge's triangles are its ends' common neighbours, less a or b where the edge that made it one goes away.

``move``: (x, y, a, b, the entry of a in x's row, the entry of b in y's row). ``marks`` (n,): a byte each, in
which bit NEAR_X says whose neighbours x has; NEAR_B is unset, and left so. ``found``: (numbers, entries) of
the triangles that :func:`weighed` met, which :func:`exchange` makes or breaks without looking again: at whom
they stand, and the entry of that node in y's row or a's.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.rows import Arrays, Move, clear, degree_of, linked, mark, place_of

IMPOSSIBLE = np.int64(-(2**62))
NEAR_X, NEAR_B = np.uint8(1), np.uint8(2)
JOINED, CROSSED, LEFT_X, LEFT_Y = 0, 1, 2, 3  # triangles of (x, y), (a, b), (x, a) and (y, b)


@kernel
def room_for(start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Make room for the triangles of a move.

    It is for how many of each kind, and the entries of two edges of each.
    """
    most = 1
    for v in range(start.size - 1):
        most = max(most, degree_of(start, v))
    return np.zeros(4, np.int64), np.empty((4, most, 2), np.int32)


@kernel(inline="always")
def _note(found: tuple[np.ndarray, np.ndarray], kind: int, w: Int, j: Int) -> None:
    """Keep a triangle of a move: at whom it stands, and that node's entry."""
    numbers, entries = found
    entries[kind, numbers[kind], 0], entries[kind, numbers[kind], 1] = w, j
    numbers[kind] += 1


@kernel
def weighed(
    rows: Arrays, weight: np.ndarray, marks: np.ndarray, found: tuple[np.ndarray, np.ndarray], move: Move
) -> tuple[Int, float, float]:
    """Weigh what a move gains.

    That is triangles, what their corners weigh by ``weight`` (n,), and what those of (x, y) do. Triangles are
    IMPOSSIBLE where a and b are linked.
    """
    start, others, closed = rows[0], rows[1], rows[5]
    x, y, a, b, place_a, place_b = move
    numbers = found[0]
    if linked(start, others, a, b):
        return IMPOSSIBLE, 0.0, 0.0
    mark(start, others, marks, b, NEAR_B)
    numbers[:] = 0
    new, crossed, old = 0.0, 0.0, 0.0
    loses_a, loses_b = closed[place_a] > 0, closed[place_b] > 0
    for j in range(start[y], start[y + 1]):
        w = others[j]
        told = marks[w]
        if not told:
            continue
        if told & NEAR_X and w != a and w != b:
            _note(found, JOINED, w, j)
            new += weight[w]
        if loses_b and told & NEAR_B:
            _note(found, LEFT_Y, w, j)
            old += weight[w]
    for j in range(start[a], start[a + 1]):
        w = others[j]
        told = marks[w]
        if not told:
            continue
        if told & NEAR_B and w != x and w != y:
            _note(found, CROSSED, w, j)
            crossed += weight[w]
        if loses_a and told & NEAR_X:
            _note(found, LEFT_X, w, j)
            old += weight[w]
    clear(start, others, marks, b, NEAR_B)
    new += numbers[JOINED] * (weight[x] + weight[y])
    crossed += numbers[CROSSED] * (weight[a] + weight[b])
    old += numbers[LEFT_X] * (weight[x] + weight[a]) + numbers[LEFT_Y] * (weight[y] + weight[b])
    return numbers[JOINED] + numbers[CROSSED] - numbers[LEFT_X] - numbers[LEFT_Y], new + crossed - old, new


@kernel
def exchange(rows: Arrays, marks: np.ndarray, found: tuple[np.ndarray, np.ndarray], move: Move) -> None:
    """Make the move that was weighed last. ``back`` and ``closed`` stay true."""
    start, others, back, closed = rows[0], rows[1], rows[2], rows[5]
    x, y, a, b, place_a, place_b = move
    numbers, entries = found
    for kind in range(4):
        sign = 1 if kind in (JOINED, CROSSED) else -1
        end = x if kind in (JOINED, LEFT_X) else b
        for k in range(numbers[kind]):
            i, j = place_of(start, others, end, entries[kind, k, 0]), entries[kind, k, 1]
            closed[i] += sign
            closed[back[i]] += sign
            closed[j] += sign
            closed[back[j]] += sign
    back_a, back_b = back[place_a], back[place_b]
    others[place_a], others[place_b], others[back_a], others[back_b] = y, x, b, a
    back[place_a], back[place_b], back[back_a], back[back_b] = place_b, place_a, back_b, back_a
    marks[a], marks[y] = 0, NEAR_X
    closed[place_a] = closed[place_b] = numbers[JOINED]
    closed[back_a] = closed[back_b] = numbers[CROSSED]

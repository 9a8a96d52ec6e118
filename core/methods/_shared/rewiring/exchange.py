"""One move on rows of neighbours, weighed and made; compiled.

Edges (x, a) and (y, b) become (x, y) and (a, b). No triangle holds both old edges, nor both new ones. A new
edge's triangles are its ends' common neighbours, less a or b where the edge that made it one goes away.

Most moves that are proposed are not made. So loops over rows have no branch, and what they find is listed as
it is counted; in whose rows the common neighbours stand is looked at for moves that are made.

``move``: (x, y, a, b, the entry of a in x's row, the entry of b in y's row). ``places``: which nodes are
neighbours of x, and of b, see ``rows.mark``; four lists of entries, each behind their number: of common
neighbours of x and y in y's row, and of a and b in a's, which are gained, of y and b in y's row, and of x
and a in a's, which are lost; and room for where in a row each node stands.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.rows import Arrays, Move, degree_of, mark, marked, marks_for

IMPOSSIBLE = np.int64(-(2**62))
Places = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""See above."""


@kernel
def places_for(start: np.ndarray) -> Places:
    """Make room for places, unset."""
    lists = np.zeros((4, np.diff(start).max() + 1), np.int32)
    return marks_for(start), marks_for(start), lists, np.empty(start.size - 1, np.int32)


@kernel
def joined(rows: Arrays, places: Places, move: Move) -> Int:
    """Count the triangles of (x, y), and list them."""
    near = places[0]
    _, y, a, b, _, _ = move
    # The move takes (x, a) and (y, b) away: neither a nor b is a common neighbour of x and y afterwards.
    of_a, of_b = near[a], near[b]
    near[a] = near[b] = 0
    found = _listed(rows, near, y, places[2][0])
    # x stays marked: its next proposals read the same marks.
    near[b], near[a] = of_b, of_a
    return found


@kernel(inline="always")
def most_gained(rows: Arrays, move: Move, number: Int) -> Int:
    """Count the triangles that a move gains which joins ``number``, if a and b share all that they may."""
    start, closed = rows[0], rows[5]
    _, _, a, b, place_a, place_b = move
    # a loses x before it shares anything with b, and b loses y.
    shared = min(degree_of(start, a), degree_of(start, b)) - 1
    most: Int = number + shared - closed[place_a] - closed[place_b]
    return most


@kernel
def gained(rows: Arrays, places: Places, move: Move, number: Int) -> Int:
    """Count the triangles that a move gains which joins ``number``.

    Those of (a, b) are listed. IMPOSSIBLE where a and b are linked.
    """
    far, closed = places[1], rows[5]
    x, y, a, b, place_a, place_b = move
    mark(rows[0], rows[1], far, b)
    if marked(far, a):
        return IMPOSSIBLE
    # x leaves a's row and y leaves b's: neither closes a triangle with the new edge (a, b).
    far[x] = far[y] = 0
    more: Int = number + _listed(rows, far, a, places[2][1]) - closed[place_a] - closed[place_b]
    return more


@kernel
def lost(rows: Arrays, places: Places, move: Move) -> None:
    """List the triangles of both old edges."""
    near, far, lists, _ = places
    _listed(rows, far, move[1], lists[2])
    _listed(rows, near, move[2], lists[3])


@kernel
def weighed(rows: Arrays, weight: np.ndarray, places: Places, move: Move) -> float:
    """Weigh the corners of the triangles of (x, y) by ``weight`` (n,)."""
    joins = places[2][0]
    new: float = _weight(rows[1], weight, joins, 0.0) + joins[0] * (weight[move[0]] + weight[move[1]])
    return new


@kernel
def worth(rows: Arrays, weight: np.ndarray, places: Places, move: Move) -> float:
    """Weigh what a move gains whose triangles are all listed."""
    others, lists = rows[1], places[2]
    x, y, a, b, _, _ = move
    gain = _weight(others, weight, lists[1], 0.0) + lists[1][0] * (weight[a] + weight[b])
    old = _weight(others, weight, lists[3], _weight(others, weight, lists[2], 0.0))
    old += lists[3][0] * (weight[x] + weight[a]) + lists[2][0] * (weight[y] + weight[b])
    whole: float = weighed(rows, weight, places, move) + gain - old
    return whole


@kernel
def _weight(others: np.ndarray, weight: np.ndarray, entries: np.ndarray, begun: float) -> float:
    """Add the weight of listed nodes."""
    for k in range(1, entries[0] + 1):
        begun += weight[others[entries[k]]]
    return begun


@kernel
def _listed(rows: Arrays, marks: np.ndarray, v: Int, entries: np.ndarray) -> Int:
    """List the entries of v's neighbours that are marked; how many there are."""
    others, stamp = rows[1], marks[-1]
    size = np.uint64(0)
    # Unsigned, so that compiled code tests no index for being negative. Every entry is written and the size
    # grows if it is marked: a branch would be mispredicted as often as not.
    for j in range(np.uint64(rows[0][v]), np.uint64(rows[0][v + 1])):
        entries[size + np.uint64(1)] = j
        size += np.uint64(marks[np.uint32(others[j])] == stamp)
    entries[0] = size
    return np.int64(size)


@kernel
def exchange(rows: Arrays, places: Places, move: Move) -> None:
    """Make a move whose triangles are all listed. ``back``, ``closed`` and who is x's neighbour stay true."""
    others, back, closed = rows[1], rows[2], rows[5]
    x, y, a, b, place_a, place_b = move
    near, _, lists, spots = places
    # Before the ends move, as what is listed are entries of the rows as they are.
    _stand(rows, x, spots)
    _count(rows, spots, lists[0], 1)
    _count(rows, spots, lists[3], -1)
    _stand(rows, b, spots)
    _count(rows, spots, lists[1], 1)
    _count(rows, spots, lists[2], -1)
    back_a, back_b = back[place_a], back[place_b]
    others[place_a], others[place_b], others[back_a], others[back_b] = y, x, b, a
    back[place_a], back[place_b], back[back_a], back[back_b] = place_b, place_a, back_b, back_a
    # x's marks follow, as its next proposals use them.
    near[a], near[y] = 0, near[-1]
    closed[place_a] = closed[place_b] = lists[0][0]
    closed[back_a] = closed[back_b] = lists[1][0]


@kernel
def _stand(rows: Arrays, v: Int, spots: np.ndarray) -> None:
    """Sets ``spots`` (n,) of each neighbour of v to its entry."""
    start, others = rows[0], rows[1]
    for j in range(np.uint64(start[v]), np.uint64(start[v + 1])):
        spots[np.uint32(others[j])] = j


@kernel
def _count(rows: Arrays, spots: np.ndarray, entries: np.ndarray, sign: int) -> None:
    """Count listed triangles more or less on two edges each, by an entry of both."""
    others, back, closed = rows[1], rows[2], rows[5]
    for k in range(1, entries[0] + 1):
        j = entries[k]
        for i in (j, spots[others[j]]):
            closed[i] += sign
            closed[back[i]] += sign

"""The compiled part that inserts repeats by swaps.

It is of :mod:`core.methods._shared.matching.exact`. The graph as it stands is ``base``, sorted keys, less
those ``gone``, and those ``added``; both are sets of :mod:`core.methods._shared.matching.keyset` and small
compared with it. ``taken``: sorted keys that no edge may have. ``edges``: (left ends, right ends, number of
nodes), block after block; ``blocks``: (where each begins and the last one ends, row, column).
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.ends import change_ends, key_of
from core.methods._shared.matching.keyset import EMPTY, Int, add, contains, remove, table_for
from core.privacy.entropy import Generator

Edges = tuple[np.ndarray, np.ndarray, Int]
"""Left ends, right ends, and the number of nodes."""
State = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Keys that stand and that none may have, both sorted; tables of keys that left and that joined."""


@kernel
def first_of_each(
    left: np.ndarray, right: np.ndarray, nodes: Int, repeated: np.ndarray, occupied: np.ndarray
) -> np.ndarray:
    """Tell which edges stand.

    They are no loop, have no key that is ``occupied``, and are the first of ``repeated`` ones.
    """
    stands = np.ones(left.size, np.bool_)
    several, seen, never = table_for(repeated.size), table_for(repeated.size), table_for(occupied.size)
    for key in repeated:
        add(several, np.int64(key))
    for key in occupied:
        add(never, np.int64(key))
    for i in range(left.size):
        if left[i] == right[i]:
            stands[i] = False
            continue
        # Nearly always: a key is made only if some were met twice or are taken.
        if not repeated.size and not occupied.size:
            continue
        key = key_of(left[i], right[i], nodes)
        if contains(never, key) or (contains(several, key) and not add(seen, key)):
            stands[i] = False
    return stands


@kernel
def worked_in(
    edges: Edges,
    blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
    stands: np.ndarray,
    base: np.ndarray,
    taken: np.ndarray,
    chances: tuple[int, int],
    rng: Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Make the edges stand that can.

    Returned are (gone, added), the keys that leave and join ``base``. Changes all ends. Keys come in no
    order. One that may not stand: it changes ends with an edge that stands, chosen at random among those with
    an end of its own label; labels, so block totals, stay. ``chances``: (tries in a sweep, sweeps), at most.
    """
    tries, sweeps = chances
    waiting = stands.size - int(stands.sum())
    # A swap takes one key away and brings two.
    gone, added = table_for(waiting), table_for(2 * waiting)
    state = base, taken, gone, added
    if stands.any():
        places = _places_by_label(blocks)
        for _ in range(sweeps):
            lucky = False
            for place in np.flatnonzero(~stands):
                _swap(edges, blocks, places, state, stands, place, tries, rng)
                lucky |= stands[place]
            if not lucky:
                break
    return gone[gone != EMPTY], added[added != EMPTY]


@kernel
def joined(
    edges: Edges, base: np.ndarray, chances: tuple[int, int], rng: Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Make further edges stand that can.

    Returned are (gone, added), keys that leave and join ``base``, in no order. One that is a loop or a repeat
    changes ends with a random edge that stands; all edges are of one label. ``base`` is not unpacked: an edge
    of it that changed ends once is left as it is from then on. ``chances``: (tries in a sweep, sweeps), at
    most. Changes all ends of ``edges``.
    """
    left, right, nodes = edges
    tries, sweeps = chances
    gone, added = table_for(left.size), table_for(2 * left.size)
    state = base, base[:0], gone, added
    waits = np.ones(left.size, np.bool_)
    for i in range(left.size):
        key = key_of(left[i], right[i], nodes)
        if left[i] != right[i] and not _has(state, key):
            add(added, key)
            waits[i] = False
    for _ in range(sweeps):
        lucky = False
        for place in np.flatnonzero(waits):
            _exchange(edges, waits, state, place, tries, rng)
            lucky |= not waits[place]
        if not lucky:
            break
    return gone[gone != EMPTY], added[added != EMPTY]


@kernel
def _exchange(edges: Edges, waits: np.ndarray, state: State, i: Int, tries: int, rng: Generator) -> None:
    """Try to give the ends u, v of edge i to one {x, y} that stands: {x, v} and {u, y} are there instead."""
    left, right, nodes = edges
    base, _, gone, added = state
    u, v = np.int64(left[i]), np.int64(right[i])
    for _ in range(tries):
        j = rng.integers(0, base.size + left.size) - base.size  # below 0: of the base
        if j >= 0 and waits[j]:
            continue
        old = key_of(left[j], right[j], nodes) if j >= 0 else base[j]
        x, y = old // nodes, old % nodes
        if rng.integers(0, 2):
            x, y = y, x
        if x == v or u == y or not _has(state, old):
            continue
        mine, theirs = key_of(x, v, nodes), key_of(u, y, nodes)
        if mine == theirs or _has(state, mine) or _has(state, theirs):
            continue
        # Only the difference to the base is kept: a key that joined and leaves again is in neither set.
        if contains(added, old):
            remove(added, old)
        else:
            add(gone, old)
        for key in (mine, theirs):
            if contains(gone, key):
                remove(gone, key)
            else:
                add(added, key)
        # The base has no list of ends: such an edge is from now on known by its two new keys only.
        if j >= 0:
            left[j], right[j] = x, v
        left[i], right[i], waits[i] = u, y, False
        return


@kernel
def _has(state: State, key: Int) -> bool:
    """Tell whether an edge has ``key``, or none may."""
    base, taken, gone, added = state
    if contains(added, key) or _within(taken, key):
        return True
    return _within(base, key) and not contains(gone, key)


@kernel
def _within(ordered: np.ndarray, key: Int) -> bool:
    place = np.searchsorted(ordered, key)
    return bool(place < ordered.size and ordered[place] == key)


@kernel
def _swap(
    edges: Edges,
    blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
    places: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    state: State,
    stands: np.ndarray,
    i: Int,
    tries: int,
    rng: Generator,
) -> None:
    """Try to make edge i stand, by ``tries`` swaps at most."""
    left, right, nodes = edges
    first, row, column = blocks
    begin, of_block, of_side, until = places
    block = np.searchsorted(first, i, side="right") - 1
    gone, added = state[2], state[3]
    for _ in range(tries):
        side = rng.integers(0, 2)
        u, v = (left[i], right[i]) if side == 0 else (right[i], left[i])
        c = row[block] if side == 0 else column[block]
        last = begin[c + 1]
        # A random end among all of this label; ``until`` counts them block by block.
        rank = rng.integers(0, until[last - 1])
        one = begin[c] + np.searchsorted(until[begin[c] : last], rank, side="right")
        # ``rank`` counts back from where the block's places of this label end.
        j, other = first[of_block[one] + 1] - (until[one] - rank), of_side[one]
        if not stands[j]:
            continue
        x, y = (left[j], right[j]) if other == 0 else (right[j], left[j])
        # (u, v) and (x, y), u and x of one label, become (x, v) and (u, y)
        if x == v or u == y:
            continue
        mine, theirs = key_of(x, v, nodes), key_of(u, y, nodes)
        if mine == theirs or _has(state, mine) or _has(state, theirs):
            continue
        # The difference to the base again, see :func:`_exchange`.
        old = key_of(x, y, nodes)
        if contains(added, old):
            remove(added, old)
        else:
            add(gone, old)
        for key in (mine, theirs):
            if contains(gone, key):
                remove(gone, key)
            else:
                add(added, key)
        change_ends(left, right, i, side, j, other)
        stands[i] = True
        return


@kernel
def _places_by_label(
    blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each label the blocks and sides with ends of it, none of them empty, and how many ends up to each:
    (where a label's entries begin, block, side, ends)."""
    first, row, column = blocks
    count = 1
    for i in range(row.size):
        count = max(count, max(row[i], column[i]) + 1)
    begin = np.zeros(count + 1, np.int64)
    for i in range(row.size):
        if first[i + 1] > first[i]:
            begin[row[i] + 1] += 1
            begin[column[i] + 1] += 1
    begin = np.cumsum(begin)
    of_block, of_side = np.empty(begin[-1], np.int64), np.empty(begin[-1], np.int64)
    until, free = np.zeros(begin[-1], np.int64), begin[:-1].copy()
    for i in range(row.size):
        if first[i + 1] == first[i]:
            continue
        for side in range(2):
            c = row[i] if side == 0 else column[i]
            at = free[c]
            of_block[at], of_side[at] = i, side
            until[at] = first[i + 1] - first[i] + (until[at - 1] if at > begin[c] else 0)
            free[c] += 1
    return begin, of_block, of_side, until

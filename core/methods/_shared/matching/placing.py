"""Compiled placing of edges, first singly, then by swaps.

They are placed where they are neither loop nor repeat.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.ends import change_ends, key_of
from core.methods._shared.matching.keyset import Int, add, contains, remove, table_for
from core.privacy.entropy import Generator


@kernel
def place(
    left: np.ndarray,
    right: np.ndarray,
    nodes: Int,
    slot_label: np.ndarray,
    taken: np.ndarray,
    done: int,
    tries: int,
    sweeps: int,
    rng: Generator,
) -> np.ndarray:
    """Place edges and tell which stand in the end.

    They are (left[i], right[i]); bool (edges,). Changes both arrays. The first ``done`` edges stand from the
    start and, with ``taken``, make a simple graph. The others are placed in order where they are neither loop
    nor repeat. One that is: it changes ends with an edge that stands, chosen at random among those with an
    end of its own label, ``tries`` times at most in each of ``sweeps``. ``slot_label`` (2, edges): the labels
    of left and right ends; swaps keep them, so totals between labels stay.
    """
    edges = left.size
    table = table_for(edges + taken.size)
    for key in taken:
        add(table, key)
    stands = np.zeros(edges, np.bool_)
    for i in range(edges):
        u, v = left[i], right[i]
        # Those that stand from the start are entered without a look: no loop or repeat is among them.
        if i < done or u != v:
            stands[i] = add(table, key_of(u, v, nodes))
    # With none that stands there is nobody to exchange ends with.
    if stands.all() or not stands.any():
        return stands
    start, slots = _by_label(slot_label)
    for _ in range(sweeps):
        lucky = False
        for j in np.flatnonzero(~stands):
            _swap(left, right, nodes, slot_label, start, slots, table, stands, j, tries, rng)
            lucky |= stands[j]
        # What stands did not change, so that another sweep would only try the same again.
        if not lucky:
            break
    return stands


@kernel
def _swap(
    left: np.ndarray,
    right: np.ndarray,
    nodes: Int,
    slot_label: np.ndarray,
    start: np.ndarray,
    slots: np.ndarray,
    table: np.ndarray,
    stands: np.ndarray,
    i: Int,
    tries: int,
    rng: Generator,
) -> None:
    """Try to make edge i stand, by ``tries`` swaps at most."""
    edges = left.size
    for _ in range(tries):
        side = rng.integers(0, 2)
        u, v = (left[i], right[i]) if side == 0 else (right[i], left[i])
        c = slot_label[side, i]
        slot = slots[start[c] + rng.integers(0, start[c + 1] - start[c])]
        other, j = slot // edges, slot % edges
        if not stands[j]:
            continue
        x, y = (left[j], right[j]) if other == 0 else (right[j], left[j])
        # (u, v) and (x, y), u and x of one label, become (x, v) and (u, y)
        if x == v or u == y:
            continue
        mine, theirs = key_of(x, v, nodes), key_of(u, y, nodes)
        if mine == theirs or contains(table, mine) or contains(table, theirs):
            continue
        # i stood nowhere, so that only the other edge has a key to give up.
        remove(table, key_of(x, y, nodes))
        add(table, mine)
        add(table, theirs)
        change_ends(left, right, i, side, j, other)
        stands[i] = True
        return


@kernel
def _by_label(slot_label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort the slots side * edges + edge by their labels, and return where each label's begin."""
    edges = slot_label.shape[1]
    start = np.zeros(slot_label.max() + 2, np.int64)
    for side in range(2):
        for i in range(edges):
            start[slot_label[side, i] + 1] += 1
    start = np.cumsum(start)
    slots = np.empty(2 * edges, np.int64)
    free = start[:-1].copy()
    for side in range(2):
        for i in range(edges):
            c = slot_label[side, i]
            slots[free[c]] = side * edges + i
            free[c] += 1
    return start, slots

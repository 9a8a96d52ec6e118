"""The compiled pairing of ends and packing of edges.

It is a part of :mod:`core.methods._shared.matching.exact`. Edges stand block after block: those of one block
have left ends of its row's label and right ends of its column's. Nodes are int32, 8 bytes an edge for both
ends.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.privacy.entropy import Generator

NOBODY = -1


@kernel
def ends_of(
    degrees: np.ndarray,
    labels: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    edges: np.ndarray,
    rng: Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose the ends of every block's edges at random.

    The result is (left, right, edges a block).

    ``degrees`` and ``labels`` (n,): each node's ends, and its label. ``row``, ``column``, ``edges``: of the
    blocks. Ends and the places that want one are matched within each label; where there are fewer ends, the
    places that stay empty are random too, and their edges are left out. O(n + m + blocks).
    """
    count = 1
    for v in range(labels.size):
        count = max(count, labels[v] + 1)
    for i in range(row.size):
        count = max(count, max(row[i], column[i]) + 1)
    have, asked = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for v in range(labels.size):
        have[labels[v]] += degrees[v]
    for i in range(row.size):
        asked[row[i]] += edges[i]
        asked[column[i]] += edges[i]
    start = np.zeros(count + 1, np.int64)
    # Room for a label's ends or for the places that want one, whichever are more: NOBODY fills the rest.
    start[1:] = np.cumsum(np.maximum(have, asked))
    pool = np.full(start[count], NOBODY, np.int32)
    free = start[:-1].copy()
    for v in range(labels.size):
        for _ in range(degrees[v]):
            pool[free[labels[v]]] = v
            free[labels[v]] += 1
    for label in range(count):
        _mixed(pool, start[label], asked[label], start[label + 1], rng)
    free = start[:-1].copy()
    total = edges.sum()
    left, right, kept = np.empty(total, np.int32), np.empty(total, np.int32), np.zeros(row.size, np.int64)
    done = 0
    for i in range(row.size):
        mine, theirs = free[row[i]], free[column[i]]
        free[row[i]] += edges[i]
        free[column[i]] += edges[i]
        # Inside one label: the right ends stand behind the left ones.
        if row[i] == column[i]:
            theirs += edges[i]
        for k in range(edges[i]):
            u, v = pool[mine + k], pool[theirs + k]
            # A place that stays empty leaves its edge out, and the other end unused.
            if u != NOBODY and v != NOBODY:
                left[done], right[done] = u, v
                done += 1
                kept[i] += 1
    return left[:done], right[:done], kept


@kernel
def _mixed(pool: np.ndarray, start: int, wanted: int, stop: int, rng: Generator) -> None:
    """Puts a random choice of ``pool[start:stop]``, in random order, into its first ``wanted`` places."""
    # Fisher and Yates' shuffle, ended once the places that are wanted are filled.
    for i in range(start, min(start + wanted, stop - 1)):
        j = i + rng.integers(0, stop - i)
        pool[i], pool[j] = pool[j], pool[i]


@kernel
def key_of(u: Int, v: Int, nodes: Int) -> np.int64:
    """Pack an undirected pair: ``low * nodes + high``."""
    return np.int64(min(u, v)) * nodes + max(u, v)


@kernel(inline="always")
def change_ends(left: np.ndarray, right: np.ndarray, mine: Int, side: Int, theirs: Int, other: Int) -> None:
    """Swap ends of edges ``mine`` and ``theirs``. Of mine it is the left where ``side`` is 0."""
    given = left[mine] if side == 0 else right[mine]
    taken = left[theirs] if other == 0 else right[theirs]
    if other == 0:
        left[theirs] = given
    else:
        right[theirs] = given
    if side == 0:
        left[mine] = taken
    else:
        right[mine] = taken


@kernel
def packed(left: np.ndarray, right: np.ndarray, nodes: Int) -> np.ndarray:
    """Pack every edge that is no loop. The keys are uint64, in the order of the edges."""
    keys, size = np.empty(left.size, np.uint64), 0
    for i in range(left.size):
        if left[i] != right[i]:
            keys[size] = np.uint64(key_of(left[i], right[i], nodes))
            size += 1
    return keys[:size]


@kernel
def once_each(keys: np.ndarray) -> tuple[int, np.ndarray]:
    """Move the distinct values of sorted ``keys`` to the front.

    Returned are how many, and those that occurred again.
    """
    size, again = 0, 0
    repeated = np.empty(16, keys.dtype)
    for i in range(keys.size):
        if size and keys[size - 1] == keys[i]:
            # Keys are sorted: a third repetition stands right behind the second.
            if not again or repeated[again - 1] != keys[i]:
                if again == repeated.size:
                    longer = np.empty(2 * again, keys.dtype)
                    longer[:again] = repeated
                    repeated = longer
                repeated[again] = keys[i]
                again += 1
            continue
        keys[size] = keys[i]
        size += 1
    return size, repeated[:again]


@kernel
def degrees_in(keys: np.ndarray, nodes: int) -> np.ndarray:
    """Count the ends of ``keys`` at every node; int64 (n,)."""
    found = np.zeros(nodes, np.int64)
    for key in keys:
        low = key // nodes
        found[low] += 1
        # A product is cheaper than a second division for the remainder.
        found[key - low * nodes] += 1
    return found


@kernel
def products_in(keys: np.ndarray, values: np.ndarray) -> float:
    """Sum the products of ``values`` over the edges ``keys``. They are at both ends; ``values`` is (n,)."""
    total = 0.0
    for key in keys:
        low = key // values.size
        total += values[low] * values[key - low * values.size]
    return total


@kernel
def merged(base: np.ndarray, gone: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Merge sorted ``base`` without ``gone``, and with ``added``.

    Both are sorted, and ``base`` holds all of ``gone``.
    """
    keys = np.empty(base.size - gone.size + added.size, np.int64)
    size, lost, new = 0, 0, 0
    for key in base:
        if lost < gone.size and gone[lost] == key:
            lost += 1
            continue
        while new < added.size and added[new] < key:
            keys[size] = added[new]
            size, new = size + 1, new + 1
        keys[size] = key
        size += 1
    keys[size:] = added[new:]
    return keys

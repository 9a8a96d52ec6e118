"""Graphs whose edges join near nodes of a plane.

They are for roads and grids, where that is declared.

Every node is given a random place in a square, which says nothing of the original. Of each node's nearest
ones, the nearest pairs come first: those that join two parts, as long as the joined part can grow on; then
those that close triangles, up to the number aimed at; then those that close none. Edge ends that find nobody
are offered to the nearest that have ends left too. Reads noisy values only.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.late import late
from core.methods._shared.matching.keyset import Int
from core.privacy.entropy import Generator as Rng

_tree = late("scipy.spatial:cKDTree")  # loading it takes a tenth of a second, for roads and grids alone
NEAREST = 40  # a node may be linked to so many; chosen on road-mn and power, where more changed little
ROUNDS = 4  # of offers among the nodes that have ends left
BRIDGING, CLOSING, APART, ANY = range(4)
GROWING = 3  # free ends of two parts, at least, for one to be left where they are joined

Joined = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Row starts, neighbours, how many each node has, the root of each node's part, and a root's free ends."""


def near_keys(degrees: np.ndarray, triangles: int, rng: Rng) -> np.ndarray:
    """Join near nodes to a simple graph.

    The result is sorted int64 keys ``low * n + high``.

    ``degrees``: integers (n,), upper bounds on the new degrees, nearly all met. ``triangles``: about so many
    are closed. O(n log n) time, O(n) memory.
    """
    nodes, degrees = len(degrees), np.asarray(degrees, dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(degrees)])
    others, sizes = np.full(start[-1], -1, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    state = start, others, sizes, np.arange(nodes), degrees.copy()
    places = rng.random((nodes, 2))
    left = max(int(triangles), 0)
    for number in range(ROUNDS):
        open_nodes = np.flatnonzero(degrees > sizes)
        if len(open_nodes) < 2:
            break
        pairs = _near_pairs(places, open_nodes)
        # Later rounds have nodes with ends left only: they take what they can get.
        for stage in (BRIDGING, CLOSING, APART) if not number else (ANY,):
            left = join(pairs, stage, left, state)
    source = np.repeat(np.arange(nodes), sizes)
    target = others[others >= 0]
    kept = source < target
    return np.sort(source[kept] * nodes + target[kept])


def _near_pairs(places: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Pairs of nodes of ``chosen`` that are among the nearest of one of both, the nearest first; (p, 2)."""
    # One more, as everyone's nearest node is itself.
    most = min(NEAREST + 1, len(chosen))
    apart, found = _tree(places[chosen]).query(places[chosen], most)
    source = np.repeat(np.arange(len(chosen)), most)
    low, high = np.minimum(source, found.ravel()), np.maximum(source, found.ravel())
    # Itself goes, and a pair that is near from both sides is kept once, by ``np.unique``.
    kept = np.flatnonzero(low < high)
    keys, first = np.unique(low[kept] * len(chosen) + high[kept], return_index=True)
    order = np.argsort(apart.ravel()[kept][first], kind="stable")
    pairs: np.ndarray = chosen[np.stack(np.divmod(keys[order], len(chosen)), axis=1)]
    return pairs


@kernel
def join(pairs: np.ndarray, stage: int, triangles: int, state: Joined) -> int:
    """Link the pairs that ``stage`` takes. Both ends are free; returned are the triangles still to close."""
    start, others, sizes, roots, spare = state
    for number in range(len(pairs)):
        x, y = pairs[number, 0], pairs[number, 1]
        if start[x] + sizes[x] == start[x + 1] or start[y] + sizes[y] == start[y + 1]:
            continue
        shared = _shared(state, x, y)
        if shared < 0:
            continue
        a, b = _root(roots, x), _root(roots, y)
        # A joined part with too few free ends could not grow on: the graph would fall into pieces.
        if stage == BRIDGING and (a == b or spare[a] + spare[b] < GROWING):
            continue
        # No more triangles than are left to close.
        if stage == CLOSING and (shared == 0 or shared > triangles):
            continue
        if stage == APART and shared > 0:
            continue
        triangles = max(triangles - shared, 0)
        others[start[x] + sizes[x]], others[start[y] + sizes[y]] = y, x
        sizes[x] += 1
        sizes[y] += 1
        if a != b:
            # A part's free ends stand at its root.
            roots[b] = a
            spare[a] += spare[b]
        # One end of x and one of y.
        spare[a] -= 2
    return triangles


@kernel
def _shared(state: Joined, x: Int, y: Int) -> int:
    """Count the neighbours of both; -1 where they are linked already."""
    start, others, sizes, _, _ = state
    found = 0
    for place in range(start[x], start[x] + sizes[x]):
        v = others[place]
        if v == y:
            return -1
        for other in range(start[y], start[y] + sizes[y]):
            if others[other] == v:
                found += 1
    return found


@kernel
def _root(roots: np.ndarray, x: Int) -> Int:
    """Find the root of x's part, and shorten the way to it."""
    while roots[x] != x:
        # Path halving: each look brings the nodes passed nearer to their root.
        roots[x] = roots[roots[x]]
        x = roots[x]
    return x

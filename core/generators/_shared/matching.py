"""Simple graphs with prescribed integer degrees and block totals, by matching edge ends at random.

A configuration model that stays simple: ends are paired at random, loops and repeats are drawn again, and
what is still left is worked in by swaps with placed edges that have an end of the same label, which keep all
degrees and totals. Reads noisy values only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.generators._shared.pairs import pack
from core.generators.psgraph.reconstruct import Blocks
from core.privacy.entropy import Generator as Rng

PAIRINGS = 24  # rounds of pairing anew before swaps begin
SWAPS = 60  # rounds of swaps; each gives every pair of ends that is left at least one chance
TRIES = 1024  # chances in one round, over all pairs that are left


def matched(
    degrees: np.ndarray,
    labels: np.ndarray,
    blocks: Blocks,
    rng: Rng,
    taken: np.ndarray | None = None,
) -> np.ndarray:
    """Sorted int64 keys ``low * n + high`` of distinct edges, none of them in ``taken``.

    ``degrees``: integers (n,), upper bounds on the new degrees, met wherever the numbers allow it. ``labels``
    (n,): the node's block row. ``blocks``: edges wanted between labels i <= j. Degrees and totals are met
    together where each label's degrees sum to its ends in ``blocks``; ends in excess stay unused. ``taken``:
    sorted keys that are in the graph already. Expected O(m log m).
    """
    nodes, degrees = len(degrees), np.asarray(degrees, dtype=np.int64)
    used = np.flatnonzero(blocks.edges)
    alone = len(used) == 1 and blocks.row[used[0]] == blocks.column[used[0]]
    if alone and (taken is None or not len(taken)) and 4 * blocks.edges[used[0]] > nodes * (nodes - 1):
        # More than half of all pairs: the absent ones are matched instead, as linear and never stuck.
        absent = nodes - 1 - degrees
        low, high = np.triu_indices(nodes, 1)
        return np.setdiff1d(
            low * nodes + high, matched(absent, np.zeros_like(labels), one_block(int(absent.sum())), rng)
        )
    left, right, block = _ends(degrees, labels, blocks, rng)
    state = _State(nodes, labels, blocks.row == blocks.column, taken)
    for _ in range(PAIRINGS):
        if not len(left):
            break
        left, right, block = state.pair(left, right, block, rng)
    for _ in range(SWAPS):
        if not len(left) or not len(state.left):
            break
        left, right, block = state.swap(left, right, block, rng)
    return np.sort(pack(state.left, state.right, nodes))


def one_block(ends: int) -> Blocks:
    """The blocks of a graph without labels: one, with half of ``ends`` edges."""
    zero = np.zeros(1, dtype=np.int64)
    return Blocks(zero, zero, np.array([ends // 2], dtype=np.int64))


def _ends(
    degrees: np.ndarray, labels: np.ndarray, blocks: Blocks, rng: Rng
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes at both ends of every wanted edge, and its block; edges that find no end are left out."""
    nodes = len(degrees)
    stubs = np.repeat(np.arange(nodes, dtype=np.int64), degrees)
    stubs = stubs[np.lexsort((rng.random(len(stubs)), labels[stubs]))]
    count = int(max(labels.max(initial=0), blocks.row.max(initial=0), blocks.column.max(initial=0))) + 1
    have = np.bincount(labels[stubs], minlength=count)
    block = np.repeat(np.arange(len(blocks.edges)), blocks.edges)
    slot = np.concatenate([blocks.row[block], blocks.column[block]])
    order = np.lexsort((rng.random(len(slot)), slot))
    asked = np.bincount(slot, minlength=count)
    rank = np.arange(len(slot)) - np.repeat(np.cumsum(asked) - asked, asked)
    served = rank < have[slot[order]]
    place = (np.cumsum(have) - have)[slot[order]] + rank
    node = np.full(len(slot), -1, dtype=np.int64)
    node[order[served]] = stubs[place[served]]
    left, right = node[: len(block)], node[len(block) :]
    whole = (left >= 0) & (right >= 0)
    return left[whole], right[whole], block[whole]


@dataclass
class _State:
    """The placed edges: ``left``, ``right``, ``block`` in any order; ``keys`` sorted, with those taken."""

    nodes: int
    labels: np.ndarray
    diagonal: np.ndarray
    taken: np.ndarray | None

    def __post_init__(self) -> None:
        empty = np.empty(0, dtype=np.int64)
        self.left, self.right, self.block = empty, empty, empty
        self.keys = empty if self.taken is None else self.taken

    def pair(
        self, left: np.ndarray, right: np.ndarray, block: np.ndarray, rng: Rng
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs the ends of each block at random, places what fits; the ends that are left."""
        left, right = self._turn(left, right, block, rng)
        order = np.argsort(block, kind="stable")
        left, right, block = left[order], right[order], block[order]
        right = right[np.lexsort((rng.random(len(right)), block))]
        fits = self._fits(left, right)
        self._place(left[fits], right[fits], block[fits])
        return left[~fits], right[~fits], block[~fits]

    def swap(
        self, left: np.ndarray, right: np.ndarray, block: np.ndarray, rng: Rng
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ends (u, v) that fit nowhere and a placed edge (x, y), x of u's label: (x, v) and (u, y) instead.

        Each new edge takes the block of the old one, so all totals stay.
        """
        tries = max(1, TRIES // len(left))
        owner = np.tile(np.arange(len(left)), tries)
        turned = rng.random(len(owner)) < 0.5
        u = np.where(turned, right[owner], left[owner])
        v = np.where(turned, left[owner], right[owner])
        ends, others = np.concatenate([self.left, self.right]), np.concatenate([self.right, self.left])
        label = self.labels[ends]
        order = np.argsort(label, kind="stable")
        sizes = np.bincount(label, minlength=int(self.labels.max()) + 1)
        start, size = np.cumsum(sizes) - sizes, sizes[self.labels[u]]
        some = np.flatnonzero(size)  # a label without any placed end offers nothing to swap with
        owner, turned, u, v = owner[some], turned[some], u[some], v[some]
        place = order[start[self.labels[u]] + (rng.random(len(some)) * size[some]).astype(np.int64)]
        x, y, edge = ends[place], others[place], place % len(self.left)
        chosen = np.flatnonzero(self._free(u, y) & self._free(x, v))
        # In one round a placed edge serves one swap, and an open pair makes one.
        for part in (edge, owner):
            chosen = chosen[np.unique(part[chosen], return_index=True)[1]]
        new = np.stack([pack(u, y, self.nodes), pack(x, v, self.nodes)], axis=1)[chosen]
        first = np.zeros(new.size, dtype=bool)
        first[np.unique(new, return_index=True)[1]] = True
        chosen = chosen[first.reshape(-1, 2).all(axis=1)]
        owner, turned, place, edge = owner[chosen], turned[chosen], place[chosen], edge[chosen]
        u, v, x, y = u[chosen], v[chosen], x[chosen], y[chosen]
        gone = pack(x, y, self.nodes)
        self.keys = np.delete(self.keys, np.searchsorted(self.keys, gone))
        on_left = place < len(self.left)
        self.left[edge[on_left]] = u[on_left]
        self.right[edge[~on_left]] = u[~on_left]
        self._merge(pack(u, y, self.nodes))
        self._place(np.where(turned, v, x), np.where(turned, x, v), block[owner])
        open_pairs = np.ones(len(left), dtype=bool)
        open_pairs[owner] = False
        return left[open_pairs], right[open_pairs], block[open_pairs]

    def _turn(
        self, left: np.ndarray, right: np.ndarray, block: np.ndarray, rng: Rng
    ) -> tuple[np.ndarray, np.ndarray]:
        """The two sides exchanged at random where both belong to one label."""
        turned = self.diagonal[block] & (rng.random(len(block)) < 0.5)
        return np.where(turned, right, left), np.where(turned, left, right)

    def _fits(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """True where the pair is no loop, not placed yet, and the first of its kind here."""
        keys = pack(left, right, self.nodes)
        fits = np.zeros(len(keys), dtype=bool)
        fits[np.unique(keys, return_index=True)[1]] = True
        return fits & self._free(left, right)

    def _free(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """True where the pair is no loop and not placed yet."""
        keys = pack(left, right, self.nodes)
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        known = self.keys[place] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        return (left != right) & ~known

    def _place(self, left: np.ndarray, right: np.ndarray, block: np.ndarray) -> None:
        self.left = np.concatenate([self.left, left])
        self.right = np.concatenate([self.right, right])
        self.block = np.concatenate([self.block, block])
        self._merge(pack(left, right, self.nodes))

    def _merge(self, fresh: np.ndarray) -> None:
        self.keys = np.concatenate([self.keys, np.sort(fresh)])
        self.keys.sort(kind="stable")  # two sorted runs: merged in linear time

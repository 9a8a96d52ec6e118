"""Walks over the snapshots.

Short ones are for the networks, long ones for the embeddings. A walk stays in the snapshot of one step, along
edges of either direction. All of them read the snapshots that were handed in and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.privacy.entropy import Generator
from papers.thepuff.snapshots import Snapshots

STAY = 0.5
"""JUST's alpha: how readily a walk stays among nodes of one type (Hussein et al. 2018, section 4.2)."""


@dataclass(frozen=True)
class Walks:
    """Padded walks over steps.

    ``steps`` (w,) int64 and ``nodes`` (w, length) int64, global node numbers; -1 pads the end.
    """

    steps: np.ndarray
    nodes: np.ndarray

    def __len__(self) -> int:
        return len(self.steps)


def edge_started(snapshots: Snapshots, steps: np.ndarray, length: int, rng: Generator) -> Walks:
    """Walk from a uniform anchor edge, in either direction.

    There is one walk for each entry of ``steps``. Onwards from the edge each node is a uniform neighbour of
    the one before, over all relations of the step. Such a walk can always turn back, so that none is short;
    at a step without an anchor edge it is all -1. O(walks * length).
    """
    first, last = snapshots.anchor_start[steps], snapshots.anchor_start[steps + 1]
    any_edge = last > first
    edge = first + (rng.random(len(steps)) * (last - first)).astype(np.int64)
    ends = snapshots.anchors[np.where(any_edge, edge, 0)] if len(snapshots.anchors) else None
    if ends is None:
        return Walks(steps, np.full((len(steps), length), -1, np.int64))
    walks = edge_anchored(snapshots, steps, ends[:, 0], ends[:, 1], length, rng, places=(0,))
    walks.nodes[~any_edge] = -1
    return walks


def edge_anchored(
    snapshots: Snapshots,
    steps: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    length: int,
    rng: Generator,
    *,
    places: tuple[int, ...],
) -> Walks:
    """Walk through each edge (source, target).

    Walks are extended on both sides through the snapshots only. The edge stands at a uniform one of
    ``places`` and the place after it, in either direction. A node without a neighbour in its snapshot is
    followed by the node that it came from. Row i is a function of edge i, of the snapshots and of coins of
    its own; the edges need not be in the snapshots. O(walks * length).
    """
    turned = rng.integers(0, 2, size=len(steps)).astype(bool)
    place = np.asarray(places, dtype=np.int64)[rng.integers(0, len(places), size=len(steps))]
    nodes = np.full((len(steps), length), -1, dtype=np.int64)
    row = np.arange(len(steps))
    nodes[row, place] = np.where(turned, target, source)
    nodes[row, place + 1] = np.where(turned, source, target)
    coins = rng.random((len(steps), length))
    _extend(snapshots.start, snapshots.others, steps, nodes, place, coins)
    return Walks(steps, nodes)


def middles(length: int) -> tuple[int, ...]:
    """List the places of an edge in a walk's middle.

    There is one, or two where the number of edges is even.
    """
    return tuple(sorted({(length - 2) // 2, (length - 1) // 2}))


@kernel
def _extend(
    start: np.ndarray,
    others: np.ndarray,
    steps: np.ndarray,
    nodes: np.ndarray,
    place: np.ndarray,
    coins: np.ndarray,
) -> None:
    length = nodes.shape[1]
    for walk in range(len(steps)):
        begin = start[steps[walk]]
        for at in range(place[walk] + 2, length):
            nodes[walk, at] = _next(begin, others, nodes[walk, at - 1], nodes[walk, at - 2], coins[walk, at])
        for at in range(place[walk] - 1, -1, -1):
            nodes[walk, at] = _next(begin, others, nodes[walk, at + 1], nodes[walk, at + 2], coins[walk, at])


@kernel
def _next(begin: np.ndarray, others: np.ndarray, here: int, before: int, coin: float) -> Int:
    low, degree = begin[here], begin[here + 1] - begin[here]
    if degree == 0:
        return before
    return np.int64(others[low + min(np.int64(coin * degree), degree - 1)])


def just(
    snapshots: Snapshots, steps: np.ndarray, starts: np.ndarray, length: int, rng: Generator
) -> np.ndarray:
    """Walk by jump or stay from ``starts`` at ``steps``.

    The result is (walks, length) int64, -1 where a walk ended. After k nodes of one type in a row the walk
    stays in the type with probability STAY^k where it can, and must where there is no other; a jump goes to a
    uniform one of the other neighbouring types, not to the one left last where there is a choice; then to a
    uniform neighbour of that type (Hussein, Yang and Cudre-Mauroux, "Are meta-paths necessary?", CIKM 2018,
    with a memory of one type). O(walks * length * types * log degree).
    """
    offsets: np.ndarray = snapshots.layout.offsets
    return _just(snapshots.start, snapshots.others, offsets, steps, starts, length, STAY, rng)


@kernel
def _just(
    start: np.ndarray,
    others: np.ndarray,
    offsets: np.ndarray,
    steps: np.ndarray,
    starts: np.ndarray,
    length: int,
    stay: float,
    rng: Generator,
) -> np.ndarray:
    out = np.full((len(starts), length), -1, dtype=np.int64)
    types = len(offsets) - 1
    bounds = np.empty(types + 1, np.int64)
    for walk in range(len(starts)):
        begin = start[steps[walk]]
        here = starts[walk]
        out[walk, 0] = here
        kind, left, run = np.searchsorted(offsets, here, side="right") - 1, -1, 1
        for at in range(1, length):
            low, high = begin[here], begin[here + 1]
            if low == high:
                break
            row = others[low:high]
            choices = 0
            for o in range(types):
                bounds[o] = low + np.searchsorted(row, offsets[o])
            bounds[types] = high
            for o in range(types):
                if o != kind and bounds[o + 1] > bounds[o]:
                    choices += 1
            can_stay = bounds[kind + 1] > bounds[kind]
            goal = kind
            if choices > 0 and not (can_stay and rng.random() < stay**run):
                skip = left if choices > 1 and left >= 0 and bounds[left + 1] > bounds[left] else -1
                pick = rng.integers(0, choices - (skip >= 0))
                for o in range(types):
                    if o != kind and o != skip and bounds[o + 1] > bounds[o]:
                        if pick == 0:
                            goal = o
                            break
                        pick -= 1
            if goal == kind:
                run += 1
            else:
                left, kind, run = kind, goal, 1
            here = np.int64(others[bounds[goal] + rng.integers(0, bounds[goal + 1] - bounds[goal])])
            out[walk, at] = here
    return out

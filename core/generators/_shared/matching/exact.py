"""Simple graphs with prescribed integer degrees and block totals, by matching edge ends at random.

A configuration model that stays simple: ends are paired at random, and what would be a loop or a repeat is
worked in by swaps with placed edges that have an end of the same label, which keep all degrees and totals.
Reads noisy values only.
"""

from __future__ import annotations

import numpy as np

from core.generators._shared.blocks.reconstruct import Blocks
from core.generators._shared.matching.pairs import pack
from core.privacy.entropy import Generator as Rng

TRIES = 400  # chances of one pair of ends that fits nowhere to change ends with a placed edge, each time
SWEEPS = 8  # times that all such pairs get their chances, as long as one of them was lucky


def matched(
    degrees: np.ndarray,
    labels: np.ndarray,
    blocks: Blocks,
    rng: Rng,
    taken: np.ndarray | None = None,
) -> np.ndarray:
    """Match ends to distinct edges, as sorted int64 keys ``low * n + high``, none of them in ``taken``.

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
    left, right = _ends(degrees, labels, blocks, rng)
    return _placed(
        left, right, labels, nodes, np.empty(0, dtype=np.int64) if taken is None else taken, 0, rng
    )


def completed(keys: np.ndarray, degrees: np.ndarray, rng: Rng) -> np.ndarray:
    """Add edges where nodes in ``keys`` lack some of their ``degrees``; sorted keys, a simple graph.

    For ends that no block had room for: they are paired at random, and change ends with any edge where the
    pair is taken. ``keys``: sorted, of a simple graph; ``degrees``: integers (n,). O(m).
    """
    nodes = len(degrees)
    left, right = np.divmod(keys, nodes)
    used = np.bincount(np.concatenate([left, right]), minlength=nodes)
    open_ends = np.maximum(np.asarray(degrees, dtype=np.int64) - used, 0)
    ends = rng.permutation(np.repeat(np.arange(nodes, dtype=np.int64), open_ends))
    half = len(ends) // 2
    left, right = np.concatenate([left, ends[:half]]), np.concatenate([right, ends[half : 2 * half]])
    nowhere = np.empty(0, dtype=np.int64)
    return _placed(left, right, np.zeros(nodes, dtype=np.int64), nodes, nowhere, len(keys), rng)


def one_block(ends: int) -> Blocks:
    """Make the blocks of a graph without labels: one, with half of ``ends`` edges."""
    zero = np.zeros(1, dtype=np.int64)
    return Blocks(zero, zero, np.array([ends // 2], dtype=np.int64))


def _ends(degrees: np.ndarray, labels: np.ndarray, blocks: Blocks, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Choose the nodes at both ends of every wanted edge, at random; edges that find no end are left out."""
    nodes = len(degrees)
    stubs = rng.permutation(np.repeat(np.arange(nodes, dtype=np.int64), degrees))
    stubs = stubs[np.argsort(labels[stubs], kind="stable")]
    count = int(max(labels.max(initial=0), blocks.row.max(initial=0), blocks.column.max(initial=0))) + 1
    have = np.bincount(labels[stubs], minlength=count)
    block = np.repeat(np.arange(len(blocks.edges)), blocks.edges)
    slot = np.concatenate([blocks.row[block], blocks.column[block]])
    order = rng.permutation(len(slot))
    order = order[np.argsort(slot[order], kind="stable")]
    asked = np.bincount(slot, minlength=count)
    rank = np.arange(len(slot)) - np.repeat(np.cumsum(asked) - asked, asked)
    served = rank < have[slot[order]]
    place = (np.cumsum(have) - have)[slot[order]] + rank
    node = np.full(len(slot), -1, dtype=np.int64)
    node[order[served]] = stubs[place[served]]
    left, right = node[: len(block)], node[len(block) :]
    whole = (left >= 0) & (right >= 0)
    return left[whole], right[whole]


def _placed(
    left: np.ndarray,
    right: np.ndarray,
    labels: np.ndarray,
    nodes: int,
    taken: np.ndarray,
    done: int,
    rng: Rng,
) -> np.ndarray:
    """Place the edges that can be placed, as sorted keys; the first ``done`` stand already."""
    from core.generators._shared.matching.placing import place

    slot_label = np.stack([labels[left], labels[right]])
    stands = place(left, right, nodes, slot_label, taken, done, TRIES, SWEEPS, rng)
    return np.sort(pack(left[stands], right[stands], nodes))

"""Simple graphs of prescribed degrees and block totals.

Degrees are integers, and edge ends are matched at random. A configuration model that stays simple: ends are
paired at random, and what would be a loop or a repeat is worked in by swaps with placed edges that have an
end of the same label, which keep all degrees and totals. Reads noisy values only.
"""

from __future__ import annotations

import numpy as np

from core.graphs.columns.key_sort import sorted_keys
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.matching import ends
from core.methods._shared.matching.swapping import first_of_each, joined, worked_in
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
    """Match ends to distinct edges, none of them in ``taken``.

    The keys are sorted int64 ``low * n + high``.

    ``degrees``: integers (n,), upper bounds on the new degrees, met wherever the numbers allow it. ``labels``
    (n,): the node's block row. ``blocks``: edges wanted between labels i <= j. Degrees and totals are met
    together where each label's degrees sum to its ends in ``blocks``; ends in excess stay unused. ``taken``:
    sorted keys that are in the graph already. Expected O(m log m) time, 25 bytes an edge at its peak.
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
    sides = blocks.row.astype(np.int64), blocks.column.astype(np.int64)
    labels, edges = np.asarray(labels, dtype=np.int64), np.maximum(blocks.edges, 0).astype(np.int64)
    left, right, held = ends.ends_of(degrees, labels, *sides, edges, rng)
    keys = sorted_keys(ends.packed(left, right, nodes))
    size, repeated = ends.once_each(keys)
    base = keys[:size].view(np.int64)
    taken = np.empty(0, dtype=np.int64) if taken is None else np.asarray(taken, dtype=np.int64)
    occupied = np.intersect1d(base, taken, assume_unique=True) if len(taken) else taken
    stands = first_of_each(left, right, nodes, repeated, occupied)
    first = np.concatenate([[0], np.cumsum(held)])
    # Loops are in no key; what is repeated or taken changes ends with edges that stand.
    gone, added = worked_in((left, right, nodes), (first, *sides), stands, base, taken, (TRIES, SWEEPS), rng)
    gone = np.concatenate([gone, occupied])
    # Sorted here: Numba would compile a sort into each kernel, for a second each.
    return base if not len(gone) + len(added) else ends.merged(base, np.sort(gone), np.sort(added))


def completed(keys: np.ndarray, degrees: np.ndarray, rng: Rng) -> np.ndarray:
    """Add edges where nodes lack some of their ``degrees``.

    They are added to ``keys``; sorted keys, a simple graph. For ends that no block had room for: they are
    paired at random, and change ends with any edge of ``keys`` where the pair is taken. ``keys``: sorted, of
    a simple graph; ``degrees``: integers (n,). O(m).
    """
    nodes = len(degrees)
    open_ends = np.maximum(np.asarray(degrees, dtype=np.int64) - ends.degrees_in(keys, nodes), 0)
    half = int(open_ends.sum()) // 2
    if not half:
        return keys
    blocks = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    left, right, _ = ends.ends_of(open_ends, np.zeros(nodes, dtype=np.int64), *blocks, np.array([half]), rng)
    # Edges that stand may change ends too, so that ends whose only partners are linked find others.
    gone, added = joined((left, right, nodes), keys, (TRIES, SWEEPS), rng)
    return ends.merged(keys, np.sort(gone), np.sort(added))


def one_block(ends: int) -> Blocks:
    """Make the blocks of a graph without labels. There is one, with half of ``ends`` edges."""
    zero = np.zeros(1, dtype=np.int64)
    return Blocks(zero, zero, np.array([ends // 2], dtype=np.int64))

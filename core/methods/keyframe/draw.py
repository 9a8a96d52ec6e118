"""A graph from one step's columns. Stubs are matched between two degree classes. Reads noisy values only."""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.whole import Blocks, whole_blocks
from core.methods._shared.degrees.counts import integers
from core.methods._shared.frame.columns import Columns
from core.methods._shared.matching.ends import degrees_in, merged
from core.methods._shared.matching.exact import matched, one_block
from core.methods._shared.matching.pairs import top_up
from core.methods._shared.node_values.blocks import joined
from core.methods.base import Parameters
from core.methods.keyframe.kernels import first_come
from core.privacy.entropy import Generator as Rng

SCALINGS = 30


def draw(
    columns: Columns, nodes: int, params: Parameters, rng: Rng, before: np.ndarray | None = None
) -> np.ndarray:
    """Sample one synthetic graph as sorted int64 keys.

    They are ``low * n + high``. Expected O(n + m log m). Of the edges ``before``, those sampled for the step
    before, the share stays that the columns say. Edge ends that find no partner in their cell are matched
    over all nodes; edges that still find no place join nodes at random. A live snapshot has its edges at fit.
    """
    if "key" in columns:
        return columns["key"]
    label = columns["label"].astype(np.int64)
    whole = np.minimum(integers(columns["degree"].astype(np.float64), rng), nodes - 1)
    kept = _staying(before, whole, columns, rng)
    degrees = whole - degrees_in(kept, nodes)
    blocks = cells(degrees, label, columns["ratio"])
    if len(columns.get("group", ())):
        label, blocks = _crossed(degrees, label, blocks, columns, rng)
    # Kept edges are in the graph already: nothing may be matched onto them.
    keys = _joined(kept, matched(degrees, label, blocks, rng, taken=kept))
    left = whole - degrees_in(keys, nodes)
    if left.sum() >= 2:
        rest = matched(left, np.zeros(nodes, dtype=np.int64), one_block(int(left.sum())), rng, taken=keys)
        keys = _joined(keys, rest)
    return top_up(keys, nodes, int(whole.sum()) // 2, rng)


def _joined(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Join sorted keys of which none is in both."""
    return merged(keys, others[:0], others) if len(keys) else others


def _staying(before: np.ndarray | None, degrees: np.ndarray, columns: Columns, rng: Rng) -> np.ndarray:
    """Keep edges of the step before at random, while both their nodes have ends left; sorted int64 keys.

    None where more than half of all pairs are linked: there the absent ones are matched.
    """
    nodes, total = len(degrees), int(degrees.sum())
    share = float(columns["kept"][0]) if len(columns.get("kept", ())) else 0.0
    if before is None or not len(before) or total > nodes * (nodes - 1) // 2:
        return np.empty(0, dtype=np.int64)
    return np.sort(first_come(rng.permutation(before), degrees.copy(), int(np.rint(share * (total // 2)))))


def _crossed(
    degrees: np.ndarray, label: np.ndarray, blocks: Blocks, columns: Columns, rng: Rng
) -> tuple[np.ndarray, Blocks]:
    """Cross the degree classes with groups of attribute values, so that both meet as was read."""
    counts = blocks.edges.astype(np.float64)
    labels, found = joined(label, counts, columns["group"].astype(np.int64), columns["mixing"], degrees)
    odd = np.flatnonzero(degrees)[: int(degrees.sum()) % 2]  # an end too many finds no partner anyway
    even = degrees - np.bincount(odd, minlength=len(degrees))
    return labels, whole_blocks(found, labels, even, rng)


def cells(degrees: np.ndarray, label: np.ndarray, ratio: np.ndarray) -> Blocks:
    """Compute the wanted edges inside and between two classes.

    They are inside class 0, between the classes and inside class 1: in the given ratios to a Chung-Lu graph
    as far as the classes' degrees and sizes allow.
    """
    ends = np.bincount(label, weights=degrees, minlength=2).astype(np.int64)
    size = np.bincount(label, minlength=2)
    mass = np.outer(ends, ends) * np.array([[ratio[0], ratio[1]], [ratio[1], ratio[2]]])
    for _ in range(SCALINGS):  # symmetric scaling to the row sums
        rows = mass.sum(axis=1)
        factor = np.sqrt(np.divide(ends, rows, out=np.zeros(2), where=rows > 0))
        mass = mass * np.outer(factor, factor)
    room = size * (size - 1) // 2
    fewest = max(0, *(ends - 2 * room))  # ends that can only go across
    across = int(np.clip(np.rint(mass[0, 1]), min(fewest, ends.min()), min(ends.min(), size[0] * size[1])))
    inside = np.minimum((ends - across) // 2, room)
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    return Blocks(
        np.concatenate([zero, zero, one]),
        np.concatenate([zero, one, one]),
        np.array([inside[0], across, inside[1]]),
    )

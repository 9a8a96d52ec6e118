"""Protected vectors of nodes, as binned marginals by group.

How often each number lies in which bin, by group of the first other attribute.

One read a vector (:meth:`core.privacy.reads.node_values.NodeValueReads.vectors`). Of a group's noisy counts
that which adds up is kept, so that of many rare numbers the noise does not become numbers; then each group is
shrunk towards all groups together, and these towards 0, by as much of what sets them apart as noise explains
(James and Stein). How a vector's numbers go together is kept as far as groups tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.graphs.schema import Attribute
from core.graphs.schema.node_bins import most_counted, node_bins
from core.methods._shared.degrees.counts import to_total
from core.methods._shared.node_values.fit import dealt
from core.methods._shared.node_values.share import Noise
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.node_values import Counted, NodeValueReads, bin_of_zero

MOST_CELLS = 2**22
"""Cells that are read of a vector; where groups would make more, all nodes are one."""


def paid_vectors(
    reads: NodeValueReads,
    declared: Sequence[Attribute],
    noises: Sequence[Noise],
    first: tuple[str, np.ndarray, np.ndarray] | None,
    nodes: int,
) -> list[dict[str, np.ndarray]]:
    """Pay for each vector's groups and laws.

    These are the group of every node, and the law of every group's numbers.

    ``first``: another attribute, the group of each of its bins, and the bin that every node was dealt.
    """
    found = []
    for vector, noise in zip(declared, noises, strict=True):
        groups, of = np.zeros(nodes, dtype=np.int64), None
        if first is not None:
            name, of_bin, bins = first
            cells = (int(of_bin.max()) + 1) * (vector.length or 0) * node_bins(vector).count
            if cells <= MOST_CELLS:
                groups, of = of_bin[bins], (name, of_bin)
        counted = reads.vectors(vector.name, of, noise=noise, purpose=f"numbers of {vector.name}")
        shares = shares_of(counted, np.bincount(groups, minlength=len(counted.values)), vector)
        found.append({"bins": groups.astype(np.int32), "shares": shares.astype(np.float32).ravel()})
    return found


def shares_of(counted: Counted, nodes: np.ndarray, vector: Attribute) -> np.ndarray:
    """Turn noisy counts into shares of each group's nodes.

    They are float64 (groups, length, bins), 1 over the bins.

    ``nodes`` (groups,): how many each has.
    """
    rest = bin_of_zero(vector)
    away = np.delete(counted.values, rest, axis=2)
    if not away.size:  # a single bin
        return np.ones(counted.values.shape)
    every, variance = int(nodes.sum()), counted.deviation**2
    whole = away.sum(axis=0)
    # Sums over groups: their noises add up.
    overall = _explained_share(whole, variance * len(nodes)) * _kept(whole, every, vector) / max(every, 1)
    shares = np.empty(away.shape)
    for group, (counts, count) in enumerate(zip(away, nodes.tolist(), strict=True)):
        own = _kept(counts, count, vector) / max(count, 1)
        # James and Stein again: a group stands apart only as far as noise does not explain it.
        shares[group] = overall + _explained_share(counts - count * overall, variance) * (own - overall)
    # What is more than one in all is scaled; what is less goes to the bin of 0.
    shares /= np.maximum(shares.sum(axis=2, keepdims=True), 1)
    return np.insert(shares, rest, np.maximum(1 - shares.sum(axis=2), 0), axis=2)


def _explained_share(counts: np.ndarray, variance: float) -> float:
    """Return the share of noisy counts that their noise does not explain."""
    return max(0.0, 1 - counts.size * variance / max(float(np.square(counts).sum()), 1e-9))


def _kept(counts: np.ndarray, nodes: int, vector: Attribute) -> np.ndarray:
    """Make noisy counts (length, bins) of that many nodes possible: none below 0, and not more in all than
    nodes may have."""
    most = most_counted(vector) * nodes
    total = float(np.clip(counts.sum(), 0, min(most, nodes * counts.size)))
    return to_total(counts.ravel(), total, nodes).reshape(counts.shape)


def drawn(vector: Attribute, columns: Mapping[str, Any], rng: Rng) -> np.ndarray:
    """Deal every node its group's numbers.

    The result is float32 (n, length). Those in the bin of 0 are 0 where ``nonzero`` is declared, others
    sampled inside their bins. O(length n log n).
    """
    bins, groups = node_bins(vector), columns["bins"].astype(np.int64)
    shares = np.asarray(columns["shares"], dtype=np.float64).reshape(-1, vector.length or 0, bins.count)
    found = np.empty((len(groups), shares.shape[1]), dtype=np.float32)
    for place in range(shares.shape[1]):
        own = dealt(shares[:, place], groups, rng)
        numbers = bins.values(own, rng.random(len(own)))
        if vector.nonzero is not None:
            numbers = np.where(own == bin_of_zero(vector), 0.0, numbers)
        found[:, place] = numbers
    low, high = vector.bounds or (-math.inf, math.inf)
    # Rounding to single precision may step past a bound.
    return np.clip(found, np.float32(low), np.float32(high))

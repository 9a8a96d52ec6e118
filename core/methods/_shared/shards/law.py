"""The law of a graph that is sampled in shards.

It is a degree-corrected block model of independent pairs, or of pairs of two sides (:func:`sided_law`).

**Law.** Nodes u have weights w(u), whole numbers, and labels. For every two labels there is a rate; the pair
{u, v} is sampled a Poisson number of times, of mean rate * w(u) * w(v), and is an edge where that is not
zero. All pairs are independent, so the edges of some pairs say nothing of the others': drawing them apart, in
any number of shards, is the same law. The rates are such that the expected number of draws between two labels
is what the fit says.

**Strips.** The nodes are cut into strips of consecutive ones. A pair belongs to the strip of its smaller end,
which samples it: a Poisson number of pairs for every label of the strip's nodes and every label of the nodes
from its first one on, each with ends in proportion to the weights, those dropped whose second end is not the
larger. Loops are dropped so, and repeats as well, inside the strip: no other draws the same pair. Dropping
keeps the law, as thinned Poisson numbers are Poisson and independent.

**Bytes.** How many pairs a strip draws is settled here, once, and kept; the rest of a strip is whole numbers
from a stream of random bits that is keyed by the model's key and the strip's number. So a strip that is
sampled again is the same, on any machine, and a shard is a range of strips: the edges do not depend on how
many shards there are.

All of it is post-processing of noisy values. The key stands with them and is as private as they are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.schema.partable import Slots
from core.methods._shared.blocks.whole import Blocks
from core.privacy.entropy import Generator as Rng

KEY_BYTES = 32
STRIP_EDGES = 1 << 20  # expected edges of a strip, about: what is in memory at once
MOST_STRIPS = 1 << 16
MOST_TALLIES = 1 << 24  # of a strip: its nodes times labels


@dataclass(frozen=True)
class StripLaw:
    """A sharded law.

    ``order`` (p,): the nodes of positive weight, by label and then number; ``cumulative`` (p + 1,): their
    weights summed up. ``bounds`` (s + 1,): each strip's first node, then the number of nodes; ``first`` (s +
    1, k): the place in ``order`` where each label's nodes from there on begin. ``copies`` (s, k, k): how many
    pairs a strip draws from one label of its own to another. ``key``: of the random bits. ``targets``: 0, or
    how many there are of a law of two sides (:func:`sided_law`), whose pairs have ``loops`` or not.
    """

    order: np.ndarray
    cumulative: np.ndarray
    bounds: np.ndarray
    first: np.ndarray
    copies: np.ndarray
    key: bytes
    targets: int = 0
    loops: bool = False

    @property
    def nodes(self) -> int:
        """The size of the universe, or of the sources'."""
        return int(self.bounds[-1])

    @property
    def slots(self) -> Slots:
        """The pairs that there may be."""
        return Slots(self.nodes, self.targets or self.nodes, not self.targets, self.loops)

    @property
    def strips(self) -> int:
        """How many strips there are."""
        return len(self.copies)

    @property
    def edges(self) -> int:
        """Count the pairs that all strips sample.

        They are about as many edges, as few pairs are sampled twice.
        """
        return int(self.copies.sum())

    @property
    def most_shards(self) -> int:
        """Return the largest number of shards. None has less than a strip."""
        return self.strips

    def shard(self, number: int, shards: int) -> range:
        """Return the strips of one of so many shards. ValueError where there is no such shard."""
        if not 1 <= shards <= self.strips:
            raise ValueError(f"there are {self.strips} strips, which make 1 to {self.strips} shards")
        if not 0 <= number < shards:
            raise ValueError(f"shards are numbered from 0 to {shards - 1}")
        return range(number * self.strips // shards, (number + 1) * self.strips // shards)

    def save(self, folder: Path, prefix: str = "") -> None:
        """Write it to ``folder``, files named after ``prefix``. :func:`load_law` gives back an equal one."""
        folder.mkdir(parents=True, exist_ok=True)
        nodes = pa.table({"node": self.order, "weight": np.diff(self.cumulative)})
        pq.write_table(nodes, folder / f"{prefix}nodes.parquet", compression="zstd")
        copies = np.zeros((self.strips + 1, self.copies.shape[1] ** 2), dtype=np.int64)
        copies[:-1] = self.copies.reshape(self.strips, -1)
        columns = {"bound": self.bounds, "first": _lists(self.first), "copies": _lists(copies)}
        sided = {"targets": str(self.targets), "loops": str(int(self.loops))} if self.targets else {}
        strips = pa.table(columns, metadata={"key": self.key.hex(), **sided})
        pq.write_table(strips, folder / f"{prefix}strips.parquet", compression="zstd")


def load_law(folder: Path, prefix: str = "") -> StripLaw:
    """Read what :meth:`StripLaw.save` wrote."""
    nodes, strips = (pq.read_table(folder / f"{prefix}{name}.parquet") for name in ("nodes", "strips"))
    first, copies = _matrix(strips["first"]), _matrix(strips["copies"])[:-1]
    groups = first.shape[1]
    return StripLaw(
        nodes["node"].to_numpy(),
        _summed(nodes["weight"].to_numpy()),
        strips["bound"].to_numpy(),
        first,
        copies.reshape(-1, groups, groups),
        bytes.fromhex(strips.schema.metadata[b"key"].decode()),
        int(strips.schema.metadata.get(b"targets", 0)),
        bool(int(strips.schema.metadata.get(b"loops", 0))),
    )


def _lists(rows: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def _matrix(lists: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(lists.combine_chunks().flatten().to_numpy()).reshape(len(lists), -1)


def strip_law(
    weights: np.ndarray,
    labels: np.ndarray,
    blocks: Blocks,
    key: bytes,
    rng: Rng,
    strip_edges: int = STRIP_EDGES,
) -> StripLaw:
    """Make the law of a graph with expected block counts.

    So many edges are expected between labels, before repeats are dropped.

    ``weights`` (n,): whole numbers, not negative; ``labels`` (n,). A label without weight gets no edges, and
    one node no loops. O(n log n + strips * k^2).
    """
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    groups = int(max(labels.max(initial=0), blocks.row.max(initial=0), blocks.column.max(initial=0))) + 1
    rows = max(1, MOST_TALLIES // groups)
    bounds = _bounds(weights, int(blocks.edges.sum()), strip_edges, rows)
    order = np.flatnonzero(weights > 0)
    if groups > 1:
        order = order[np.argsort(labels[order], kind="stable")]
    order = order.astype(np.int32 if len(weights) < 2**31 else np.int64)
    cumulative = _summed(weights[order])
    segment = np.concatenate([[0], np.cumsum(np.bincount(labels[order], minlength=groups))])
    first = np.stack(
        [begin + np.searchsorted(order[begin:end], bounds) for begin, end in itertools.pairwise(segment)],
        axis=1,
    ).astype(np.int64)
    reached = cumulative[first].astype(np.float64)
    # Nodes of the strip count among those to come: pairs the wrong way round are dropped when sampled.
    own, onward = np.diff(reached, axis=0), reached[-1] - reached[:-1]
    means = own[:, :, None] * onward[:, None, :] * _rates(weights, labels, blocks, groups)
    copies = rng.poisson(means)
    return StripLaw(order, cumulative, bounds, first, copies, key)


def sided_law(
    sources: np.ndarray,
    targets: np.ndarray,
    edges: int,
    key: bytes,
    rng: Rng,
    strip_edges: int = STRIP_EDGES,
    *,
    loops: bool,
) -> StripLaw:
    """Make the law of a directed relation, or of one between two node types, with that many edges expected.

    Targets are nodes behind the sources, of a label of their own, so that pairs are from one label to the
    other alone; strips are of sources. ``sources`` and ``targets``: weights, whole numbers, not negative.
    Without ``loops`` a source is not its own target, and what is expected of it goes to the others. O(n).
    """
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    weights, own = np.concatenate([sources, targets]), int((sources > 0).sum())
    order = np.flatnonzero(weights > 0).astype(np.int32 if len(weights) < 2**31 else np.int64)
    cumulative = _summed(weights[order])
    strips, reached = int(np.clip(-(-edges // strip_edges), 1, MOST_STRIPS)), np.cumsum(sources)
    inner = np.searchsorted(reached, np.arange(1, strips) / strips * reached[-1:].sum()) + 1
    evenly = np.arange(0, len(sources), MOST_TALLIES // 2)
    bounds = np.unique(np.concatenate([evenly, inner[inner < len(sources)], [len(sources)]])).astype(np.int64)
    first = np.full((len(bounds), 2), own, dtype=np.int64)
    first[:, 0], first[-1, 1] = np.searchsorted(order[:own], bounds), len(order)
    of_strip = np.diff(cumulative[first[:, 0]]).astype(np.float64)
    total = float(cumulative[own]), float(cumulative[-1] - cumulative[own])
    # A source's mass with itself goes to the other pairs.
    pairs = total[0] * total[1] - (0 if loops else float(sources.astype(np.float64) @ targets))
    means = np.zeros((len(of_strip), 2, 2))
    means[:, 0, 1] = of_strip * total[1] * (edges / pairs if pairs > 0.5 else 0)
    return StripLaw(order, cumulative, bounds, first, rng.poisson(means), key, len(targets), loops)


def _rates(weights: np.ndarray, labels: np.ndarray, blocks: Blocks, groups: int) -> np.ndarray:
    """Return the mean draws of a pair of unit weights between two labels, (k, k), symmetric."""
    weights = weights.astype(np.float64)
    total = np.bincount(labels, weights=weights, minlength=groups)
    squares = np.bincount(labels, weights=weights * weights, minlength=groups)
    inside = blocks.row == blocks.column
    both = total[blocks.row] * total[blocks.column]
    # Of different nodes: squares are loops.
    pairs = np.where(inside, (both - squares[blocks.row]) / 2, both)
    rates = np.zeros((groups, groups))
    rates[blocks.row, blocks.column] = np.divide(
        blocks.edges, pairs, out=np.zeros(len(pairs)), where=pairs > 0.5
    )
    rates[blocks.column, blocks.row] = rates[blocks.row, blocks.column]
    return rates


def _bounds(weights: np.ndarray, edges: int, strip_edges: int, rows: int) -> np.ndarray:
    """Cut 0..n into strips of about so many edges by their smaller end, and ``rows`` nodes at most; int64.

    Of the edges, 1 - (1 - f)^2 have it among the first nodes that hold the share f of all weight.
    """
    nodes, strips = len(weights), int(np.clip(-(-edges // strip_edges), 1, MOST_STRIPS))
    reached = np.cumsum(weights, dtype=np.int64)
    share = 1 - np.sqrt(1 - np.arange(1, strips) / strips)
    inner = np.searchsorted(reached, share * (reached[-1] if nodes else 0)) + 1
    evenly = np.arange(0, nodes, rows)
    return np.unique(np.concatenate([evenly, inner[inner < nodes], [nodes]])).astype(np.int64)


def _summed(weights: np.ndarray) -> np.ndarray:
    cumulative = np.zeros(len(weights) + 1, dtype=np.int64)
    np.cumsum(weights, out=cumulative[1:])
    return cumulative

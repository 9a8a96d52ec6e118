"""Vectors of nodes at steps, and candidates.

They are by skip-gram over jump-or-stay walks; candidates are those that a generator may choose. Section 4.3
of the paper embeds with JUST. Whatever is here derives from the snapshots that were handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.learning.skip_gram import skip_gram
from core.privacy.entropy import Generator
from papers.thepuff.snapshots import Snapshots
from papers.thepuff.walks import Walks, just

WALKS_A_ROW = 3
FEWEST_WALKS = 3_000  # a small graph takes more walks to be learned at all
MOST_WALKS = 200_000
WALK_LENGTH = 20
WINDOW = 2
NEGATIVES = 5
EPOCHS = 3
MOST_ROWS = 2**20
"""Above so many (node, step) pairs a node has one vector for all steps."""


@dataclass(frozen=True)
class Embedding:
    """The vectors and each node's mean.

    ``table`` is (rows, d), the mean over its rows ``over_time`` (nodes, d); float32. Centred type by type,
    since what all nodes of a type share tells nothing apart. Row v < nodes is node v at any step without a
    row of its own; row nodes + i is the pair ``pairs[i]`` = step * nodes + node, sorted. Every vector has the
    length sqrt(d), so that at first no choice by distance prefers one node to another; what no walk saw
    points in a random direction. ``over_time`` is Eq. 7's sum over time, scaled; one object with ``table``
    where a node has one row only.
    """

    pairs: np.ndarray
    table: np.ndarray
    over_time: np.ndarray

    def rows(self, steps: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Find the rows of nodes (>= 0) at steps, broadcast; int64. O(values * log pairs)."""
        return _rows(self.pairs, len(self.over_time), steps, nodes)


def _rows(pairs: np.ndarray, count: int, steps: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    if not len(pairs):
        return np.broadcast_to(nodes, np.broadcast_shapes(np.shape(steps), np.shape(nodes)))
    wanted = np.asarray(steps, dtype=np.int64) * count + nodes
    at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    return np.where(pairs[at] == wanted, count + at, nodes)


def learned_degrees(snapshots: Snapshots, step: int) -> np.ndarray:
    """Compute degrees at a step over the learned cells.

    Only these count, paid ones if any; (nodes,) float64.
    """
    rows = snapshots.anchors[snapshots.anchor_start[step] : snapshots.anchor_start[step + 1]]
    seen = np.bincount(rows.ravel(), minlength=snapshots.layout.nodes)
    lacking: np.ndarray = snapshots.node_degrees(step) - (np.diff(snapshots.start[step]) - seen)
    return lacking


def embed(
    snapshots: Snapshots,
    dimensions: int,
    rng: Generator,
    seed: int,
    most: int = MOST_ROWS,
    *,
    walks_a_row: int | None = None,
    length: int = WALK_LENGTH,
) -> Embedding:
    """Learn vectors of nodes and of node-step pairs.

    A pair is a node and a step at which it has an anchor edge or degree. ``walks_a_row`` walks from each of
    these pairs; None: WALKS_A_ROW, within FEWEST_WALKS and MOST_WALKS in all. Memory O(rows * dimensions).
    """
    layout = snapshots.layout
    active = []
    for step in range(layout.steps):
        rows = snapshots.anchors[snapshots.anchor_start[step] : snapshots.anchor_start[step + 1]]
        joined = np.bincount(rows.ravel(), minlength=layout.nodes) > 0
        active.append(np.flatnonzero(joined | (learned_degrees(snapshots, step) > 0)) + step * layout.nodes)
    sources = np.concatenate(active).astype(np.int64)
    pairs = sources if layout.steps > 1 and len(sources) <= most else np.empty(0, np.int64)
    count = layout.nodes + len(pairs)
    times = walks_a_row or max(WALKS_A_ROW, FEWEST_WALKS // max(len(sources), 1))
    chosen = rng.permutation(np.tile(sources, times))[: None if walks_a_row else MOST_WALKS]
    table = np.zeros((count, dimensions), np.float32)
    if len(chosen):
        steps, starts = np.divmod(chosen, layout.nodes)
        walks = just(snapshots, steps, starts, length, rng)
        found = np.where(walks >= 0, _rows(pairs, layout.nodes, steps[:, None], np.maximum(walks, 0)), -1)
        table = skip_gram(
            found, count, dimensions=dimensions, window=WINDOW, negatives=NEGATIVES, epochs=EPOCHS, seed=seed
        )
    if not len(pairs):
        table = _of_one_length(table, layout.type_of(np.arange(count)), rng)
        return Embedding(pairs, table, table)
    seen = np.any(table != 0, axis=1)
    total, times = table[: layout.nodes].copy(), seen[: layout.nodes].astype(np.float32)
    of = pairs % layout.nodes
    np.add.at(total, of, table[layout.nodes :])
    times += np.bincount(of, seen[layout.nodes :], layout.nodes).astype(np.float32)
    return Embedding(
        pairs,
        _of_one_length(table, layout.type_of(np.append(np.arange(layout.nodes), of)), rng),
        _of_one_length(total / np.maximum(times, 1)[:, None], layout.type_of(np.arange(layout.nodes)), rng),
    )


def _of_one_length(table: np.ndarray, types: np.ndarray, rng: Generator) -> np.ndarray:
    """Centre the rows by type and scale them to length sqrt(d), in place; zero rows point at random."""
    seen = np.any(table != 0, axis=1)
    for kind in np.unique(types[seen]):
        rows = seen & (types == kind)
        if np.count_nonzero(rows) > 1:
            table[rows] -= table[rows].mean(axis=0)
    empty = np.flatnonzero(~np.any(table != 0, axis=1))
    table[empty] = rng.standard_normal((len(empty), table.shape[1]), dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table))
    table *= (np.sqrt(table.shape[1]) / lengths)[:, None].astype(np.float32)
    return table


@dataclass(frozen=True)
class Candidates:
    """The nodes that a generator may choose at each step.

    They are type by type, with log weights. Block b = ``block[step, type]`` holds ``nodes[start[b] : start[b
    + 1]]`` (global, ascending), their rows in the embedding and their log degrees. Types outside all learned
    relations have one block for all steps.
    """

    block: np.ndarray
    start: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray
    weights: np.ndarray

    def columns(self) -> Mapping[str, np.ndarray]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in ("block", "start", "nodes", "rows", "weights")}


def candidates(snapshots: Snapshots, embedding: Embedding, by_degree: bool = True) -> Candidates:
    """Choose nodes with a degree in the step's learned cells.

    Where a type has none, all of its nodes are chosen. Of a type outside the learned relations: nodes with an
    edge of the others. Weights are 0 unless they go ``by_degree``. O(steps * nodes).
    """
    layout = snapshots.layout
    learned = _timed_types(snapshots)
    block = np.empty((layout.steps, len(layout.types)), dtype=np.int64)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    shared: dict[int, int] = {}
    for step in range(layout.steps):
        degrees = learned_degrees(snapshots, step)
        for kind in range(len(layout.types)):
            if kind in shared:
                block[step, kind] = shared[kind]
                continue
            low, high = layout.offsets[kind], layout.offsets[kind + 1]
            timed = kind in learned
            values = degrees[low:high] if timed else np.diff(snapshots.start[step])[low:high]
            nodes = low + np.flatnonzero(values > 0)
            weight = np.log(values[nodes - low].astype(np.float64) if by_degree else np.ones(len(nodes)))
            if not len(nodes):
                nodes, weight = np.arange(low, high), np.zeros(high - low)
            block[step, kind] = len(parts)
            parts.append((nodes, embedding.rows(np.full(len(nodes), step), nodes), weight))
            if not timed:
                shared[kind] = len(parts) - 1
    return Candidates(
        block,
        np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])]).astype(np.int64),
        *(np.concatenate(column) for column in zip(*parts, strict=True)),
    )


def _timed_types(snapshots: Snapshots) -> set[int]:
    relations = snapshots.layout.relations
    return {kind for each in relations if each.learned for kind in (each.source, each.target)}


def across_steps(snapshots: Snapshots, chosen: Candidates) -> Candidates:
    """Offer the candidates of all steps at once, as timestamped nodes (Eq. 13 and 14).

    Node v at step t has the number v * (steps + 1) + t, and v * (steps + 1) + steps where its type is outside
    all learned relations, so that it has no step. O(candidates).
    """
    steps, timed = snapshots.layout.steps, _timed_types(snapshots)
    parts: list[tuple[np.ndarray, ...]] = []
    for kind in range(len(snapshots.layout.types)):
        for step in range(steps) if kind in timed else (steps,):
            block = chosen.block[min(step, steps - 1), kind]
            own = slice(chosen.start[block], chosen.start[block + 1])
            number = chosen.nodes[own] * (steps + 1) + step
            parts.append((np.full(len(number), kind), number, chosen.rows[own], chosen.weights[own]))
    kinds, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    ends = np.searchsorted(kinds, np.arange(len(snapshots.layout.types) + 1)).astype(np.int64)
    return Candidates(np.arange(len(ends) - 1)[None], ends, *columns)


def timestamped(numbers: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Read (steps, nodes) of walks of :func:`across_steps` numbers, both (w, length) int64.

    A node without a step has that of the node before it; the first node of a walk has one.
    """
    nodes, at = np.divmod(numbers, steps + 1)
    for place in range(1, at.shape[1]):
        at[:, place] = np.where(at[:, place] == steps, at[:, place - 1], at[:, place])
    return at, nodes


def type_weights(snapshots: Snapshots, walks: Walks) -> np.ndarray:
    """Count how often a type follows a type.

    The counts are float64 (steps, 3, types + 1, types), 0 where forbidden. The places of a walk are the
    first, the second and all later ones; row ``types`` stands for no type before (place 0 reads that row
    only). The first two places are the ends of an anchor edge and go by the counts of the cells; later ones
    by the transitions of ``walks``, plus a half.
    """
    layout = snapshots.layout
    kinds = len(layout.types)
    found = np.zeros((layout.steps, 3, kinds + 1, kinds))
    for (name, step), count in snapshots.counts.items():
        each = next(relation for relation in layout.relations if relation.name == name)
        weight = max(count, 0.5)
        for first, second in ((each.source, each.target), (each.target, each.source)):
            found[step or 0, 0, kinds, first] += weight
            found[step or 0, 1, first, second] += weight
    full = walks.nodes[:, 0] >= 0
    types = layout.type_of(walks.nodes[full])
    later = found[:, 2, :kinds]
    np.add.at(later, (walks.steps[full][:, None], types[:, 1:-1], types[:, 2:]), 1.0)
    later += 0.5
    later *= layout.allowed
    return found

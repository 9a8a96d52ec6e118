"""Values for drawn edges: weights raked until nodes, classes, periods and the whole have what was paid for.

Post-processing: paid tables and drawn edges, nothing else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.generators._shared.values.kernels import chosen, expected_of, expected_of_nodes
from core.graphs.graph import Graph
from core.graphs.tables import EdgeValues
from core.graphs.value_bins import ValueBins, bins_of
from core.privacy.entropy import Generator as Rng

if TYPE_CHECKING:
    from core.generators._shared.frame.columns import Columns
    from core.generators._shared.frame.model import StoredCells
    from core.graphs.tables import EdgeTable

ROUNDS = 4
FURTHEST = 12.0
"""Weights of a node are within exp of that of one another."""


def dressed(graph: Graph, tables: StoredCells, rng: Rng) -> Graph:
    """Give the edges of a drawn graph values, attribute by attribute, each by itself."""
    edges = dict(graph.edges)
    columns: dict[str, dict[str, np.ndarray]] = {}
    for (name, place), cell in tables.cells.items():
        relation = graph.schema.edge_type(name)
        attribute = relation.attributes[place or 0]
        undirected = tables.shape(name).undirected
        drawn = drawn_values(cell, edges[name], bins_of(attribute), undirected, rng)
        columns.setdefault(name, {})[attribute.name] = drawn
    for name, found in columns.items():
        edges[name] = replace(edges[name], values=EdgeValues(found))
    return Graph.build(graph.schema, graph.nodes, edges)


def drawn_values(
    columns: Columns, edges: EdgeTable, fine: ValueBins, undirected: bool, rng: Rng
) -> np.ndarray:
    """Draw one value for each edge; a stored column. O(rounds * edges * bins)."""
    if not edges.count:
        return fine.values(np.empty(0, dtype=np.int64), np.empty(0))
    weights = _Weights(columns, edges, undirected)
    for _ in range(ROUNDS):
        weights.rake_nodes()
        weights.rake_pairs()
        weights.rake_periods()
    bins = chosen(*(*weights.arguments(), rng.random(edges.count)))
    return fine.values(_inside(columns, bins, rng), rng.random(edges.count))


def _inside(columns: Columns, bins: np.ndarray, rng: Rng) -> np.ndarray:
    """Choose a fine bin in each of ``bins``, by the paid histogram."""
    histogram, of_bin = columns["histogram"], columns["bins"]
    order = np.argsort(of_bin, kind="stable")
    until = np.cumsum(histogram[order])
    size = np.bincount(of_bin, weights=histogram)
    start = np.cumsum(size) - size
    place = np.searchsorted(until, start[bins] + rng.random(len(bins)) * size[bins], side="right")
    first = np.searchsorted(of_bin[order], np.arange(len(size)))
    last = np.append(first[1:], len(order)) - 1
    return order[np.clip(place, first[bins], last[bins])]


class _Weights:
    """The factors of every edge's weights, and what each is raked to."""

    def __init__(self, columns: Columns, edges: EdgeTable, undirected: bool) -> None:
        self.kinds, self.score = columns["kinds"].astype(np.int64), columns["score"]
        bins = len(self.kinds)
        source, target = edges.source.astype(np.int64), edges.target.astype(np.int64)
        self.undirected = undirected
        side = ("source", "source" if undirected else "target")
        classes = [columns[f"{each}_classes"].astype(np.int64) for each in side]
        width = 1 if len(self.score) else bins
        self.rates = [columns[f"{each}_rates"].astype(np.float64).reshape(-1, width) for each in side]
        count = int(classes[1].max()) + 1
        pair = classes[0][source] * count + classes[1][target]
        step = np.zeros(edges.count, np.int64) if edges.step is None else edges.step.astype(np.int64)
        self.places = np.stack([source, target, pair, columns["periods"].astype(np.int64)[step]])
        self.pair_shares = columns["pairs"].reshape(-1, int(self.kinds.max()) + 1)
        self.period_shares = columns["steps"].reshape(-1, bins)
        mass = np.bincount(columns["bins"], weights=columns["histogram"], minlength=bins)
        self.of_pair = np.ones((len(self.pair_shares), bins))
        self.of_period = np.tile(mass, (len(self.period_shares), 1))
        self.of_nodes = [np.ones((len(each), bins)) for each in self.rates]
        if undirected:
            self.of_nodes[1] = self.of_nodes[0]
        self.tilts = [np.zeros(len(each)) for each in self.rates]

    def arguments(self) -> tuple[np.ndarray, ...]:
        return (self.places, *self.of_nodes, self.of_pair, self.of_period)

    def rake_nodes(self) -> None:
        """Bring every node's edges nearer to what it was read to have."""
        sources, targets = expected_of_nodes(*self.arguments())
        if self.undirected:
            self._rake_side(0, sources + targets)
            self.of_nodes[1] = self.of_nodes[0]
        else:
            self._rake_side(0, sources)
            self._rake_side(1, targets)

    def _rake_side(self, side: int, found: np.ndarray) -> None:
        # Both ends of an edge are moved at once: each goes half of the way.
        size = found.sum(axis=1)
        held = size > 0
        if not len(self.score):
            wanted = self.rates[side] * size[:, None]
            ratio = np.sqrt((wanted + 1e-9) / (found + 1e-9))
            moved = np.clip(np.log(self.of_nodes[side]) + np.log(ratio), -FURTHEST, FURTHEST)
            self.of_nodes[side] = np.where(held[:, None], np.exp(moved), 1.0)
            return
        mean = found @ self.score
        spread = found @ self.score**2 - mean**2 / np.maximum(size, 1e-12) + 1.0
        step = 0.5 * (self.rates[side][:, 0] * size - mean) / spread
        most = FURTHEST / max(1.0, float(np.abs(self.score).max()))
        self.tilts[side] = np.where(held, np.clip(self.tilts[side] + step, -most, most), 0.0)
        self.of_nodes[side] = np.exp(self.tilts[side][:, None] * self.score[None, :])

    def rake_pairs(self) -> None:
        """Give every pair of classes its shares of the kinds of value."""
        found = expected_of(2, len(self.pair_shares), *self.arguments())
        of_kind = np.zeros((len(found), self.pair_shares.shape[1]))
        np.add.at(of_kind.T, self.kinds, found.T)
        wanted = self.pair_shares * of_kind.sum(axis=1, keepdims=True)
        ratio = np.where(of_kind > 0, wanted / np.maximum(of_kind, 1e-12), 1.0)
        self.of_pair *= np.clip(ratio, 1e-6, 1e6)[:, self.kinds]

    def rake_periods(self) -> None:
        """Give every period its shares of the bins; without time the whole relation."""
        found = expected_of(3, len(self.period_shares), *self.arguments())
        wanted = self.period_shares * found.sum(axis=1, keepdims=True)
        ratio = np.where(found > 0, wanted / np.maximum(found, 1e-12), 1.0)
        self.of_period *= np.clip(ratio, 1e-6, 1e6)

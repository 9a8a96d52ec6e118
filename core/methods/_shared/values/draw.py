"""Values for sampled edges, raked to paid totals.

Nodes, classes, periods and the whole have what was paid for; values are sampled so that nodes have nearly
what they are expected to, with less chance than samples edge by edge. Post-processing: paid tables and
sampled edges, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.graphs.columns.tables import EdgeTable, EdgeValues
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.graphs.schema.value_bins import ValueBins, bins_of
from core.graphs.views.joined import joined, parted
from core.graphs.views.records import number_of_records, with_numbers
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import StoredCells
from core.methods._shared.values.bins import SCORE, TOTAL
from core.methods._shared.values.kernels import (
    chosen,
    expected_of,
    expected_of_nodes,
)
from core.methods._shared.values.scored import (
    CLASS,
    GRID,
    MEAN,
    TILT,
    add_scores,
    chosen_by_score,
    moments_of,
    node_rows,
    tilts_for,
)
from core.privacy.entropy import Generator as Rng

ROUNDS = 3
"""Of raking; nodes begin where they would have what was read, if all others were alike."""
STEP = 0.8
"""Of Newton's step, as both ends of an edge move at once."""
AT_ONCE = 2**21
"""Edges whose values are drawn at once: what a draw needs beside its edges does not grow with them."""
ENOUGH = 2**18
"""Of more than twice so many edges pairs of classes and periods are raked by some, evenly spaced."""
DRAWS = 3
"""Of numbers of records whose sum is told apart: each with what the one before was off by; the nearest
stands."""
LEAST_SHARE = 1e-6
"""Of edges with so many records: noise may leave nothing of all but one number, which no tilt could mend."""
HALVES = 40
"""Of the interval in which a tilt is sought."""
FURTHEST = 12.0
"""Weights of a node are within exp of that of one another."""


def dressed(graph: Graph, tables: StoredCells, rng: Rng) -> Graph:
    """Give a sampled graph's edges values, attribute by attribute.

    Each is by itself; where each record is kept, first comes the number of an edge's records.
    """
    edges = dict(graph.edges)
    for name in dict.fromkeys(name for name, _ in tables.cells):
        relation = graph.schema.edge_type_or_every(name)
        first = tables.cells[name, 0]
        if "graphs" in first:  # of a collection: values of all graphs together
            graphs = [graph.schema.edge_types[place].name for place in first["graphs"].tolist()]
            values = _carried(tables, relation, joined(graph, graphs).edges[name].bare(), rng)
            parts = parted(values, {each: edges[each] for each in graphs})
            edges |= {each: replace(edges[each], values=own) for each, own in parts.items()}
        else:
            values = _carried(tables, relation, edges[name].bare(), rng)
            edges[name] = replace(edges[name], values=values)
    return Graph.build(graph.schema, graph.nodes, edges)


def _carried(tables: StoredCells, relation: EdgeType, table: EdgeTable, rng: Rng) -> EdgeValues:
    undirected, edge = relation.homogeneous and not relation.directed, None
    numbers = tables.cells.get((relation.name, len(relation.attributes)))
    if numbers is not None:
        laws = [tables.cells[relation.name, place] for place in range(len(relation.attributes))]
        drawn = drawn_with_total(numbers, laws, table, relation, undirected, rng)
        table, edge = with_numbers(table, drawn)
    columns = {
        each.name: drawn_values(tables.cells[relation.name, place], table, bins_of(each), undirected, rng)
        for place, each in enumerate(relation.attributes)
    }
    return EdgeValues(columns, edge)


def drawn_with_total(
    numbers: Columns,
    values: Sequence[Columns],
    edges: EdgeTable,
    relation: EdgeType,
    undirected: bool,
    rng: Rng,
) -> np.ndarray:
    """Sample how many records each edge has; where records are apart as many in all as were counted."""
    if not edges.count or any(TOTAL not in each for each in values):
        return drawn_numbers(numbers, edges, relation, undirected, rng)
    wanted = aim = told_total(values)
    found = []
    for _ in range(DRAWS):  # what nodes lack moves the sum as well, and not by chance alone
        tables = with_total(numbers, aim, edges, relation)
        found.append(drawn_numbers(tables, edges, relation, undirected, rng))
        aim += wanted - float(found[-1].sum())
    # Whichever came nearest: corrections may go too far, as drawn numbers spread by chance.
    return min(found, key=lambda each: abs(float(each.sum()) - wanted))


def told_total(values: Sequence[Columns]) -> float:
    """Tell how many records there are: what each attribute's values were counted to, weighed by their
    noise."""
    counts, noise = np.array([each[TOTAL] for each in values]).T
    # By precision: what noise has little of counts for more.
    return float((counts / noise).sum() / (1 / noise).sum())


def with_total(numbers: Columns, wanted: float, edges: EdgeTable, relation: EdgeType) -> Columns:
    """Tilt the tables of edges' numbers of records, so that there are as many records as wanted.

    A few noisy edges of many records add more to the sum than all others, where one record more or less moves
    counts of values by one. So where records are apart these say how many there are. Numbers are tilted by
    exp(tilt number), which moves the rare high ones most.
    """
    fine = bins_of(number_of_records(relation))
    bins = numbers["bins"]
    histogram = shares_tilted(numbers["histogram"][None, :], np.zeros(1))[0]
    mass = np.bincount(bins, weights=histogram)
    middle = np.bincount(bins, weights=histogram * fine.middles) / mass
    shares = numbers["steps"].reshape(-1, len(mass))
    step = np.zeros(edges.count, np.int64) if edges.step is None else edges.step
    of_period = np.bincount(numbers["periods"][step], minlength=len(shares))
    # So far that the rarest number would become the likeliest.
    furthest = -2 * np.log(LEAST_SHARE) / max(float(np.ptp(middle)), 1.0)
    low, high = -furthest, furthest
    # The mean rises with the tilt, by the variance: halving an interval finds it.
    for _ in range(HALVES):
        tilt = (low + high) / 2
        below = of_period @ (shares_tilted(shares, tilt * middle) @ middle) < wanted
        low, high = (tilt, high) if below else (low, tilt)
    kinds = numbers["kinds"]
    # A kind joins bins: it is tilted by their mean.
    of_kind = np.bincount(kinds, weights=mass * middle) / np.bincount(kinds, weights=mass)
    pairs = shares_tilted(numbers["pairs"].reshape(-1, len(of_kind)), tilt * of_kind)
    steps = shares_tilted(shares, tilt * middle)
    return {**numbers, "histogram": histogram, "steps": steps.ravel(), "pairs": pairs.ravel()}


def shares_tilted(shares: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Weigh each row of shares by exp(by), which adds up to one again."""
    # Relative to the largest, so that exp does not overflow; the sum takes that out again.
    found = np.maximum(shares, LEAST_SHARE) * np.exp(by - by.max())
    weighed: np.ndarray = found / found.sum(axis=1, keepdims=True)
    return weighed


def drawn_numbers(
    columns: Columns, edges: EdgeTable, relation: EdgeType, undirected: bool, rng: Rng
) -> np.ndarray:
    """Sample how many records each edge has.

    The result is int32, at least 1, at most what the relation declares.
    """
    return drawn_values(columns, edges, bins_of(number_of_records(relation)), undirected, rng)


def drawn_values(
    columns: Columns, edges: EdgeTable, fine: ValueBins, undirected: bool, rng: Rng
) -> np.ndarray:
    """Draw one value for each edge; a stored column. O(rounds * edges * bins)."""
    if not edges.count:
        return fine.values(np.empty(0, dtype=np.int64), np.empty(0))
    weights = Weights(columns, edges, undirected)
    weights.rake_margins()
    for _ in range(ROUNDS):
        weights.rake_nodes()
        weights.rake_margins()
    weights.owe_nothing()
    found = []
    for start in range(0, edges.count, AT_ONCE):
        places = _inside(columns, weights.chosen(slice(start, start + AT_ONCE), rng), rng)
        shares = np.empty(0) if fine.single else rng.random(len(places))
        found.append(fine.values(places, shares))
    return np.concatenate(found)


def _inside(columns: Columns, bins: np.ndarray, rng: Rng) -> np.ndarray:
    """Choose a fine bin in each of ``bins``, by the paid histogram."""
    histogram, of_bin = columns["histogram"], columns["bins"]
    # Then ``of_bin`` is a permutation, and sorting it gives its inverse.
    if len(columns["kinds"]) == len(histogram):  # each is one by itself
        rows: np.ndarray = np.argsort(of_bin, kind="stable")[bins]
        return rows
    order = np.argsort(of_bin, kind="stable")
    until = np.cumsum(histogram[order])
    size = np.bincount(of_bin, weights=histogram)
    start = np.cumsum(size) - size
    place = np.searchsorted(until, start[bins] + rng.random(len(bins)) * size[bins], side="right")
    first = np.searchsorted(of_bin[order], np.arange(len(size)))
    last = np.append(first[1:], len(order)) - 1
    # Rounding may step over a bin's end; clamp it back.
    within: np.ndarray = order[np.clip(place, first[bins], last[bins])]
    return within


class Weights:
    """The factors of every edge's weights, and what each is raked to. Rates that are no number say that
    nothing was read of a node, which then follows from its edges' other ends."""

    def __init__(self, columns: Columns, edges: EdgeTable, undirected: bool) -> None:
        self.kinds, self.score = columns["kinds"].astype(np.int64), columns["score"]
        bins = len(self.kinds)
        no_step = np.empty(0, dtype=np.int32)
        ends = edges.source, edges.target, no_step if edges.step is None else edges.step
        self.ends = tuple(np.ascontiguousarray(each, dtype=np.int32) for each in ends)
        self.undirected = undirected
        side = ("source", "source" if undirected else "target")
        classes = [columns[f"{each}_classes"].astype(np.int32) for each in side]
        width = 1 if len(self.score) else bins
        self.rates = [columns[f"{each}_rates"].astype(np.float64).reshape(-1, width) for each in side]
        self.where = (
            classes[0],
            classes[1],
            int(classes[1].max(initial=0)) + 1,
            columns["periods"].astype(np.int32),
        )
        self.pair_shares = columns["pairs"].reshape(-1, int(self.kinds.max()) + 1)
        self.period_shares = columns["steps"].reshape(-1, bins)
        mass = np.bincount(columns["bins"], weights=columns["histogram"], minlength=bins)
        self.of_pair = np.ones((len(self.pair_shares), bins))
        # Begins with the whole relation's mass: all other factors are relative to it.
        self.of_period = np.tile(mass, (len(self.period_shares), 1))
        most = np.exp(FURTHEST)
        # A node's share over the mass, as that is a factor by itself.
        self.of_nodes = [
            np.ones((len(each), 1))
            if width == 1
            else np.clip(np.where(np.isnan(each), mass, each) / np.maximum(mass, 1e-12), 1 / most, most)
            for each in self.rates
        ]
        self.rows = [node_rows(each) for each in (classes if len(self.score) else ())]
        self.furthest = FURTHEST / max(1.0, float(np.abs(self.score).max(initial=0)))
        self.sizes = [
            np.bincount(each, minlength=len(rate)) for each, rate in zip(ends[:2], self.rates, strict=True)
        ]
        if undirected:  # both ends of an edge are of one side
            self.of_nodes[1], self.rows[1:] = self.of_nodes[0], self.rows[:1] * len(self.rows[1:])
            self.sizes[0] += self.sizes[1]
            self.rates = self.rates[:1]
        self.powers = np.rint(self.score).astype(np.int64) + SCORE
        for rate, rows in zip(self.rates, self.rows, strict=False):  # as if its edges' other ends had none
            tilts = tilts_for(rate[:, 0], self._by_score(mass[None, :])[0], self.furthest)
            rows[:, TILT] = np.where(np.isnan(rate[:, 0]), 0.0, tilts)
        self.stride = max(1, edges.count // ENOUGH)

    def factors(self) -> tuple[np.ndarray, ...]:
        of_nodes = self.of_nodes
        if len(self.score):
            # A slice of one, so that it stays a column.
            of_nodes = [np.exp(each[:, TILT:CLASS]) for each in self.rows]
        return (*of_nodes, self.of_pair, self.of_period)

    def owe_nothing(self) -> None:
        """Begin to draw: no node is owed any value yet."""
        for each in self.rows:
            each[:, MEAN] = 0.0
        owed = [np.zeros(each.shape, dtype=np.float32) for each in self.of_nodes]
        self.owed = owed[0], owed[0] if self.undirected else owed[1]

    def chosen(self, edges: slice, rng: Rng) -> np.ndarray:
        """Draw a bin for each of the edges, by their weights."""
        source, target, step = self.ends
        some = source[edges], target[edges], step[edges]
        uniform = rng.random(len(some[0]))
        if not len(self.score):
            return chosen(some, self.where, self.factors(), self.powers, self.owed, uniform)
        inside = self._inside()
        rows, where, by_score = self._tilted(inside)
        return chosen_by_score(some, rows, where, by_score, inside, self.powers, uniform)

    def rake_nodes(self) -> None:
        """Bring every node's edges nearer to what it was read to have."""
        if len(self.score):
            for each in self.rows:
                each[:, MEAN:] = 0.0
            rows, where, by_score = self._tilted(self._inside())
            # Either end's tilt is within ``furthest``, so their sum is within twice that.
            reach = 2 * self.furthest
            add_scores(self.ends, rows, where, moments_of(by_score, reach), reach)
            for side, own in enumerate(self.rows[: len(self.rates)]):
                self._tilt(side, own)
            return
        sources, targets = expected_of_nodes(self.ends, self.where, self.factors(), self.powers)
        if self.undirected:
            self._rake_side(0, sources + targets)
            self.of_nodes[1] = self.of_nodes[0]
        else:
            self._rake_side(0, sources)
            self._rake_side(1, targets)

    def _rake_side(self, side: int, found: np.ndarray) -> None:
        # What the node's edges have, not what was read: numbers of edges are the structure's.
        size = found.sum(axis=1)
        wanted = self.rates[side] * size[:, None]
        # Both ends of an edge are moved at once: each goes half of the way.
        ratio = np.where(np.isnan(wanted), 1.0, np.sqrt((wanted + 1e-9) / (found + 1e-9)))
        moved = np.clip(np.log(self.of_nodes[side]) + np.log(ratio), -FURTHEST, FURTHEST)
        self.of_nodes[side] = np.where((size > 0)[:, None], np.exp(moved), 1.0)

    def _tilt(self, side: int, rows: np.ndarray) -> None:
        """Bring the mean score of every node's edges nearer to what was read, by a part of Newton's step."""
        (mean, variance), size = rows[:, MEAN:].T, self.sizes[side]
        # One more than the variance: a node whose few edges hardly vary would leap.
        step = STEP * (self.rates[side][:, 0] * size - mean) / (variance + 1.0)
        step = np.where(np.isnan(step), 0.0, step)
        tilt = rows[:, TILT] + np.clip(step, -self.furthest / 3, self.furthest / 3)
        rows[:, TILT] = np.clip(tilt, -self.furthest, self.furthest)

    def rake_classes(self) -> None:
        """Bring nodes nearer to what they were read to have, where edges are a sample of those to come.

        A node's other ends are then as those that nodes of its class meet. Nothing where values have no
        order.
        """
        if not len(self.score):
            return
        source, target, step = self.ends
        rows, (second, periods, pairs), by_score = self._tilted(self._inside())
        known = moments_of(by_score, 2 * self.furthest)[:, :, 0]
        at = self.where[0][source].astype(np.int64) * second + self.where[1][target]
        at += pairs * periods[step] if len(step) else 0
        # Half as fine as the grid: the sum of two of these tilts is a place of it.
        places = GRID // 2
        tilts = np.linspace(-self.furthest, self.furthest, places + 1)
        for side, own in enumerate(self.rows[: len(self.rates)]):
            ends = [(source, target), (target, source)]
            facing = ends if self.undirected else ends[side : side + 1]
            other, classes = rows[1 - side], own[:, CLASS].astype(np.int64)
            found = np.zeros((int(classes.max(initial=0)) + 1, places + 1))
            for one, two in facing:
                # Other ends are put on the same grid, so that edges of one class, pair and tilt are counted
                # together.
                grid = np.rint((other[two, TILT] + self.furthest) / (2 * self.furthest) * places)
                key = (classes[one] * len(known) + at) * (places + 1) + grid.astype(np.int64)
                met, count = np.unique(key, return_counts=True)
                met, place = np.divmod(met, places + 1)
                of_class, group = np.divmod(met, len(known))
                for tilt in range(places + 1):
                    np.add.at(found[:, tilt], of_class, count * known[group, place + tilt])
            size = np.bincount(np.concatenate([classes[one] for one, _ in facing]), minlength=len(found))
            for number in np.flatnonzero(size):
                nodes = np.flatnonzero(classes == number)
                means = found[number] / size[number]
                # Means rise with the tilt, so that interpolation inverts them.
                own[nodes, TILT] = np.interp(self.rates[side][nodes, 0], means, tilts)

    def rake_margins(self) -> None:
        """Give every pair of classes and every period its shares."""
        self._rake_pairs()
        self._rake_periods()

    def _rake_pairs(self) -> None:
        """Give every pair of classes its shares of the kinds of value."""
        found = self._expected(by_pair=True)
        of_kind = np.zeros((len(found), self.pair_shares.shape[1]))
        np.add.at(of_kind.T, self.kinds, found.T)
        wanted = self.pair_shares * of_kind.sum(axis=1, keepdims=True)
        # A kind that no edge can have is left as it is; and no single read may take a kind away for good.
        ratio = np.where(of_kind > 0, wanted / np.maximum(of_kind, 1e-12), 1.0)
        self.of_pair *= np.clip(ratio, 1e-6, 1e6)[:, self.kinds]

    def _rake_periods(self) -> None:
        """Give every period its shares of the bins; without time the whole relation."""
        found = self._expected(by_pair=False)
        wanted = self.period_shares * found.sum(axis=1, keepdims=True)
        ratio = np.where(found > 0, wanted / np.maximum(found, 1e-12), 1.0)
        self.of_period *= np.clip(ratio, 1e-6, 1e6)

    def _expected(self, by_pair: bool) -> np.ndarray:
        return expected_of(by_pair, self.ends, self.where, self.factors(), self.powers, self.stride)

    def _inside(self) -> np.ndarray:
        """The factors of every period and pair of classes, (periods * pairs, bins)."""
        return (self.of_period[:, None, :] * self.of_pair[None, :, :]).reshape(-1, len(self.kinds))

    def _tilted(self, inside: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """What kernels of scores ask: rows of nodes, classes, periods, and ``inside`` added up by score."""
        return tuple(self.rows), (*self.where[2:], len(self.of_pair)), self._by_score(inside)

    def _by_score(self, factors: np.ndarray) -> np.ndarray:
        found = np.zeros((len(factors), 2 * SCORE + 1))
        np.add.at(found.T, self.powers, factors.T)
        return found

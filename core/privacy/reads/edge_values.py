"""Reads of the values that one relation's edges carry. They are tables of whole numbers, with noise.

Every read is a sum over records, of all steps together. An edge has one record, or, where its relation keeps
each, at most as many as are declared. A record adds a vector of integers that depends on its own ends, step
and value alone, of length at most S in L1. Bins are public (:mod:`core.graphs.schema.value_bins`); labels and
scores are public or already paid for. How many records an edge has is read in the same ways, as if the edge
had one record that carries the number.

Unit: EDGE, EVENT, W_EVENT and PAIR, one more or one less. An edge is a slot, a node pair at a step, with
all of its records: what stays beside an edge is one record more or less of it counts as another value.
Every cell of the relation (every step, or the only cell) is charged the read's epsilon, before anything is
read; under PAIR the first alone.

Graphs of a collection are read together as one graph, side by side: a sum over the edges of all of them, for
which the only cell of each is charged. An edge lies in one graph, and one is what the unit EDGE has.

Proof. EDGE, EVENT, W_EVENT: let neighbours differ in edges that lie in c cells of the relation. A unit has at
most e edges in one cell (:func:`core.privacy.units.edges_of_unit`), of which r records each count at most
(:func:`core.graphs.views.records.counted`; the cap that is declared, or 1), so that the sums move by at most
c e r S, and the noise is discrete Laplace of scale e r S / epsilon: outcomes change in probability by
exp(c epsilon) at most. What the unit is charged is epsilon for each of these c cells at least: under EDGE and
EVENT c is 1; under W_EVENT there is at most one edge in each step, and a window is charged for all of its
steps. PAIR: of each of a pair's directions r records count at most, of all steps together, chosen by a rule
that looks at no other pair: the sums move by e r S at most, at epsilon, charged once, in one event.
A value is a function of its own edge's rows (:mod:`core.graphs.columns.merging`), so adding or removing an
edge adds or removes its own records and changes no other. An edge whose records alone change is one edge less
and one more: 2 epsilon. A snapshot of a live stream is a graph of one step, which a unit under W_EVENT has
one edge of: its reads see no other step, what they may be told of earlier ones was paid for there, and the
sums of a window are those of its steps.

Of a graph in parts (``tables``) the sum comes group by group: no edge is in two groups, as parts are
canonical and share no pair, which is checked as they are read, so that it is the sum over all records. Each
edge has one record there, and all count: reads under PAIR, which choose among a pair's steps, are of
relations without time. What an edge carries was made of its own rows when the parts were written.

Records apart (``EdgeType.records_apart``; EDGE and EVENT): the unit is one record, and neighbours differ in
one of one edge, in one cell, which is charged. All records count, with no sample of as many as are declared:
one more could change which ones it has. So sums over records move by S, whatever the cap. Of numbers of
records: an edge that had none has one number more, S; an edge that has others has its number replaced, one
vector of length S at most less and one more, 2 S. Both are within the noise of 2 S. The edge itself, which
structure reads, is added in the first case alone, and in the second stays: so an edge's reads and these are
charged s + c + v at most. (Noise of S would be enough for numbers where 2 c <= s + c, but only while epsilons
are summed: of Renyi curves that of 2 c is above the sum of s and c.) A record that changes is one less and
one more: 2 epsilon; an edge with k records costs k epsilon.

Reads that follow from what was read before compose by sums, in each cell, with all other reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.columns.tables import EdgeTable, NodeTable
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.value_bins import ValueBins, bins_of
from core.graphs.views.joined import joined
from core.graphs.views.records import asked_for, counted, each_alone, numbered
from core.privacy import limits, queries
from core.privacy.accounting.events import NANO, Pure, check_nano_epsilon
from core.privacy.accounting.meter import Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.value_kernels import by_group, by_pair
from core.privacy.units import Unit, charged_together, numbers_of_unit, record_is_unit, records_of_unit

MOST_SCORE = 1024
SIDES = ("source", "target")
MOST_OF_A_PAIR = "most_of_a_pair"
"""The argument that says how many records of a node pair count, where not all of them do."""
OF_NUMBERS = {
    "value_histogram": "record_histogram",
    "values_by_step": "records_by_step",
    "values_by_node": "records_by_node",
    "values_by_classes": "records_by_classes",
    "node_value_sums": "node_record_sums",
}
"""How the reads are called where they ask for the number of an edge's records: fewer count."""

Records = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Universe(Protocol):
    """A graph, in memory or in parts: its schema and its nodes."""

    @property
    def schema(self) -> GraphSchema: ...
    @property
    def nodes(self) -> Mapping[str, NodeTable]: ...


class EdgeValueReads:
    """The reads of one attribute of one protected relation. They are those of the number of an edge's records
    where ``attribute`` is None. Made by ``PrivateGraph.edge_values`` and ``edge_records``."""

    def __init__(
        self,
        graph: Universe,
        meter: Meter,
        relation: str,
        attribute: str | None,
        together: Sequence[str] = (),
        tables: Callable[[], Iterable[EdgeTable]] | None = None,
    ) -> None:
        """``together``: graphs of a collection that ``graph`` has joined; each is charged. ``tables``: the
        relation's edges in groups, where ``graph`` does not hold them."""
        self._graph = graph
        self._meter = meter
        self._together = tuple(together)
        self._tables = tables
        self.relation = _declared(graph.schema, relation)
        self.bins: ValueBins = bins_of(asked_for(self.relation, attribute))
        self._numbers = attribute is None
        ends = [self.relation.source, self.relation.target]
        counts = [sum(graph.nodes[each].count for each in self._together or (end,)) for end in ends]
        self.shape = queries.Shape(self.relation, *counts)

    @property
    def sides(self) -> tuple[str, ...]:
        """Name the sides that node reads may have. Both ends together where the relation is undirected."""
        return ("both",) if self.shape.undirected else SIDES

    @property
    def multiplicity(self) -> int:
        """Records of a unit that count for what one cell is charged. Public."""
        of_unit = numbers_of_unit if self._numbers else records_of_unit
        return of_unit(self._meter.plan.unit, self.relation)

    def counted(self, table: EdgeTable) -> EdgeTable:
        """Keep the records that count. They are those of any table, one row each, that would count if it were
        the relation's own."""
        if record_is_unit(self._meter.plan.unit, self.relation):
            return table
        single, by_pair = self._numbers or self.relation.merged, self._meter.plan.unit is Unit.PAIR
        if single and not by_pair:
            return table
        return counted(table, 1 if single else self.relation.records_per_slot or 1, by_pair)

    def histogram(self, *, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Count the records of each bin; (bins,).

        Sensitivity: L1 1. Unit, proof: the module's; a record has one value, which lies in one bin.
        """
        size = self.bins.count

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            return np.bincount(bin, minlength=size)

        return self._noisy("value_histogram", size, 1, nano_epsilon, purpose, measure, {})

    def by_step(
        self, *, periods: np.ndarray, labels: np.ndarray, nano_epsilon: int, purpose: str
    ) -> np.ndarray:
        """Count records by period and bin. The period is that of their step, bins by label; (periods,
        labels).

        ``periods`` (steps,) and ``labels`` (bins,): integers from 0 on. A record without time is of step 0.

        Sensitivity: L1 1. Unit, proof: the module's; a record has one step and one value.
        """
        of_step, p = queries.check_labels(periods, self._graph.schema.steps, None, "periods")
        of_bin, k = queries.check_labels(labels, self.bins.count, None, "labels")

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            return by_group(of_step, step, of_bin, bin, k)

        noisy = self._noisy(
            "values_by_step",
            p * k,
            1,
            nano_epsilon,
            purpose,
            measure,
            {"periods": of_step, "bin_labels": of_bin},
        )
        return noisy.reshape(p, k)

    def by_node(self, *, side: str, labels: np.ndarray, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Count every node's records by bin. The nodes are those of a side, bins by label; (nodes, labels).

        ``side``: "both" where the relation is undirected, else "source" or "target". ``labels`` (bins,).

        Sensitivity: L1 1, "both" 2. Unit, proof: the module's; a record is in the row of its end on that
        side, or, as there are no loops, in those of two nodes.
        """
        nodes = self._nodes(side)
        of_bin, k = queries.check_labels(labels, self.bins.count, None, "labels")

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            own = np.arange(nodes)
            counts = (by_group(own, end, of_bin, bin, k) for end in _ends(side, source, target))
            return sum(counts, np.zeros(nodes * k, dtype=np.int64))

        sensitivity = 2 if side == "both" else 1
        noisy = self._noisy(
            "values_by_node",
            nodes * k,
            sensitivity,
            nano_epsilon,
            purpose,
            measure,
            {"side": side, "bin_labels": of_bin},
        )
        return noisy.reshape(nodes, k)

    def node_sums(self, *, side: str, scores: np.ndarray, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Sum the scores of every node's records. The scores are those of the records' bins, the nodes those
        of a side; (nodes,).

        ``side``: as for :meth:`by_node`. ``scores`` (bins,): integers within -MOST_SCORE..MOST_SCORE.

        Sensitivity: L1 K, the largest absolute score; "both" 2 K. Unit, proof: the module's; a record adds
        one score to one node's sum, or to those of two nodes.
        """
        nodes, score = self._nodes(side), np.array(scores)
        if score.shape != (self.bins.count,) or not np.issubdtype(score.dtype, np.integer):
            raise InvalidInput("scores are an integer for each bin", field="scores")
        score = score.astype(np.int64)
        if np.abs(score).max() > MOST_SCORE:
            raise InvalidInput(f"scores lie within {MOST_SCORE} of 0", field="scores")

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            # Sums of whole numbers below 2^53: exact in floating point, in any order.
            totals = sum(
                np.bincount(end, weights=score[bin], minlength=nodes) for end in _ends(side, source, target)
            )
            return np.asarray(totals).astype(np.int64)

        most = max(1, int(np.abs(score).max()))
        sensitivity = 2 * most if side == "both" else most
        arguments = {"side": side, "scores": score}
        return self._noisy("node_value_sums", nodes, sensitivity, nano_epsilon, purpose, measure, arguments)

    def by_classes(
        self,
        *,
        sources: np.ndarray,
        targets: np.ndarray,
        labels: np.ndarray,
        nano_epsilon: int,
        purpose: str,
    ) -> np.ndarray:
        """Count records by both ends' classes and bin. The bin is by label; (source classes, target classes,
        labels).

        ``sources``, ``targets``: a class for each node of that side, from 0 on; ``labels`` (bins,). Where the
        relation is undirected both are the same, and a record counts where the smaller class comes first.

        Sensitivity: L1 1. Unit, proof: the module's; a record has one class at each end, and one value.
        """
        rows, k = queries.check_labels(sources, self.shape.source_count, None, "sources")
        columns, k2 = queries.check_labels(targets, self.shape.target_count, None, "targets")
        of_bin, kinds = queries.check_labels(labels, self.bins.count, None, "labels")
        if self.shape.undirected and not np.array_equal(rows, columns):
            raise InvalidInput("an undirected relation has one class for each node", field="targets")

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            return by_pair((rows, columns), (source, target), of_bin, bin, kinds, self.shape.undirected)

        arguments = {"sources": rows, "targets": columns, "bin_labels": of_bin}
        noisy = self._noisy("values_by_classes", k * k2 * kinds, 1, nano_epsilon, purpose, measure, arguments)
        return noisy.reshape(k, k2, kinds)

    def _nodes(self, side: str) -> int:
        if side not in self.sides:
            raise NotAccepted(
                "an undirected relation has side 'both', others 'source' or 'target'", field="side"
            )
        return self.shape.target_count if side == "target" else self.shape.source_count

    def _noisy(
        self,
        name: str,
        size: int,
        sensitivity: int,
        nano_epsilon: int,
        purpose: str,
        measure: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        arguments: Mapping[str, Any],
    ) -> np.ndarray:
        """Charge the cells, then sum ``measure(source, target, step, bin)`` and add noise; int64 (size,).

        ``arguments`` are kept with the answer, as what it was asked with.
        """
        check_nano_epsilon(nano_epsilon)
        limits.check_values(size)
        name = OF_NUMBERS[name] if self._numbers else name
        event, unit = Pure(nano_epsilon, f"discrete_laplace/{name}"), self._meter.plan.unit
        # Every cell has paid before a record is looked at.
        for relation in self._together or (self.relation.name,):
            for step in charged_together(unit, self._graph.schema.steps_of(relation)):
                self._meter.charge(relation, step, event, purpose)
        exact = np.zeros(size, dtype=np.int64)
        for records in self._records(size):
            exact += measure(*records)
        moved = sensitivity * self.multiplicity
        noisy = mechanisms.discrete_laplace(exact, moved, nano_epsilon)
        given, scale = {"bins": self.bins, **arguments}, Fraction(moved * NANO, nano_epsilon)
        # Of a pair's steps not all count then: whoever reads the answer needs to know how many do.
        if unit is Unit.PAIR and self.relation.temporal:
            given[MOST_OF_A_PAIR] = self.multiplicity
        self._meter.measurements.keep((self.relation.name, None), name, given, (), scale, noisy, purpose)
        return noisy

    def _records(self, size: int) -> Iterator[Records]:
        """The ends, the step (0 without time) and the bin, int16, of every record that counts, in groups.

        One is all of a graph in memory. Of parts a group has ``size`` records at least, if there are so many:
        what is made of it takes no longer than its records do.
        """
        if self._tables is None:
            yield self._read
            return
        held: list[Records] = []
        for table in self._tables():
            held.append(self._binned(table))
            if sum(len(each[0]) for each in held) >= size:
                yield _concatenated(held)
                held = []
        if held:
            yield _concatenated(held)

    @cached_property
    def _read(self) -> Records:
        """What every read needs, worked out by the first that was paid for."""
        assert isinstance(self._graph, Graph)
        graph = joined(self._graph, self._together) if self._together else self._graph
        table = graph.edges[self.relation.name]
        if table.values is None and table.count:  # a mistake in how the graph was opened
            raise InvalidInput("what edges carry was not read with the graph", field="attribute")
        return self._binned(table)

    def _binned(self, table: EdgeTable) -> Records:
        found = self.counted(numbered(table) if self._numbers else each_alone(table))
        held = {} if found.values is None else found.values.columns
        column = held.get(self.bins.attribute.name, np.zeros(0, dtype=np.int32))
        bins = self.bins.places(column).astype(np.int16)
        steps = np.zeros(found.count, np.int32) if found.step is None else found.step
        return found.source, found.target, steps, bins


def _concatenated(held: Sequence[Records]) -> Records:
    source, target, step, bins = (np.concatenate(columns) for columns in zip(*held, strict=True))
    return source, target, step, bins


def _ends(side: str, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, ...]:
    return {"source": (source,), "target": (target,), "both": (source, target)}[side]


def _declared(schema: GraphSchema, relation: str) -> EdgeType:
    try:
        found = schema.edge_type_or_every(relation)
    except KeyError:
        raise InvalidInput(f"no edge type {relation!r} is declared", field="edge_type") from None
    if found.public:
        raise NotAccepted(f"{relation!r} is public, and is not measured", field="edge_type")
    return found

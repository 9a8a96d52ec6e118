"""What may be asked of the values that the edges of one relation carry: tables of whole numbers, with noise.

Every read is a sum over the relation's edges, of all steps together: an edge adds a vector of integers that
depends on its own ends, step and value alone, of length at most S in L1. Bins are public
(:mod:`core.graphs.value_bins`); labels and scores are public or already paid for.

Unit: EDGE, EVENT, W_EVENT and PAIR, one more or one less. Every cell of the relation (every step, or the only
cell) is charged the read's epsilon, before anything is read.

Proof. Let neighbours differ in edges that lie in c cells of the relation. A unit has at most ``multiplicity``
edges in one cell, so the sums move by at most c * multiplicity * S, and the noise is discrete Laplace of
scale multiplicity * S / epsilon: outcomes change in probability by exp(c * epsilon) at most. What the unit is
charged is epsilon for each of these c cells at least: under EDGE and EVENT c is 1; under W_EVENT there is at
most one edge in each step, and a window is charged for all of its steps; under PAIR all cells are added up.
A value is a function of its own edge's rows (:mod:`core.graphs.merging`), so adding or removing an edge adds
or removes one value and changes no other. An edge whose value alone changes is one edge less and one more:
2 epsilon. Reads that follow from what was read before compose by sums, in each cell, with all other reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.value_bins import ValueBins, bins_of
from core.privacy import mechanisms, queries
from core.privacy.events import NANO, Pure, check_nano_epsilon
from core.privacy.units import edges_of_unit
from core.privacy.value_kernels import by_group, by_pair

if TYPE_CHECKING:
    from core.graphs.graph import Graph
    from core.graphs.schema import EdgeType, GraphSchema
    from core.privacy.meter import Meter

MOST_SCORE = 1024
SIDES = ("source", "target")


class EdgeValueReads:
    """The reads of one attribute of one protected relation. Made by ``PrivateGraph.edge_values``."""

    def __init__(self, graph: Graph, meter: Meter, relation: str, attribute: str) -> None:
        self._graph = graph
        self._meter = meter
        self.relation = _declared(graph.schema, relation)
        found = [each for each in self.relation.attributes if each.name == attribute]
        if not found:
            raise InvalidInput(f"{relation!r} declares no attribute {attribute!r}", field="attribute")
        if not self.relation.merged:
            raise NotAccepted(
                f"edges of {relation!r} may have several records each, and what those carry is not read: "
                "declare multiplicity merged",
                field="attribute",
            )
        self.bins: ValueBins = bins_of(found[0])
        counts = [graph.nodes[each].count for each in (self.relation.source, self.relation.target)]
        self.shape = queries.Shape(self.relation, *counts)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides of which nodes may be asked: both ends together where the relation is undirected."""
        return ("both",) if self.shape.undirected else SIDES

    @property
    def multiplicity(self) -> int:
        """Edges that one unit may have in one cell. Public."""
        return edges_of_unit(self._meter.plan.unit, self.relation)

    def histogram(self, *, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Count the edges of each bin; (bins,).

        Sensitivity: L1 1. Unit, proof: the module's; an edge has one value, which lies in one bin.
        """
        size = self.bins.count

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            return np.bincount(bin, minlength=size)

        return self._noisy("value_histogram", size, 1, nano_epsilon, purpose, measure, {})

    def by_step(
        self, *, periods: np.ndarray, labels: np.ndarray, nano_epsilon: int, purpose: str
    ) -> np.ndarray:
        """Count the edges by period of their step and label of their bin; (periods, labels).

        ``periods`` (steps,) and ``labels`` (bins,): integers from 0 on. An edge without time is of step 0.

        Sensitivity: L1 1. Unit, proof: the module's; an edge has one step and one value.
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
        """Count the edges of every node of a side by label of their bin; (nodes, labels).

        ``side``: "both" where the relation is undirected, else "source" or "target". ``labels`` (bins,).

        Sensitivity: L1 1, "both" 2. Unit, proof: the module's; an edge is in the row of its end on that side,
        or, as there are no loops, in those of two nodes.
        """
        nodes = self._nodes(side)
        of_bin, k = queries.check_labels(labels, self.bins.count, None, "labels")

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            own = np.arange(nodes)
            return sum(by_group(own, end, of_bin, bin, k) for end in _ends(side, source, target))

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
        """Sum, for every node of a side, the scores of its edges' bins; (nodes,).

        ``side``: as for :meth:`by_node`. ``scores`` (bins,): integers within -MOST_SCORE..MOST_SCORE.

        Sensitivity: L1 K, the largest absolute score; "both" 2 K. Unit, proof: the module's; an edge adds one
        score to one node's sum, or to those of two nodes.
        """
        nodes, score = self._nodes(side), np.array(scores)
        if score.shape != (self.bins.count,) or not np.issubdtype(score.dtype, np.integer):
            raise InvalidInput("scores are an integer for each bin", field="scores")
        score = score.astype(np.int64)
        if np.abs(score).max() > MOST_SCORE:
            raise InvalidInput(f"scores lie within {MOST_SCORE} of 0", field="scores")

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            # Sums of whole numbers below 2^53: exact in floating point, in any order.
            found = sum(
                np.bincount(end, weights=score[bin], minlength=nodes) for end in _ends(side, source, target)
            )
            return np.asarray(found).astype(np.int64)

        most = max(1, int(np.abs(score).max()))
        sensitivity = 2 * most if side == "both" else most
        asked = {"side": side, "scores": score}
        return self._noisy("node_value_sums", nodes, sensitivity, nano_epsilon, purpose, measure, asked)

    def by_classes(
        self,
        *,
        sources: np.ndarray,
        targets: np.ndarray,
        labels: np.ndarray,
        nano_epsilon: int,
        purpose: str,
    ) -> np.ndarray:
        """Count the edges by class of either end and label of their bin; (source classes, target classes,
        labels).

        ``sources``, ``targets``: a class for each node of that side, from 0 on; ``labels`` (bins,). Where the
        relation is undirected both are the same, and an edge counts where the smaller class comes first.

        Sensitivity: L1 1. Unit, proof: the module's; an edge has one class at each end, and one value.
        """
        rows, k = queries.check_labels(sources, self.shape.source_count, None, "sources")
        columns, k2 = queries.check_labels(targets, self.shape.target_count, None, "targets")
        of_bin, kinds = queries.check_labels(labels, self.bins.count, None, "labels")
        if self.shape.undirected and not np.array_equal(rows, columns):
            raise InvalidInput("an undirected relation has one class for each node", field="targets")

        def measure(source: np.ndarray, target: np.ndarray, step: np.ndarray, bin: np.ndarray) -> np.ndarray:
            return by_pair((rows, columns), (source, target), of_bin, bin, kinds, self.shape.undirected)

        asked = {"sources": rows, "targets": columns, "bin_labels": of_bin}
        noisy = self._noisy("values_by_classes", k * k2 * kinds, 1, nano_epsilon, purpose, measure, asked)
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
        """Charge every cell, then sum ``measure(source, target, step, bin)`` and add noise; int64 (size,).

        ``arguments`` are kept with the answer, as what it was asked with.
        """
        check_nano_epsilon(nano_epsilon)
        if size > queries.MAX_VALUES:
            raise InvalidInput(f"more than {queries.MAX_VALUES} values would be returned", field="values")
        event = Pure(nano_epsilon, f"discrete_laplace/{name}")
        for step in self._graph.schema.steps_of(self.relation.name):
            self._meter.charge(self.relation.name, step, event, purpose)
        exact = measure(*self._edges()).astype(np.int64)
        moved = sensitivity * self.multiplicity
        noisy = mechanisms.discrete_laplace(exact, moved, nano_epsilon)
        given, scale = {"bins": self.bins, **arguments}, Fraction(moved * NANO, nano_epsilon)
        self._meter.measurements.keep((self.relation.name, None), name, given, (), scale, noisy, purpose)
        return noisy

    def _edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The ends, the step (0 without time) and the bin of every edge."""
        table = self._graph.edges[self.relation.name]
        steps = np.zeros(table.count, np.int32) if table.step is None else table.step
        return table.source, table.target, steps, self._bins

    @cached_property
    def _bins(self) -> np.ndarray:
        """The bin of every edge's value; every read needs them. int16."""
        table = self._graph.edges[self.relation.name]
        if table.values is None:  # nothing to count, or a mistake in how the graph was opened
            if table.count:
                raise InvalidInput("what edges carry was not read with the graph", field="attribute")
            return np.zeros(0, dtype=np.int16)
        return self.bins.places(table.values.columns[self.bins.attribute.name]).astype(np.int16)


def _ends(side: str, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, ...]:
    return {"source": (source,), "target": (target,), "both": (source, target)}[side]


def _declared(schema: GraphSchema, relation: str) -> EdgeType:
    try:
        found = schema.edge_type(relation)
    except KeyError:
        raise InvalidInput(f"no edge type {relation!r} is declared", field="edge_type") from None
    if found.public:
        raise NotAccepted(f"{relation!r} is public, and is not measured", field="edge_type")
    return found

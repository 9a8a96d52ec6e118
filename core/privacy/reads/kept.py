"""Reads of the kept edges of people. The objects that answer have no edges, no cell, no other table.

Each is made by :class:`core.privacy.reads.people.People`, charges the whole graph before it touches the data,
and answers what :mod:`core.privacy.mechanisms.projection` proves, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import numpy as np

from core.errors import NotAccepted
from core.graphs.columns.tables import EdgeTable
from core.graphs.graph import Graph
from core.graphs.schema import Attribute
from core.graphs.stored.parted import PartedGraph
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.persons import acquaintance
from core.privacy.accounting.plan import WHOLE_GRAPH
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import projection
from core.privacy.mechanisms.projection import Items, Measure
from core.privacy.mechanisms.siphash import fresh_key
from core.privacy.queries import Shape
from core.privacy.reads.kept_parts import PartedItems
from core.privacy.reads.node_values import bins_of_nodes

MECHANISM = "discrete_laplace"

Edges = EdgeTable | PartedItems
"""A relation's private edges with what they carry, or items of a graph in parts."""

View = Callable[[Items], Items]
"""A part of a relation's items, or pairs made of them, each there or not by its own nodes' items alone."""


class Persons:
    """A relation of persons. It has its public facts, and what pays for its private edges."""

    def __init__(self, graph: Graph | PartedGraph, meter: Meter, edge_type: str) -> None:
        self.relation, self.kind = acquaintance(graph.schema, edge_type)
        self.count = graph.nodes[self.kind.name].count
        self._table = graph.nodes[self.kind.name]
        self._meter = meter
        self._graph = graph
        self._rows: Callable[[Attribute], np.ndarray] = partial(bins_of_nodes, graph, self.kind.name)
        self.steps = graph.schema.steps if self.relation.temporal else 1

    @property
    def shape(self) -> Shape:
        """The public shape of the relation."""
        return Shape(self.relation, self.count, self.count)

    def _require_together(self, what: str) -> None:
        """NotAccepted of a graph in parts. What is not proved for items one by one is read of a table."""
        if isinstance(self._graph, PartedGraph):
            raise NotAccepted(
                f"{what} are read of edges together, and those of this graph stay in parts",
                field="edge_type",
            )

    def _paid(self, nano_epsilon: int, what: str, purpose: str) -> Edges:
        """Charge the whole graph for a read with Laplace noise, durably; then the private edges of all steps,
        with what they carry.

        For the objects of these reads: whoever has a door has no edges of it.
        """
        self._meter.charge(WHOLE_GRAPH, None, Pure(nano_epsilon, f"{MECHANISM}/{what}"), purpose)
        graph, name = self._graph, self.relation.name
        return PartedItems(graph, name) if isinstance(graph, PartedGraph) else graph.edges[name]

    def _paid_together(self, nano_epsilon: int, what: str, purpose: str) -> EdgeTable:
        """Charge as :meth:`_paid` does, and return the edges, which are in one table. Refused before."""
        self._require_together(what)
        return cast(EdgeTable, self._paid(nano_epsilon, what, purpose))


class Kept:
    """Items kept under caps, and their kept degrees or classes, private."""

    def __init__(self, people: Persons, caps: Sequence[int], key: bytes | None, view: View) -> None:
        self._caps = tuple(projection.check_theta(cap) for cap in caps)
        self._people, self._view = people, view
        self._key = fresh_key() if key is None else key
        self._told: np.ndarray | None = None

    def _asked(self, question: tuple[int, Measure], what: str, nano_epsilon: int, purpose: str) -> np.ndarray:
        sensitivity, measure = question
        edges = self._people._paid(nano_epsilon, what, purpose)
        # Projected once: all questions are asked of the same kept edges, and each pays for itself.
        if self._told is None:
            self._told = self._tell(edges)
        return mechanisms.discrete_laplace(measure(self._told), sensitivity, nano_epsilon)

    def _tell(self, edges: Edges) -> np.ndarray:
        """The kept degrees of every end, copy after copy; int64. O(m log m)."""
        nodes, last = self._people.count, len(self._caps) - 1
        if isinstance(edges, PartedItems):
            (degrees,) = edges.kept_degrees(self._in_one, nodes, self._caps, self._key)
            return degrees
        items, _ = self._in_one(edges)
        # An item joins copy 0 at its source and the last copy
        # at its target: one and the same where undirected.
        kept = projection.kept_items(items, nodes, self._caps, (0, last), self._key)
        ends = np.concatenate([items.source[kept], last * nodes + items.target[kept]])
        return np.bincount(ends, minlength=nodes * len(self._caps)).astype(np.int64)

    def _in_one(self, table: EdgeTable) -> tuple[Items, np.ndarray]:
        """The items of a table, all of one class."""
        items = self._view(items_in(table))
        return items, np.zeros(len(items.source), dtype=np.int64)


class ProjectedGraph(Kept):
    """Kept undirected edges, or events of all steps, under ``theta``."""

    def __init__(self, people: Persons, theta: int, key: bytes | None, view: View) -> None:
        super().__init__(people, (theta,), key, view)
        self.theta = theta

    def edge_count(self, *, nano_epsilon: int, purpose: str) -> int:
        """Count the kept edges, with discrete Laplace noise. It is of scale theta / epsilon; any integer.

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.edge_count`.
        """
        question = projection.edge_count(self.theta)
        return int(self._asked(question, "projected edge count", nano_epsilon, purpose)[0])

    def tail_counts(self, *, thresholds: np.ndarray, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Count nodes with at least j kept edges. This has noise of scale 2 theta / epsilon; int64, any
        integers.

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.kept_tail_counts`. Asking for
        fewer thresholds costs the same.
        """
        question = projection.kept_tail_counts(self._people.shape, self.theta, thresholds)
        return self._asked(question, "projected tail counts", nano_epsilon, purpose)

    def group_ends(self, *, labels: np.ndarray, groups: int, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Sum kept degrees in each public group. This has noise of scale 2 theta / epsilon; int64 (groups,).

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.group_ends`.
        """
        question = projection.group_ends(self._people.count, self.theta, labels, groups)
        return self._asked(question, "projected ends of groups", nano_epsilon, purpose)


class InsideGroups(ProjectedGraph):
    """A projection of the edges inside public groups: each group's graph is projected by itself."""

    def __init__(
        self, people: Persons, theta: int, key: bytes | None, labels: np.ndarray, groups: int
    ) -> None:
        super().__init__(people, theta, key, lambda items: among(items, labels, same=True))
        self._labels, self._groups = labels, groups

    def counts(self, *, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Count kept edges inside every group, noise of scale theta / epsilon; int64 (groups,).

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.inside_counts`.
        """
        nodes = self._people.count
        question = projection.inside_counts(nodes, self.theta, self._labels, self._groups)
        return self._asked(question, "projected edges inside groups", nano_epsilon, purpose)


class DirectedGraph(Kept):
    """Kept arcs, or events of all steps: at most ``thetas`` of a person's go out, and come in."""

    def __init__(self, people: Persons, thetas: tuple[int, int], key: bytes | None) -> None:
        super().__init__(people, thetas, key, lambda items: items)
        self.thetas = thetas

    def arc_count(self, *, nano_epsilon: int, purpose: str) -> int:
        """Count the kept arcs, with discrete Laplace noise. It is of scale (to + ti) / epsilon; any integer.

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.arc_count`.
        """
        question = projection.arc_count(self.thetas)
        return int(self._asked(question, "projected arc count", nano_epsilon, purpose)[0])

    def tail_counts(
        self, *, thresholds: tuple[np.ndarray, np.ndarray], nano_epsilon: int, purpose: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count persons by thresholds of kept arcs. Counted are those that have at least j kept arcs that go
        out, and that come in; noise of scale 2 (to + ti) / epsilon for both sides together; int64, any
        integers.

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.both_tail_counts`.
        """
        question = projection.both_tail_counts(self._people.shape, self.thetas, thresholds)
        found = self._asked(question, "projected tail counts of both sides", nano_epsilon, purpose)
        return found[: len(thresholds[0])], found[len(thresholds[0]) :]


Classed = Callable[["EdgeTable"], tuple[Items, np.ndarray]]
"""Items made of a table's edges, each there or not by its own two persons alone, and the class of each."""


class ClassedEdges(Kept):
    """A projection for each class of items, each under its own theta; ``of`` tells items and classes.

    ``question``: what counts them, and how far a person moves that.
    """

    def __init__(
        self,
        people: Persons,
        thetas: Sequence[int],
        key: bytes | None,
        of: Classed,
        question: tuple[int, Measure],
        what: str = "projected edges by class",
    ) -> None:
        super().__init__(people, thetas, key, lambda items: items)
        self._of, self._question, self._what = of, question, what

    @property
    def moved(self) -> int:
        """How far a person moves the counts, in L1. Public."""
        return self._question[0]

    def counts(self, *, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Count the kept items of every class; int64 (classes,), any integers.

        Noise of scale ``moved`` / epsilon. Sensitivity, unit, proof: of steps and of values
        :func:`core.privacy.mechanisms.projection.class_counts`, of pairs of protected groups
        :func:`core.privacy.mechanisms.projection.pair_counts`.
        """
        return self._asked((self.moved, np.asarray), self._what, nano_epsilon, purpose)

    def _tell(self, edges: Edges) -> np.ndarray:
        """The kept items of every class, counted."""
        nodes = self._people.count
        if isinstance(edges, PartedItems):
            of_classes = edges.kept_degrees(self._of, nodes, self._caps, self._key)
            # Each kept item was counted at both of its ends.
            return np.array([int(degrees.sum()) // 2 for degrees in of_classes], dtype=np.int64)
        items, classes = self._of(edges)
        kept = projection.kept_items(items, nodes, self._caps, (classes, classes), self._key)
        return self._question[1](classes[kept])


def items_in(table: EdgeTable) -> Items:
    """Return a table's edges or records as items. It is records where each has a row."""
    return projection.items_of(table.source, table.target, table.step)


def among(items: Items, labels: np.ndarray, *, same: bool) -> Items:
    """Return the items inside public groups, or those across."""
    return items.only((labels[items.source] == labels[items.target]) == same)

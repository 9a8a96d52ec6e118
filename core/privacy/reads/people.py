"""The reads of unit NODE for people and people: a relation inside the protected type, undirected and untimed.

Neighbours differ in all edges of one person, replaced by any others. Every read names the whole graph and is
charged before the data are touched; costs add up. Three kinds of object answer, and each has those questions
alone whose sensitivity is proved for it: edges kept under theta (:mod:`core.privacy.mechanisms.projection`),
edges under a declared bound on degrees (:mod:`core.privacy.reads.bounded`), and packed triangles
(:mod:`core.privacy.mechanisms.packing`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import NotAccepted
from core.privacy import entropy
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.persons import acquaintance
from core.privacy.accounting.plan import WHOLE_GRAPH
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import projection
from core.privacy.mechanisms.projection import Measure
from core.privacy.mechanisms.siphash import KEY_BYTES
from core.privacy.queries import Shape
from core.privacy.reads import bounded
from core.privacy.reads.public_groups import public_groups

if TYPE_CHECKING:
    from core.graphs.columns.tables import EdgeTable
    from core.graphs.graph import Cell, Graph
    from core.privacy.reads.bounded_values import BoundedValues

MECHANISM = "discrete_laplace"


class People:
    """Persons and who knows whom: the door to the reads that hide all edges of one person."""

    def __init__(self, graph: Graph, meter: Meter, edge_type: str) -> None:
        self.relation, self.kind = acquaintance(graph.schema, edge_type)
        self.count = graph.nodes[self.kind.name].count
        self._table = graph.nodes[self.kind.name]
        self._meter = meter
        self._read: Callable[[], Cell] = lambda: graph.cell(edge_type, None)
        self._carrying: Callable[[], EdgeTable] = lambda: graph.edges[edge_type]

    @property
    def shape(self) -> Shape:
        """The public shape of the relation."""
        return Shape(self.relation, self.count, self.count)

    def groups(self, name: str, most: int) -> np.ndarray:
        """Number the values of a public categorical attribute, see :func:`public_groups`. Free."""
        return public_groups(self.kind, self._table, name, most)

    def projected(self, theta: int, key: bytes | None = None) -> ProjectedGraph:
        """Project the whole graph at a public or paid ``theta``, by a fresh key unless one is given."""
        return ProjectedGraph(self, theta, key, None)

    def inside(self, labels: np.ndarray, groups: int, theta: int, key: bytes | None = None) -> InsideGroups:
        """Project the edges inside public groups alone; ``labels`` (n,) in 0..groups-1."""
        return InsideGroups(self, theta, key, (_labels(self.count, labels, groups), True), groups)

    def across(self, labels: np.ndarray, groups: int, theta: int, key: bytes | None = None) -> ProjectedGraph:
        """Project the edges between different public groups alone; ``labels`` (n,) in 0..groups-1."""
        return ProjectedGraph(self, theta, key, (_labels(self.count, labels, groups), False))

    def bounded(self, bound: int) -> BoundedGraph:
        """Read under the schema's declared bound on degrees, which ``bound`` may not fall below.

        NotAccepted where none is declared: it is checked at ingest, and no read may rest on another.
        """
        declared = self.kind.degree_bound
        if declared is None or type(bound) is not int or not declared <= bound <= projection.MAX_THETA:
            raise NotAccepted(
                f"the schema declares no degree_bound of at most {bound}", field="node_types.degree_bound"
            )
        return BoundedGraph(self, bound)

    def packed_triangles(self, *, tau: int, share: float, nano_epsilon: int, purpose: str) -> float:
        """Count triangles, of which no person counts in more than ``tau``, with discrete Laplace noise.

        ``share``, public or paid for: how many of all triples of persons are looked at, as a keyed function
        chooses; the answer is scaled up by it. Any number on a grid of 1 / share may come out.
        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.packing.packed`.
        """
        from core.privacy.mechanisms import packing

        sensitivity, share = packing.sensitivity(tau), packing.check_share(share)
        source, target = self._paid(nano_epsilon, "packed triangles", purpose)
        triples = packing.chosen_triangles(source, target, self.count, share, self.fresh_key())
        value = packing.packed(triples, self.count, tau)
        noisy = mechanisms.discrete_laplace(np.array([value]), sensitivity, nano_epsilon)
        return float(noisy[0]) / share

    def fresh_key(self) -> bytes:
        """Draw a key for an order of pairs, from the operating system's entropy."""
        return entropy.noise_generator().bytes(KEY_BYTES)

    def _paid(self, nano_epsilon: int, what: str, purpose: str) -> tuple[np.ndarray, np.ndarray]:
        """Charge the whole graph for a read with Laplace noise, durably; then the private edges.

        For the objects of this module: whoever has a door has no edges of it.
        """
        self._charge(nano_epsilon, what, purpose)
        cell = self._read()
        return cell.source.astype(np.int64), cell.target.astype(np.int64)

    def _paid_edges(self, nano_epsilon: int, what: str, purpose: str) -> EdgeTable:
        """Charge as :meth:`_paid`; then the edges with what they carry."""
        self._charge(nano_epsilon, what, purpose)
        return self._carrying()

    def _charge(self, nano_epsilon: int, what: str, purpose: str) -> None:
        self._meter.charge(WHOLE_GRAPH, None, Pure(nano_epsilon, f"{MECHANISM}/{what}"), purpose)


def _labels(nodes: int, labels: np.ndarray, groups: int) -> np.ndarray:
    return projection.checked_groups(labels, nodes, groups)[0]


class ProjectedGraph:
    """Kept edges under ``theta``; it answers what :mod:`core.privacy.mechanisms.projection` proves, and
    nothing else.

    No edges, no cell and no table of blocks can be had of it, whatever is asked.
    """

    def __init__(
        self, people: People, theta: int, key: bytes | None, among: tuple[np.ndarray, bool] | None
    ) -> None:
        self.theta = projection.check_theta(theta)
        self._people = people
        self._key = people.fresh_key() if key is None else key
        self._among = among
        self._kept: np.ndarray | None = None

    def edge_count(self, *, nano_epsilon: int, purpose: str) -> int:
        """Count the kept edges, with discrete Laplace noise of scale theta / epsilon; any integer.

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.edge_count`.
        """
        question = projection.edge_count(self.theta)
        return int(self._asked(question, "projected edge count", nano_epsilon, purpose)[0])

    def tail_counts(self, *, thresholds: np.ndarray, nano_epsilon: int, purpose: str) -> np.ndarray:
        """How many nodes have at least j kept edges, noise of scale 2 theta / epsilon; int64, any integers.

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.kept_tail_counts`. Asking for
        fewer thresholds costs the same.
        """
        question = projection.kept_tail_counts(self._people.shape, self.theta, thresholds)
        return self._asked(question, "projected tail counts", nano_epsilon, purpose)

    def group_ends(self, *, labels: np.ndarray, groups: int, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Sum kept degrees in each public group, noise of scale 2 theta / epsilon; int64 (groups,).

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.group_ends`.
        """
        question = projection.group_ends(self._people.count, self.theta, labels, groups)
        return self._asked(question, "projected ends of groups", nano_epsilon, purpose)

    def _asked(self, question: tuple[int, Measure], what: str, nano_epsilon: int, purpose: str) -> np.ndarray:
        sensitivity, measure = question
        edges = self._people._paid(nano_epsilon, what, purpose)
        return mechanisms.discrete_laplace(measure(self._degrees(*edges)), sensitivity, nano_epsilon)

    def _degrees(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The kept degrees, private; int64 (n,). O(m log m) at the first call."""
        if self._kept is None:
            if self._among is not None:
                labels, same = self._among
                rows = (labels[source] == labels[target]) == same
                source, target = source[rows], target[rows]
            nodes = self._people.count
            kept = projection.kept_edges(source, target, nodes, self.theta, self._key)
            ends = np.concatenate([source[kept], target[kept]])
            self._kept = np.bincount(ends, minlength=nodes).astype(np.int64)
        return self._kept


class InsideGroups(ProjectedGraph):
    """A projection of the edges inside public groups: each group's graph is projected by itself."""

    def __init__(
        self, people: People, theta: int, key: bytes | None, among: tuple[np.ndarray, bool], groups: int
    ) -> None:
        super().__init__(people, theta, key, among)
        self._labels, self._groups = among[0], groups

    def counts(self, *, nano_epsilon: int, purpose: str) -> np.ndarray:
        """Count kept edges inside every group, noise of scale theta / epsilon; int64 (groups,).

        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.projection.inside_counts`.
        """
        nodes = self._people.count
        question = projection.inside_counts(nodes, self.theta, self._labels, self._groups)
        return self._asked(question, "projected edges inside groups", nano_epsilon, purpose)


@dataclass(frozen=True)
class BoundedGraph:
    """All edges, under a declared bound on degrees; it answers what :mod:`core.privacy.reads.bounded`
    proves."""

    people: People
    bound: int

    def values(self, attribute: str | None) -> BoundedValues:
        """Open the reads of what edges carry; of the number of an edge's records for None. Free."""
        from core.privacy.reads.bounded_values import BoundedValues

        return BoundedValues(self.people.shape, self.bound, attribute, self.people._paid_edges)

    def triangles(self, *, nano_epsilon: int, purpose: str) -> int:
        """Count the triangles. Sensitivity: bound (bound - 1) / 2.
        :func:`core.privacy.reads.bounded.triangles`."""
        sensitivity, measure = bounded.triangles(self.bound)
        source, target = self.people._paid(nano_epsilon, "triangles", purpose)
        values = measure(source, target, self.people.count)
        return int(mechanisms.discrete_laplace(values, sensitivity, nano_epsilon)[0])

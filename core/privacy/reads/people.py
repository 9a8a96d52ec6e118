"""The reads of unit NODE for people and people. They are of a relation inside the protected type.

Neighbours differ in all edges of one person, in all steps, with all that they carry, and in its row of
protected attributes, replaced by any others. Every read names the whole
graph and is charged before the data are touched; costs add up. Three kinds of object answer, and each has
those questions alone whose sensitivity is proved for it: edges kept under caps
(:mod:`core.privacy.mechanisms.projection`, :mod:`core.privacy.reads.kept`), edges under a declared bound on
degrees (:mod:`core.privacy.reads.bounded`), and packed triangles (:mod:`core.privacy.mechanisms.packing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import NotAccepted
from core.graphs.columns.tables import EdgeTable
from core.graphs.schema.node_bins import node_bins, synthesised
from core.graphs.schema.value_bins import ValueBins, bins_of
from core.graphs.views.records import asked_for
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import packing, projection
from core.privacy.mechanisms.projection import Items
from core.privacy.mechanisms.siphash import fresh_key
from core.privacy.queries import check_labels
from core.privacy.reads import bounded
from core.privacy.reads.bounded_values import BoundedValues, binned
from core.privacy.reads.kept import (
    ClassedEdges,
    DirectedGraph,
    InsideGroups,
    Persons,
    ProjectedGraph,
    among,
    items_in,
)
from core.privacy.reads.node_values import grouped
from core.privacy.reads.public_groups import public_groups


class People(Persons):
    """Persons and who knows whom: the door to the reads that hide all edges of one person."""

    def groups(self, name: str, most: int) -> np.ndarray:
        """Number the values of a public categorical attribute, see :func:`public_groups`. Free."""
        return public_groups(self.kind, self._table, name, most)

    def projected(self, theta: int, key: bytes | None = None) -> ProjectedGraph:
        """Project an undirected relation at ``theta``. It is public or paid; the key is a fresh one unless
        given.

        Of a timed relation its events, those of all steps in one list.
        """
        self._require(directed=False)
        return ProjectedGraph(self, theta, key, lambda items: items)

    def inside(self, labels: np.ndarray, groups: int, theta: int, key: bytes | None = None) -> InsideGroups:
        """Project only the edges inside public groups; ``labels`` (n,) in 0..groups-1."""
        self._require(directed=False)
        return InsideGroups(self, theta, key, _labels(self.count, labels, groups), groups)

    def across(self, labels: np.ndarray, groups: int, theta: int, key: bytes | None = None) -> ProjectedGraph:
        """Project only the edges between different public groups; ``labels`` (n,) in 0..groups-1."""
        self._require(directed=False)
        of = _labels(self.count, labels, groups)
        return ProjectedGraph(self, theta, key, lambda items: among(items, of, same=False))

    def directed(self, thetas: tuple[int, int], key: bytes | None = None) -> DirectedGraph:
        """Project the double cover of a directed relation. It has caps for what goes out, and for what comes
        in."""
        self._require(directed=True)
        self._require_together("arcs of both sides")
        return DirectedGraph(self, thetas, key)

    def mutual(self, theta: int, key: bytes | None = None) -> ProjectedGraph:
        """Project the pairs that are linked both ways. They are those of a directed relation that are linked
        both ways, of each step its own."""
        self._require(directed=True)
        self._require_together("mutual pairs")
        return ProjectedGraph(self, theta, key, projection.mutual_pairs)

    def by_period(self, periods: np.ndarray, thetas: Sequence[int], key: bytes | None = None) -> ClassedEdges:
        """Project each period of a timed relation by itself; directions do not matter.

        ``periods`` (steps,), public: in 0..len(thetas)-1.
        """
        if not self.relation.temporal:
            raise NotAccepted("a relation without time has no periods", field="periods")
        of = check_labels(periods, self.steps, len(thetas), "periods")[0]

        def by_step(table: EdgeTable) -> tuple[Items, np.ndarray]:
            items = items_in(table)
            return items, of[items.step]

        question = projection.class_counts(thetas, self.kind.degree_bound)
        return ClassedEdges(self, thetas, key, by_step, question)

    def bins(self, attribute: str | None) -> ValueBins:
        """Return the public bins of what edges carry. For None they are those of the number of an edge's
        records."""
        return bins_of(asked_for(self.relation, attribute))

    def by_value(
        self, attribute: str | None, labels: np.ndarray, thetas: Sequence[int], key: bytes | None = None
    ) -> ClassedEdges:
        """Project records separately by class of values. Each is projected by itself; directions and steps do
        not matter.

        ``attribute``: of the edges; None: the number of an edge's records, of relations that keep each.
        ``labels`` (bins,), public or paid for: the class of each bin, in 0..len(thetas)-1.
        """
        self._require_together("values of edges")
        bins, numbers = self.bins(attribute), attribute is None
        of = check_labels(labels, bins.count, len(thetas), "labels")[0]
        most = 1 if numbers else self.relation.records_per_slot or 1

        def by_bin(table: EdgeTable) -> tuple[Items, np.ndarray]:
            records, places = binned(table, bins, most, numbers=numbers)
            return items_in(records), of[places]

        bound = self.kind.degree_bound
        # A person has at most ``bound`` edges, and each of them ``most`` records.
        question = projection.class_counts(thetas, None if bound is None else bound * most)
        return ClassedEdges(self, thetas, key, by_bin, question, "projected edges by value")

    def by_rows(
        self,
        attribute: str,
        labels: np.ndarray,
        pairs: np.ndarray,
        thetas: Sequence[int],
        key: bytes | None = None,
    ) -> ClassedEdges:
        """Project edges separately by class of protected pairs. Each class of pairs of protected values is
        projected by itself; directions do not matter.

        ``attribute``: protected, of persons. ``labels`` (bins,): the group of each bin of its values;
        ``pairs`` (groups, groups), symmetric: the class of two groups, in 0..len(thetas)-1. Both public or
        paid for. Edges of a person without a value are in no class.
        """
        declared = {each.name: each for each in synthesised(self.kind)}
        if attribute not in declared:
            raise NotAccepted(
                f"node type {self.kind.name!r} has no protected attribute {attribute!r} with declared "
                "categories or bounds",
                field="attribute",
            )
        of = check_labels(labels, node_bins(declared[attribute]).count, len(pairs), "labels")[0]
        classes = np.array(pairs, dtype=np.int64)

        def by_pair(table: EdgeTable) -> tuple[Items, np.ndarray]:
            # Rows are looked at in here alone, which runs once the read is paid for.
            groups = grouped(self._rows(declared[attribute]), of)
            items = items_in(table)
            one, other = groups[items.source], groups[items.target]
            held = (one >= 0) & (other >= 0)
            return items.only(held), classes[one[held], other[held]]

        question = projection.pair_counts(classes, thetas, self.kind.degree_bound)
        return ClassedEdges(self, thetas, key, by_pair, question, "projected edges by rows")

    def bounded(self, bound: int) -> BoundedGraph:
        """Read under the schema's declared bound on degrees. ``bound`` may not fall below it.

        NotAccepted where none is declared: it is checked at ingest, and no read may rest on another.
        """
        self._require(directed=False, plain=True)
        self._require_together("triangles and values under a bound")
        declared = self.kind.degree_bound
        # A bound below the declared one would not hold of every graph that the schema admits.
        if declared is None or type(bound) is not int or not declared <= bound <= projection.MAX_THETA:
            raise NotAccepted(
                f"the schema declares no degree_bound of at most {bound}", field="node_types.degree_bound"
            )
        return BoundedGraph(self, bound)

    def packed_triangles(self, *, tau: int, share: float, nano_epsilon: int, purpose: str) -> float:
        """Count triangles, with discrete Laplace noise. No person counts in more than ``tau`` of them.

        ``share``, public or paid for: how many of all triples of persons are looked at, as a keyed function
        chooses; the answer is scaled up by it. Any number on a grid of 1 / share may come out.
        Sensitivity, unit, proof: :func:`core.privacy.mechanisms.packing.packed`.
        """
        self._require(directed=False, plain=True)
        sensitivity, share = packing.sensitivity(tau), packing.check_share(share)
        table = self._paid_together(nano_epsilon, "packed triangles", purpose)
        triples = packing.chosen_triangles(table.source, table.target, self.count, share, fresh_key())
        value = packing.packed(triples, self.count, tau)
        noisy = mechanisms.discrete_laplace(np.array([value]), sensitivity, nano_epsilon)
        return float(noisy[0]) / share

    def _require(self, *, directed: bool, plain: bool = False) -> None:
        """NotAccepted where the relation is not of that sort; ``plain``: without time."""
        if self.relation.directed != directed:
            known = "directed" if self.relation.directed else "undirected"
            raise NotAccepted(f"this read is not of a relation that is {known}", field="edge_type")
        if plain and self.relation.temporal:
            raise NotAccepted("this read is of relations without time", field="edge_type")


def _labels(nodes: int, labels: np.ndarray, groups: int) -> np.ndarray:
    return projection.checked_groups(labels, nodes, groups)[0]


@dataclass(frozen=True)
class BoundedGraph:
    """All edges, under a declared bound on degrees. It answers what :mod:`core.privacy.reads.bounded`
    proves."""

    people: People
    bound: int

    def values(self, attribute: str | None) -> BoundedValues:
        """Open the reads of what edges carry. For None they are those of the number of an edge's records.
        Free."""
        return BoundedValues(self.people.shape, self.bound, attribute, self.people._paid_together)

    def triangles(self, *, nano_epsilon: int, purpose: str) -> int:
        """Count the triangles. Sensitivity: bound (bound - 1) / 2.
        :func:`core.privacy.reads.bounded.triangles`."""
        sensitivity, measure = bounded.triangles(self.bound)
        table = self.people._paid_together(nano_epsilon, "triangles", purpose)
        values = measure(table.source, table.target, self.people.count)
        return int(mechanisms.discrete_laplace(values, sensitivity, nano_epsilon)[0])

"""Reads of a relation between two node types. They count its edges by the protected attributes of both ends.

Beside the reads of one type's rows (:mod:`core.privacy.reads.node_values`), whose units, cells and priorities
these are too. Either type may have attributes, or both; one that has none is one group, and its nodes have no
cap.

Proof. Every edge that there may be, at each step, has a priority, drawn uniformly and independently of the
graph. An edge counts where it is among the first ``cap`` edges of its source by priority, if sources have
groups, and among the first of its target, by the targets' cap, if those have (:func:`crossed`). Fix all
priorities:

* The row of a source is replaced: which edges count is the same, as rows decide nothing there. Those of the
  node are as many as the sources' cap at most, and each moves from one cell to another, or in or out where
  one of the rows has no value: L1 2 cap. The same of a target, with the targets' cap.
* An edge is added: it may count itself, 1, and it may push one edge out of the first of its source, and one
  of its target; what else stands at the other ends of those two is not moved. 1 each, so that L1 is 3.
* Several edges are added or removed, one after another: 3 for each; as for relations inside a type.

The noise is discrete Laplace of scale b. The rows' cell of the source's type is charged 2 cap / b at least,
with the sources' cap, that of the target's type the same with the targets', and every charged cell of the
relation 3 m / b, m being the edges of one unit in it. A row is that of a node of one type: it moves what its
own cell pays for. Caps and groups are public or already paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import Graph
from core.graphs.schema.node_bins import synthesised
from core.graphs.schema.value_bins import ValueBins
from core.privacy import entropy, limits, queries
from core.privacy.accounting.events import NANO, Pure, check_nano_epsilon
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.plan import rows_of
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads.node_values import (
    EDGE_MOVES,
    ROW_MOVES,
    TWO_SIDED_MIXING,
    NodeValueReads,
    among_first,
    bins_of_nodes,
    check_cap,
    edges_of_a_cell,
    grouped,
    least_noise,
)
from core.privacy.units import charged_together

MECHANISM = f"discrete_laplace/{TWO_SIDED_MIXING}"


class Side(NamedTuple):
    """One end of the relation and its bounds. It has ``attribute``; ``groups`` (bins,): the group of each of
    its bins; ``cap``: edges of a node that count, at most; ``nano_epsilon``: what a row of that type may
    spend."""

    attribute: str
    groups: np.ndarray
    cap: int
    nano_epsilon: int


@dataclass(frozen=True)
class _Grouped:
    """A side that was checked: its node type, the bins of its attribute, and the group of each."""

    node_type: str
    bins: ValueBins
    groups: np.ndarray
    number: int
    asked: Side


class MixingBetween:
    """The read of one relation between two node types. Made by ``PrivateGraph.mixing_between``."""

    def __init__(self, graph: Graph, meter: Meter, relation: str) -> None:
        self._relation = graph.schema.edge_type(relation)
        if self._relation.homogeneous:
            raise NotAccepted("the relation is inside one node type", field="relation")
        if self._relation.public:
            raise NotAccepted("mixing is read of protected relations", field="relation")
        self._graph, self._meter = graph, meter
        self._rows = {
            kind: NodeValueReads(graph, meter, kind)
            for kind in (self._relation.source, self._relation.target)
        }

    def read(
        self, source: Side | None, target: Side | None, *, edge_nano_epsilon: int, purpose: str
    ) -> np.ndarray:
        """Count capped edges by groups of both ends. They are those of source and target; int64 (source
        groups, target groups).

        A side that is None has one group, and no cap. All steps are counted together. Noise is as small as
        every budget allows; each charged cell of the relation, and the rows' cell of each side, pays what
        that noise costs it.

        Sensitivity: L1 2 cap of a row replaced, 3 of an edge. Unit, proof: the module's.
        """
        relation, schema = self._relation, self._graph.schema
        sides = [self._checked(kind, side) for kind, side in zip(self._rows, (source, target), strict=True)]
        protected = [each for each in sides if each is not None]
        if not protected:
            raise InvalidInput("one end has groups at least", field="source")
        rows, columns = (1 if each is None else each.number for each in sides)
        limits.check_values(rows * columns)
        unit = self._meter.plan.unit
        times = edges_of_a_cell(unit, schema, relation.name)
        moved, nano_epsilon, (of_edges, *of_rows) = least_noise(
            (EDGE_MOVES * times, check_nano_epsilon(edge_nano_epsilon)),
            *[(ROW_MOVES * each.asked.cap, each.asked.nano_epsilon) for each in protected],
        )
        # Every cell has paid before an edge is looked at.
        for step in charged_together(unit, schema.steps_of(relation.name)):
            self._meter.charge(relation.name, step, Pure(of_edges, MECHANISM), purpose)
        for each, cost in zip(protected, of_rows, strict=True):
            self._meter.charge(rows_of(each.node_type), None, Pure(cost, MECHANISM), purpose)
        table = self._graph.edges[relation.name]
        # The proof's priorities: uniform, and independent of the graph.
        priority = entropy.noise_generator().integers(0, 2**63, table.count, dtype=np.int64)
        ours, theirs = (None if each is None else each.asked.cap for each in sides)
        ends = table.source, table.target
        exact = crossed(ends, self._groups(sides), (rows, columns), (ours, theirs), priority)
        noisy = mechanisms.discrete_laplace(exact.ravel(), moved, nano_epsilon)
        of_sides = {
            name: {
                "attribute": each.asked.attribute,
                "bins": each.bins,
                "bin_groups": each.groups,
                "cap": each.asked.cap,
            }
            for name, each in zip(("source", "target"), sides, strict=True)
            if each is not None
        }
        scale = Fraction(moved * NANO, nano_epsilon)
        cell = relation.name, None
        self._meter.measurements.keep(cell, TWO_SIDED_MIXING, {"ends": of_sides}, (), scale, noisy, purpose)
        return noisy.reshape(rows, columns)

    @property
    def multiplicity(self) -> int:
        """Edges that a cell of the relation is charged for. Public."""
        return edges_of_a_cell(self._meter.plan.unit, self._graph.schema, self._relation.name)

    def _checked(self, kind: str, side: Side | None) -> _Grouped | None:
        if side is None:
            return None
        check_cap(side.cap)
        check_nano_epsilon(side.nano_epsilon)
        bins = self._rows[kind].bins(side.attribute)
        groups, count = queries.check_labels(side.groups, bins.count, None, "groups")
        return _Grouped(kind, bins, groups, count, side)

    def _groups(self, sides: list[_Grouped | None]) -> tuple[np.ndarray, np.ndarray]:
        """Find the group of every node of either side; one for all where the side has none."""
        found = []
        for kind, side in zip(self._rows, sides, strict=True):
            if side is None:
                found.append(np.zeros(self._graph.nodes[kind].count, dtype=np.int64))
                continue
            attributes = {each.name: each for each in synthesised(self._graph.schema.node_type(kind))}
            own = bins_of_nodes(self._graph, kind, attributes[side.asked.attribute])
            found.append(grouped(own, side.groups))
        return found[0], found[1]


def crossed(
    ends: tuple[np.ndarray, np.ndarray],
    groups: tuple[np.ndarray, np.ndarray],
    shape: tuple[int, int],
    caps: tuple[int | None, int | None],
    priority: np.ndarray,
) -> np.ndarray:
    """Count capped edges by groups of both ends. They are those of source and target; int64 of ``shape``.

    ``ends``: sources and targets of the edges (m,); ``groups``: of the nodes of either side, -1 for a node
    that counts nowhere; ``caps``: None where a side has none. Every edge is listed once, at each of its
    steps; of equal priorities what is listed first comes first. O(m log m).
    """
    order = np.argsort(priority, kind="stable")
    counts = np.ones(len(order), dtype=bool)
    for end, cap in zip(ends, caps, strict=True):
        if cap is not None:
            counts[order] &= among_first(end[order], cap)
    one, other = (own[end[counts]] for own, end in zip(groups, ends, strict=True))
    held = (one >= 0) & (other >= 0)
    place = one[held] * shape[1] + other[held]
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)

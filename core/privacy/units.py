"""What one neighbour differs in. One unit is added or removed; under NODE, a node's edges are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from core.errors import NotAccepted
from core.graphs.schema import EdgeType


class Unit(StrEnum):
    """The privacy unit of a dataset (docs: PRIVACY_PROMISE.md).

    EDGE     one edge of a static graph.
    EVENT    one edge at one timestamp of a temporal graph.
    W_EVENT  any changes inside one window of w consecutive timestamps, at most one edge per timestamp.
    PAIR     every occurrence of one node pair, over all timestamps and edge types.
    NODE     all edges of one node of the protected type, over all timestamps and edge types, replaced by any
             others; with or without time.
    """

    EDGE = "edge"
    EVENT = "event"
    W_EVENT = "w-event"
    PAIR = "pair"
    NODE = "node"

    @property
    def temporal(self) -> bool:
        """Whether the unit speaks of timestamps. If so, it needs a graph with time."""
        return self not in (Unit.EDGE, Unit.NODE)

    def takes(self, *, temporal: bool) -> bool:
        """Tell whether the unit protects graphs with, or without, time."""
        return self is Unit.NODE or self.temporal == temporal

    @property
    def replaced(self) -> bool:
        """Whether neighbours differ by a replacement; otherwise by one unit more or less."""
        return self is Unit.NODE


EDGE_WISE = frozenset(Unit) - {Unit.NODE}
"""The units that hold a bounded number of edges in each cell, which methods read cell by cell protect."""


def edges_of_unit(unit: Unit, relation: EdgeType) -> int:
    """Return the edges of one unit in one cell. These are the most that it may have: 2 where a pair may be
    linked both ways, else 1.

    NotAccepted under NODE: a node may have any number of edges, and no sensitivity follows from it.
    """
    if unit is Unit.NODE:
        raise NotAccepted("a node may have any number of edges in a cell", field="unit")
    return 2 if unit is Unit.PAIR and relation.homogeneous and relation.directed else 1


def charged_together(unit: Unit, steps: Sequence[int | None]) -> Sequence[int | None]:
    """Return the steps charged together. They are those of a relation that are charged for a read of all of
    them together.

    Every one, as a unit may lie in any: but under PAIR, which may lie in all and adds up all cells, the first
    alone, for all. Its edges of several steps may move one entry by as much as they are many, which is one
    event of that cost, and no composition of a smaller one for each step: where curves are added up, those
    would be too little.
    """
    return steps[:1] if unit is Unit.PAIR else steps


def records_of_unit(unit: Unit, relation: EdgeType) -> int:
    """Return the most records of one unit. They are those that count where a relation's values are read.

    Of each of a unit's edges in a cell as many as the relation declares; under PAIR as many of all steps
    together (:func:`core.graphs.views.records.counted`). One where records are apart.
    """
    if record_is_unit(unit, relation):
        return 1
    return edges_of_unit(unit, relation) * (relation.records_per_slot or 1)


def numbers_of_unit(unit: Unit, relation: EdgeType) -> int:
    """Return the most numbers of records that one unit changes in one cell, a number that goes and one that
    comes counted each.

    Those of its edges; where records are apart two: of an edge that has others the number is another one.
    """
    return 2 if record_is_unit(unit, relation) else edges_of_unit(unit, relation)


def record_is_unit(unit: Unit, relation: EdgeType) -> bool:
    """Tell whether one record of the relation's edges is the unit.

    NotAccepted where records are apart under a unit that holds several of one edge.
    """
    if not relation.records_apart:
        return False
    if unit not in RECORD_WISE:
        raise NotAccepted(
            f"records of {relation.name!r} are apart, which the units edge and event alone know; leave "
            "records_apart out",
            field="schema.edge_types",
        )
    return True


RECORD_WISE = frozenset({Unit.EDGE, Unit.EVENT})
"""The units that may be one record where a relation says so."""

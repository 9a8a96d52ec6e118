"""What one neighbour differs in. Adjacency is always add-or-remove one unit."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.graphs.schema import EdgeType


class Unit(StrEnum):
    """The privacy unit of a dataset (docs: PRIVACY_PROMISE.md).

    EDGE     one edge of a static graph.
    EVENT    one edge at one timestamp of a temporal graph.
    W_EVENT  any changes inside one window of w consecutive timestamps, at most one edge per timestamp.
    PAIR     every occurrence of one node pair, over all timestamps and edge types.
    """

    EDGE = "edge"
    EVENT = "event"
    W_EVENT = "w-event"
    PAIR = "pair"

    @property
    def temporal(self) -> bool:
        """Whether the unit speaks of timestamps."""
        return self is not Unit.EDGE


def edges_of_unit(unit: Unit, relation: EdgeType) -> int:
    """Return the edges that one unit may have in one cell: 2 where a pair may be linked both ways, else 1."""
    return 2 if unit is Unit.PAIR and relation.homogeneous and relation.directed else 1

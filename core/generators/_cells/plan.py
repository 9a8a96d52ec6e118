"""Sizes that a plan may know: how many edges a cell could have, and how many of them one unit may hold."""

from __future__ import annotations

from core.graphs.schema import EdgeType
from core.privacy.units import Unit


def slots_of_unit(unit: Unit, relation: EdgeType) -> int:
    """The edges that one unit may have in one cell: 2 where a pair may be linked both ways, else 1."""
    return 2 if unit is Unit.PAIR and relation.homogeneous and relation.directed else 1


def slots(relation: EdgeType, sources: int, targets: int) -> int:
    """The number of edges that a cell of these universes could have."""
    if not relation.homogeneous:
        return sources * targets
    ordered = sources * (sources - 1)
    return ordered if relation.directed else ordered // 2

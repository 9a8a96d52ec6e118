"""What columns are called in a graph: names that a schema can hold."""

from __future__ import annotations

from collections.abc import Sequence

from core.graphs.reading.mapping import LEFT
from core.graphs.reading.model import Role
from core.graphs.schema import RESERVED_ATTRIBUTES
from core.graphs.schema.edge_attributes import RESERVED, WEIGHT
from core.graphs.schema.names import column_names

_STRUCTURE = {
    Role.SOURCE: "source",
    Role.TARGET: "target",
    Role.TIME: "time",
    Role.TYPE: "type",
    Role.ID: "id",
}


def of_values(names: Sequence[str], part: str) -> list[str]:
    """Name columns of values by their own names. They are written in letters that a schema takes."""
    return column_names(names, RESERVED if part == "edges" else RESERVED_ATTRIBUTES)


def named(role: Role, name: str | None, place: int, taken: set[str], *, number: bool = True) -> str:
    """Name a column by its role, or else by ``name``; ``taken`` grows. Only a ``number`` is a weight."""
    if role is Role.LEFT:
        return LEFT
    if role in _STRUCTURE:
        made = _STRUCTURE[role]
    elif not name:
        made = WEIGHT if number and role is Role.VALUE and WEIGHT not in taken else f"column_{place + 1}"
    else:
        made = name
    if made in taken:
        made = f"{made[:58]}_{place + 1}"
    taken.add(made)
    return made

"""What columns are called in a graph: names that a schema can hold."""

from __future__ import annotations

from core.graphs.reading.mapping import LEFT
from core.graphs.reading.model import Role
from core.graphs.schema import RESERVED_ATTRIBUTES
from core.graphs.schema.edge_attributes import RESERVED, WEIGHT
from core.graphs.schema.names import apart, is_plain, plain_name

_STRUCTURE = {
    Role.SOURCE: "source",
    Role.TARGET: "target",
    Role.TIME: "time",
    Role.TYPE: "type",
    Role.ID: "id",
}


def named(role: Role, name: str | None, place: int, taken: set[str], part: str) -> str:
    """Name a column by its role, or by its own name in letters that a schema takes; ``taken`` grows."""
    if role is Role.LEFT:
        return LEFT
    if role in _STRUCTURE:
        made = _STRUCTURE[role]
    elif not name:
        made = WEIGHT if role is Role.VALUE and WEIGHT not in taken else f"column_{place + 1}"
    else:
        made = name if is_plain(name) else plain_name(name)
    if role not in _STRUCTURE and made in (RESERVED if part == "edges" else RESERVED_ATTRIBUTES):
        made = apart(made)
    if made in taken:
        made = f"{made[:58]}_{place + 1}"
    taken.add(made)
    return made

"""What columns are called in a graph: names that a schema can hold."""

from __future__ import annotations

import re
import unicodedata

from core.graphs.reading.mapping import LEFT
from core.graphs.reading.model import Role
from core.graphs.schema.edge_attributes import RESERVED, WEIGHT

_USABLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_STRUCTURE = {
    Role.SOURCE: "source",
    Role.TARGET: "target",
    Role.TIME: "time",
    Role.TYPE: "type",
    Role.ID: "id",
}
_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "đ": "d"})


def named(role: Role, name: str | None, place: int, taken: set[str], part: str) -> str:
    """Name a column by its role, or by its own name in letters that a schema takes; ``taken`` grows."""
    if role is Role.LEFT:
        return LEFT
    if role in _STRUCTURE:
        made = _STRUCTURE[role]
    elif not name:
        made = WEIGHT if role is Role.VALUE and WEIGHT not in taken else f"column_{place + 1}"
    else:
        made = safe(name)
    if made in taken or (role not in _STRUCTURE and made in RESERVED):
        made = f"{made[:58]}_{place + 1}"
    taken.add(made)
    return made


def safe(name: str) -> str:
    """Write a name in letters, digits, ``_`` and ``-``, a letter first; as it stands where it is so."""
    if _USABLE.fullmatch(name):
        return name
    plain = unicodedata.normalize("NFKD", name.strip().translate(_LETTERS)).encode("ascii", "ignore").decode()
    made = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-")
    if not made[:1].isalpha():
        made = f"c_{made}" if made else "column"
    return made[:63]

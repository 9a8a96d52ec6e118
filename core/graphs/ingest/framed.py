"""Frames whose columns a person names: by the mapping that files take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import InvalidInput
from core.graphs.ingest.objects import arrow_of, is_frame
from core.graphs.reading.mapping import LEFT, Columns, columns_of

PARTS = ("edges", "nodes")


@dataclass(frozen=True)
class Said:
    """What a caller says of a file or frame besides the schema.

    ``columns``: of the edges alone, or of each part by its name. ``format``: of a file whose name does not
    tell. ``options``: of the format.
    """

    columns: Any = None
    format: str | None = None
    options: Mapping[str, Any] | None = None


def columns_by_part(said: Any) -> dict[str, Columns]:
    """Read what columns are, by part. It is said of the edges only, or of each part by its name."""
    if isinstance(said, Mapping) and said and set(said) <= set(PARTS):
        return {part: columns_of(each) for part, each in said.items()}
    return {"edges": columns_of(said)}


def renamed(frame: object, columns: Columns, part: str) -> object:
    """Return the frame with its columns renamed. It is as it is where nothing is said."""
    if not columns:
        return frame
    if not is_frame(frame):
        raise InvalidInput(
            f"columns say what a frame or a file holds; leave them out of the {part} of an object",
            field="columns",
        )
    table, unread = arrow_of(frame)
    held = list(map(str, frame.columns)) if unread and hasattr(frame, "columns") else table.column_names
    names = list(held)
    dropped = set()
    for role, column in columns:
        place = column - 1 if isinstance(column, int) else _place(held, column, part)
        if not 0 <= place < len(names):
            raise InvalidInput(
                f"the frame of {part} has {len(names)} columns, no column {column}", field="columns"
            )
        if role == LEFT:
            dropped.add(place)
        elif role not in ("value", "attribute"):
            names[place] = role
    for place, name in enumerate(held):
        if name in unread and place not in dropped:
            raise InvalidInput(
                f"the column {name!r} of {part} cannot be read ({unread[name]}); say {LEFT}={name} to leave "
                "it alone",
                field="columns",
            )
    kept = [place for place in range(len(names)) if place not in dropped]
    again = [names[place] for place in kept]
    for name in again:
        if again.count(name) > 1:
            raise InvalidInput(
                f"two columns of {part} would be called {name!r}; say {LEFT}={name} to leave one alone",
                field="columns",
            )
    return table.select([held[place] for place in kept]).rename_columns(again)


def _place(names: list[str], column: str, part: str) -> int:
    if column not in names:
        listed = ", ".join(names[:20])
        raise InvalidInput(f"the frame of {part} has no column {column!r}; it has {listed}", field="columns")
    return names.index(column)

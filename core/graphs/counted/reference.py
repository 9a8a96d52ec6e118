"""A reference to edges that stay where they are. It takes the place of an uploaded file. No NumPy here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import InvalidInput
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import MOST_CELLS, cells_of

FORMAT = "reference"
"""The format under which a reference is sent: its bytes are JSON."""
NO_FILE = "the folder has no Parquet file; name one that has"
NO_COLUMN = "no column {!r} stands in the files; name the columns of the ends"
MAX_BYTES = 16 * 2**10
TABLE = r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+){0,3}$"
OF_TENANT = re.compile(r"([A-Za-z0-9_.-]+)=")
"""What begins a place of one tenant alone; no folder begins so, as each has a scheme or a slash before."""
Column = Annotated[str, Field(pattern=r"^[^`{}\x00-\x1f]{1,128}$")]
FOLDER = r"^[^{}\[\]\\?#%\x00-\x1f]{1,1024}$"
"""Without what leaves a place: alternatives and sets of globs, escapes of an address (%2e%2e), and a query,
which may send credentials to another host. A * stands for what one name has."""
WRITABLE = (
    r"^(([a-z][a-z0-9+.-]{0,15}:/)?/[^{}\[\]\\*?#%\x00-\x1f]*|table:[A-Za-z0-9_]+(\.[A-Za-z0-9_]+){0,2})$"
)
"""The same of a folder that is written to: this machine's, or with a scheme; or where tables of the engine's
catalogue are made."""


class Reference(BaseModel):
    """Where rows of edges lie, and which of them.

    ``folder``: Parquet files, partitioned or not, or a glob of them (``s3://lake/calls/year=202*``); or
    ``table``: a table of the engine's catalogue, with the
    ``snapshot`` that is read. ``source`` and ``target``: the columns of the ends.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Annotated[str, Field(pattern=FOLDER)] | None = None
    table: Annotated[str, Field(pattern=TABLE)] | None = None
    snapshot: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    source: Column = "source"
    target: Column = "target"

    @model_validator(mode="after")
    def _one_of_both(self) -> Reference:
        if (self.folder is None) == (self.table is None):
            raise ValueError("name a folder or a table")
        if self.folder is not None and "**" in self.folder:
            raise ValueError("a * stands for names in one folder; write one for each folder below")
        if (self.table is None) != (self.snapshot is None):
            raise ValueError("a table comes with the number of its snapshot, a folder without")
        return self

    @property
    def place(self) -> str:
        """Where it is, as :attr:`allowed` prefixes are compared with it."""
        return self.folder or f"table:{self.table}"


class OfCell(Reference):
    """Where the rows of one relation lie; of one with time, those of one snapshot."""

    relation: Annotated[str, Field(min_length=1, max_length=256)]
    step: Annotated[int, Field(ge=0)] | None = None


class References(BaseModel):
    """Where the rows of several relations lie, each by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    relations: Annotated[tuple[OfCell, ...], Field(min_length=1, max_length=MOST_CELLS)]


def sources_of(reference: Reference | References, schema: GraphSchema) -> tuple[Reference, ...]:
    """Order what is referred to as the schema's cells. InvalidInput where it is not each of them once."""
    cells = [(relation.name, step) for relation, step in cells_of(schema)]
    if isinstance(reference, Reference):
        if len(cells) == 1:
            return (reference,)
        raise InvalidInput(
            f"the schema has {len(cells)} relations and snapshots, each of which lies by itself; send "
            '{"relations": [{"relation": ..., "folder": ...}, ...]}, with a step of those with time'
        )
    named = {(each.relation, each.step): each for each in reference.relations}
    if len(named) < len(reference.relations):
        raise InvalidInput("the reference names a relation or snapshot twice; name one folder for it")
    for there, cell in [(False, each) for each in cells if each not in named] + [
        (True, each) for each in named if each not in cells
    ]:
        step = "" if cell[1] is None else f" in step {cell[1]}"
        what = "which the schema has not" if there else "which lacks"
        raise InvalidInput(f"the reference: {cell[0]!r}{step}, {what}; name each of the schema's once")
    return tuple(named[cell] for cell in cells)


def places_of(tenant: str | None, entries: Iterable[str]) -> list[str]:
    """List the places that a tenant may name: its own (``TENANT=PLACE``), and those of every tenant.

    None: all, whosever they are.
    """
    found = []
    for entry in entries:
        of = OF_TENANT.match(entry)
        if of is None:
            found.append(entry)
        elif tenant in (None, of[1]):
            found.append(entry[of.end() :])
    return found


def read_reference(content: bytes, allowed: Collection[str]) -> Reference | References:
    """Read a reference. All of it must lie at or below one of the ``allowed`` places. InvalidInput
    otherwise."""
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"a reference has at most {MAX_BYTES} bytes; name one folder or table")
    try:
        # This only chooses the model: either refuses what it does not know.
        one = b'"relations"' not in content
        reference = (Reference if one else References).model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(each) for each in first["loc"])
        raise InvalidInput(
            f"the reference cannot be read: {where or 'it'}: {first['msg']}; send JSON as "
            '{"folder": "s3://lake/edges"} or {"table": "lake.edges", "snapshot": 17}'
        ) from None
    named = reference.relations if isinstance(reference, References) else (reference,)
    if not all(any(_within(each, place) for place in allowed) for each in named):
        raise InvalidInput(
            "the reference names a place that this service does not read; ask its operator to add the place "
            "to GRAPHVEIL_ENGINE_PLACES"
        )
    return reference


def lies_in(folder: str, place: str) -> bool:
    """Tell whether a folder is the place or below it."""
    # By whole names: /data/a holds nothing of /data/ab. And by none that leads up.
    below = folder.rstrip("/") + "/"
    return ".." not in below.split("/") and below.startswith(place.rstrip("/") + "/")


def _within(reference: Reference, place: str) -> bool:
    """Tell whether it is the place or below it: a name ends at a dot, a folder's at a slash."""
    if place.startswith("table:"):
        prefix = place if place.endswith((".", ":")) else f"{place}."
        return reference.table is not None and (
            reference.place == place or reference.place.startswith(prefix)
        )
    return reference.folder is not None and lies_in(reference.folder, place)

"""What tables are, as a person says it: one small file, ``tables.yaml``.

Names and types of columns are read; what is public, protected or withheld, and who is protected, is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library

ASK = "ask"
NAME = "tables.yaml"
Place = dict[str, Any]
TableName = Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]{1,128}$")]
"""A table's file has its name, which is no path."""


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Column(_Said):
    """One column.

    ``is``: the table's own ``key``, or ``public``, ``protected`` or ``withheld``. ``bounds`` (both included)
    of numbers and dates and ``categories`` of anything else say what a value may be; ``cuts``, or of dates a
    ``width`` such as ``1d`` or ``1h``, where bins begin. ``clip`` sets a number to the nearer bound.
    ``group`` of a third key: the public column of its table by which rows are told apart, or into how many
    even groups they are put by their order.
    """

    type: str
    role: Literal["key", "public", "protected", "withheld"] = Field(alias="is")
    references: str | None = None
    null: bool = False
    bounds: tuple[Any, Any] | None = None
    categories: tuple[str, ...] | None = None
    cuts: tuple[int | float, ...] = ()
    clip: bool = False
    width: str | None = None
    group: Annotated[str | int, Field(union_mode="left_to_right")] | None = None


class Table(_Said):
    """One table.

    ``rows``: ``public`` where everybody may know which there are, ``private`` where each is a secret.
    Of private rows: ``repeats`` is the most rows that one pair of ends may have, ``ends`` names the columns
    that a row joins (the first two keys, unless said), ``together`` the columns that are drawn as one.
    ``lacking`` is the most rows of one end whose other end is null, ``repeats`` unless said.
    ``steps`` names a date whose width cuts time into snapshots: ``repeats`` is then of a pair in one of them.
    """

    rows: Literal["public", "private"]
    columns: dict[str, Column]
    repeats: int | None = Field(default=None, ge=1, le=1_000_000)
    lacking: int | None = Field(default=None, ge=1, le=1_000_000)
    ends: tuple[str, ...] | None = None
    steps: str | None = None
    together: tuple[tuple[str, ...], ...] = ()
    constraints: tuple[str, ...] = ()

    @property
    def key(self) -> str | None:
        """The column that numbers the rows."""
        return next((name for name, each in self.columns.items() if each.role == "key"), None)

    @property
    def references(self) -> dict[str, str]:
        """Columns that name rows of another table, with that table."""
        return {name: each.references for name, each in self.columns.items() if each.references}


class TableMapping(_Said):
    """What all tables are.

    ``unit``: what one release hides: a private ``row``, all rows of one ``pair`` of ends, or a ``person``
    with all that reaches them. ``person``: the table of persons, or ``none``. ``keys``: ``public`` where a
    release names rows as the tables do, ``fresh`` where it numbers them anew.
    """

    unit: Literal["row", "pair", "person"]
    person: str
    keys: Literal["public", "fresh"]
    tables: dict[TableName, Table]

    def dump(self) -> str:
        """Write the mapping as YAML."""
        return as_yaml(self.model_dump(mode="json", by_alias=True, exclude_defaults=True))


Mapped = TableMapping | Mapping[str, Any] | str | PathLike[str]


def mapping_of(said: Mapped) -> TableMapping:
    """Read a mapping. InvalidInput names each question that is still open, and the first thing that "
    "is wrong."""
    if isinstance(said, TableMapping):
        return said
    found = _read(Path(fspath(said))) if isinstance(said, (str, PathLike)) else dict(said)
    found = _settled(found)
    if asked := _open(found, ""):
        listed = ", ".join(asked[:12]) + (f" and {len(asked) - 12} more" if len(asked) > 12 else "")
        raise InvalidInput(
            f"the tables' mapping leaves questions open: {listed}; answer each", field=asked[0]
        )
    try:
        return TableMapping.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(each) for each in first["loc"])
        raise InvalidInput(f"{where}: {first['msg']}; see docs/tables.md", field=where) from error


def as_yaml(content: Place) -> str:
    """Write YAML, keys as they come."""
    yaml = library("yaml", "tables")
    text: str = yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None
    )
    return text


def _read(path: Path) -> Place:
    yaml = library("yaml", "tables")
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InvalidInput(f"{path.name} cannot be read: {error}; it is YAML", field="mapping") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{path.name} holds no mapping; see docs/tables.md", field="mapping")
    return found


_OF_VALUES = ("bounds", "categories", "width")


def _settled(found: Place) -> Place:
    """Leave out questions that other answers settle: what values may be is said of protected ones alone."""
    tables = found.get("tables")
    if not isinstance(tables, Mapping):
        return found
    made: Place = {}
    for name, table in tables.items():
        columns = table.get("columns") if isinstance(table, Mapping) else None
        if not isinstance(columns, Mapping):
            return found
        kept = {column: _of_column(each) for column, each in columns.items()}
        open_repeats = table.get("rows") == "public" and table.get("repeats") == ASK
        made[name] = {key: each for key, each in table.items() if key != "repeats" or not open_repeats}
        made[name]["columns"] = kept
    return {**found, "tables": made}


def _of_column(said: Any) -> Any:
    if not isinstance(said, Mapping) or (said.get("is") in (ASK, "protected") and "references" not in said):
        return said
    return {key: each for key, each in said.items() if key not in _OF_VALUES or each != ASK}


def _open(value: Any, where: str) -> Sequence[str]:
    """List where it says ``ask``, in the order of the file."""
    if value == ASK and where.rpartition(".")[2] in _QUESTIONS:
        return [where]
    if isinstance(value, Mapping):
        inner = (_open(each, f"{where}.{name}" if where else str(name)) for name, each in value.items())
        return [found for each in inner for found in each]
    return []


_QUESTIONS = frozenset({"unit", "person", "keys", "rows", "is", "bounds", "categories", "repeats", "width"})

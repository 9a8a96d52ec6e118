"""What a person says of a file. It replaces what was guessed: one mapping, whatever the face.

``source=caller,target=callee,time=when,value=seconds`` says what columns are, by name or by number from 1;
``source,target,-,time`` names them in the order of the file. JSON says either where names have commas.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Map
from dataclasses import dataclass
from typing import Any, TypeVar

from core.errors import InvalidInput

LEFT = "-"
"""What a column is called that is left alone."""
REPEATED = ("value", "attribute", LEFT)
"""What several columns may be: they keep the names that the file gives them."""
MAX_COLUMNS = 256
MAX_NAME = 128
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "windows-1252")
_SAID = {"true": True, "false": False, "auto": None, True: True, False: False, None: None}
_DATES = {"dmy": "dmy", "mdy": "mdy", "ymd": "ymd", "auto": None, None: None}
_EXAMPLE = "source=caller,target=callee,time=when"
T = TypeVar("T")

Columns = tuple[tuple[str, str | int], ...]


@dataclass(frozen=True)
class Mapping:
    """What the person says; None or nothing: it is guessed.

    ``columns`` are pairs of what a column is and its name in the header, or its number from 1. A
    ``delimiter`` of one space is any run of spaces and tabs; ``bipartite``: the ends are two sorts of nodes.
    ``dates`` are ``dmy`` (day first), ``mdy``, or ``ymd``: eight digits are a day.
    """

    columns: Columns = ()
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None
    bipartite: bool | None = None
    dates: str | None = None

    @classmethod
    def parse(
        cls,
        columns: str | Sequence[Any] | Map[str, Any] | None = None,
        *,
        delimiter: str | None = None,
        header: bool | str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        bipartite: bool | str | None = None,
        dates: str | None = None,
    ) -> Mapping:
        """Read a mapping from the values given. Each is text or as it is; InvalidInput names the field at
        fault."""
        return cls(
            columns=columns_of(columns),
            delimiter=delimiter_of(delimiter),
            header=_one_of(header, _SAID, "header", "true, false or auto"),
            decimal=_one_of(
                decimal, {".": ".", ",": ",", "auto": None, None: None}, "decimal", "a point or a comma"
            ),
            encoding=encoding_of(encoding),
            bipartite=_one_of(bipartite, _SAID, "bipartite", "true, false or auto"),
            dates=_one_of(dates, _DATES, "dates", "dmy, mdy, ymd or auto"),
        )

    def as_json(self) -> dict[str, Any]:
        """Write the mapping as plain JSON values. Columns are a list of ``role=column``, or of pairs."""
        said = {name: value for name, value in vars(self).items() if value is not None}
        return {**said, "columns": [list(pair) for pair in self.columns]}

    @classmethod
    def from_json(cls, said: Map[str, Any]) -> Mapping:
        """Read a mapping from JSON. :meth:`as_json` wrote it, or a person; an unknown member is refused."""
        if unknown := sorted(set(said) - set(cls.__dataclass_fields__)):
            known = ", ".join(cls.__dataclass_fields__)
            raise InvalidInput(f"a mapping has no {unknown[0]!r}; it has {known}", field=unknown[0])
        return cls.parse(**said)

    def options(self) -> dict[str, str | list[str]]:
        """Write the mapping as options of an upload. HTTP, the command line and the library take them so."""
        made: dict[str, str | list[str]] = {}
        if self.columns:
            made["columns"] = json.dumps([list(pair) for pair in self.columns], ensure_ascii=False)
        for name in ("delimiter", "decimal", "encoding", "dates"):
            if (text := getattr(self, name)) is not None:
                made[name] = text
        for name in ("header", "bipartite"):
            if (said := getattr(self, name)) is not None:
                made[name] = str(said).lower()
        return made

    def __str__(self) -> str:
        """Write the mapping as a person sends it: ``columns=source=caller,target=callee header=true``."""
        parts = []
        if self.columns:
            simple = all(
                "," not in f"{role}{column}" and "=" not in f"{role}{column}" for role, column in self.columns
            )
            roles = ",".join(f"{role}={column}" for role, column in self.columns)
            parts.append(f"columns={roles if simple else self.options()['columns']}")
        parts += [f"{name}={text}" for name, text in self.options().items() if name != "columns"]
        return " ".join(parts)


def columns_of(said: str | Sequence[Any] | Map[str, Any] | None) -> Columns:
    """Read the roles of columns. They are given as ``source=caller,target=callee``, as names in order, or as
    JSON."""
    if said is None:
        return ()
    if isinstance(said, str):
        said = _unwritten(said)
    if isinstance(said, Map):
        pairs = [pair for role, column in said.items() for pair in _of_member(role, column)]
        return _checked(pairs)
    items = list(said)
    if len(items) == 1 and isinstance(items[0], str) and items[0].lstrip()[:1] in ("[", "{"):
        return columns_of(items[0])
    if all(isinstance(item, str) for item in items):
        items = [part.strip() for item in items for part in item.split(",")]
        if any("=" in item for item in items):
            return _checked([_assigned(item) for item in items])
        return _checked([(name, place) for place, name in enumerate(items, start=1)])
    return _checked([_pair(item) for item in items])


def delimiter_of(said: str | None) -> str | None:
    """Read a delimiter: one character, ``::``, or its name; None: it is guessed."""
    named = {
        "tab": "\t",
        "\\t": "\t",
        "space": " ",
        "comma": ",",
        "semicolon": ";",
        "pipe": "|",
        "auto": None,
    }
    if said is None or said in named:
        return None if said is None else named[said]
    if said != "::" and (len(said) != 1 or said in '"\r\n#%' or said.isalnum()):
        raise InvalidInput(
            f"the delimiter {said!r} separates no fields; write one character such as ; or |, or ::, "
            "tab or space",
            field="delimiter",
        )
    return said


def encoding_of(said: str | None) -> str | None:
    """Read the name of an encoding. Any of its spellings will do; None: it is guessed."""
    if said is None or said == "auto":
        return None
    known = {codecs.lookup(name).name: name for name in ENCODINGS}
    try:
        encoding = known.get(codecs.lookup(said).name)
    except (LookupError, ValueError):
        encoding = None
    if encoding is None:
        raise InvalidInput(
            f"the encoding {said!r} is not read; use one of {', '.join(ENCODINGS)}", field="encoding"
        )
    return encoding


def _one_of(said: Any, known: Map[Any, T], field: str, words: str) -> T:
    text = said.lower() if isinstance(said, str) else said
    if not isinstance(text, str | bool | None) or text not in known:
        raise InvalidInput(f"{field} is {words}, not {said!r}", field=field)
    return known[text]


def _unwritten(said: str) -> Any:
    """Read JSON where the text begins like it; else split it at commas."""
    if said.lstrip()[:1] not in ("[", "{"):
        return [said]
    try:
        return json.loads(said)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"columns are no JSON: line {error.lineno}, column {error.colno}; write {_EXAMPLE}",
            field="columns",
        ) from None


def _assigned(item: str) -> tuple[str, str | int]:
    role, mark, column = item.partition("=")
    if not mark or not role.strip() or not column.strip():
        raise InvalidInput(f"{item!r} says no column; write {_EXAMPLE}", field="columns")
    return role.strip(), _numbered(column.strip())


def _numbered(column: str) -> str | int:
    return int(column) if column.isascii() and column.isdigit() and len(column) < 4 else column


def _of_member(role: str, column: Any) -> Iterable[tuple[Any, Any]]:
    return [(role, part) for part in column] if isinstance(column, list | tuple) else [(role, column)]


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, list | tuple) and len(item) == 2:
        return item[0], item[1]
    raise InvalidInput(
        f"columns are pairs of a role and a column, not {item!r}; write {_EXAMPLE}", field="columns"
    )


def _checked(pairs: Sequence[tuple[Any, Any]]) -> Columns:
    """Refuse what no file can have: a role of two columns, a column of two roles, numbers below 1."""
    if len(pairs) > MAX_COLUMNS:
        raise InvalidInput(f"at most {MAX_COLUMNS} columns are named", field="columns")
    roles: set[str] = set()
    columns: set[str | int] = set()
    for role, column in pairs:
        if not isinstance(role, str) or not role or len(role) > MAX_NAME:
            raise InvalidInput(f"{role!r} is no role; write {_EXAMPLE}", field="columns")
        if isinstance(column, bool) or not isinstance(column, str | int):
            raise InvalidInput(
                f"{column!r} is no column; give its name or its number from 1", field="columns"
            )
        if isinstance(column, int) and not 1 <= column <= MAX_COLUMNS:
            raise InvalidInput(f"columns are numbered from 1 to {MAX_COLUMNS}, not {column}", field="columns")
        twice = [known for known, _ in pairs if known == role] == ["time"] * 2
        if role in roles and role not in REPEATED and not twice:
            raise InvalidInput(f"two columns are called {role!r}; a file has one", field="columns")
        if column in columns:
            raise InvalidInput(f"the column {column!r} is named twice; give it one role", field="columns")
        roles.add(role)
        columns.add(column)
    return tuple(pairs)

"""A schema as fields of a form: what is most often mended, without JSON.

Each field has a path in the schema, such as ``edge_types.0.directed``, and is sent under it. What no field
shows stays as it is; the schema's own validation says what is wrong.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import InvalidInput
from core.graphs.schema.time_grid import shown_time, shown_width

MOST_FIELDS = 150
"""A form takes 200; a schema with more to mend is mended as JSON."""
NUMERIC = ("integer", "number")
AGGREGATES = ("", "sum", "mean", "min", "max", "first", "last", "count")
TOLD_APART = {
    "number": ("sum", "mean", "min", "max", "first", "last"),
    "category": ("min", "max", "first", "last"),
    "time_of_day": ("min", "max", "first", "last"),
}


@dataclass(frozen=True)
class Field:
    """One field: where it stands in the schema, what it asks (a key of the texts), and what it holds.

    ``options``: the values to choose from, each a key of the texts; empty for a text. ``of``: the attribute
    that it is about.
    """

    path: str
    asks: str
    value: str
    options: tuple[str, ...] = ()
    of: str = ""


@dataclass(frozen=True)
class Group:
    """The fields of one relation, node type or of the time grid."""

    kind: str
    title: str
    fields: tuple[Field, ...]


def groups_of(schema: Mapping[str, Any]) -> list[Group]:
    """List the fields of a schema; none where they are too many for a form."""
    found = [each for each in _every(schema) if each.fields]
    return found if sum(len(each.fields) for each in found) <= MOST_FIELDS else []


def edited(sent: str, form: Mapping[str, str]) -> str:
    """Return the schema as JSON, with what the form's fields say. InvalidInput for what cannot be read."""
    try:
        schema = json.loads(sent)
        fields = [field for group in groups_of(schema) for field in group.fields]
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError):
        return sent  # whoever reads it next says what is wrong
    changed = copy.deepcopy(schema)
    for field in fields:
        if field.path in form and form[field.path] != field.value:
            _put(changed, field, form[field.path])
    return json.dumps(changed)


def times_of(grid: Mapping[str, Any]) -> dict[str, str]:
    """Write start and width of a grid as they are read: dates and units, where times count seconds."""
    start, width = grid.get("start", 0), grid.get("width", 1)
    if not isinstance(start, int) or not isinstance(width, int):
        return {"start": str(start), "width": str(width)}
    return {"start": shown_time(start), "width": shown_width(width, start)}


def _every(schema: Mapping[str, Any]) -> Iterator[Group]:
    for place, each in enumerate(schema.get("edge_types", ())):
        at = f"edge_types.{place}"
        fields = [
            Field(f"{at}.public", "public", _flag(each, "public"), ("false", "true")),
            Field(f"{at}.edge_bound", "edge_bound", _text(each.get("edge_bound"))),
        ]
        if each.get("source") == each.get("target"):
            fields.insert(0, Field(f"{at}.directed", "directed", _flag(each, "directed"), ("false", "true")))
        for number, held in enumerate(each.get("attributes", ())):
            fields += _carried(f"{at}.attributes.{number}", held, merged=each.get("multiplicity") != "each")
        yield Group("relation", each.get("name", "edge"), tuple(fields))
    for place, each in enumerate(schema.get("node_types", ())):
        fields = []
        for number, held in enumerate(each.get("attributes", ())):
            at = f"node_types.{place}.attributes.{number}"
            said = str(held.get("protection", "withheld"))
            kinds = ("public", "protected", "withheld")
            fields.append(Field(f"{at}.protection", "protection", said, kinds, held["name"]))
            fields += _bounded(at, held) if held.get("kind") == "number" else []
        yield Group("nodes", each.get("name", "node"), tuple(fields))
    if grid := schema.get("time"):
        asks = (*times_of(grid).items(), ("count", str(grid["count"])))
        yield Group("time", "", tuple(Field(f"time.{name}", name, value) for name, value in asks))


def _carried(at: str, held: Mapping[str, Any], *, merged: bool) -> list[Field]:
    kind, name = held.get("kind", ""), held["name"]
    fields = _bounded(at, held) if kind in NUMERIC else []
    if merged:
        taken = TOLD_APART.get(kind, AGGREGATES[1:])
        said = str(held.get("aggregate") or "")
        fields.append(Field(f"{at}.aggregate", "aggregate", said, ("", *taken), name))
    return fields


def _bounded(at: str, held: Mapping[str, Any]) -> list[Field]:
    (low, high), of = held.get("bounds") or (None, None), held["name"]
    return [
        Field(f"{at}.bounds.0", "low", _text(low), of=of),
        Field(f"{at}.bounds.1", "high", _text(high), of=of),
        Field(f"{at}.clip", "clip", _flag(held, "clip"), ("false", "true"), of),
        Field(f"{at}.cuts", "cuts", ", ".join(map(_text, held.get("cuts", ()))), of=of),
    ]


def _flag(held: Mapping[str, Any], name: str) -> str:
    return "true" if held.get(name) else "false"


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _put(schema: Any, field: Field, said: str) -> None:
    *way, last = field.path.split(".")
    held = schema
    for step in way:
        key: Any = int(step) if step.isdigit() else step
        if step == "bounds" and held.get("bounds") is None:
            held["bounds"] = [None, None]
        held = held[key]
    if last.isdigit():
        held[int(last)] = _number(said, field.path)
    elif said == "":
        held.pop(last, None)
    elif field.options == ("false", "true"):
        held[last] = said == "true"
    elif last == "cuts":
        held[last] = [_number(each, field.path) for each in said.split(",") if each.strip()]
    elif last in ("edge_bound", "count"):
        held[last] = _number(said, field.path)
    else:
        held[last] = int(said) if way == ["time"] and said.lstrip("-").isdigit() else said


def _number(said: str, path: str) -> int | float | None:
    text = said.strip()
    if not text:
        return None
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no number; write one such as 5 or 0.5", field=path) from None

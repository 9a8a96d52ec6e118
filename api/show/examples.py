"""Examples for the schemas of the OpenAPI document. Where a model says its own, that one stands.

A body has the first example of its operation. Others are put together of what fields say of themselves:
examples, constants, defaults, bounds; and, where they say nothing, of what is usual for a name. What may be
left out, is. A test holds every example against its schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

DAY = "2026-03-04T08:15:00Z"
USUAL: Mapping[str, Any] = {
    "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e",
    "version_id": "dv_01k8zv3c5m2q7d8s9w1xg4t6ya",
    "job_id": "job_01k8zv4d6n3r8e9t0x2yh5u7zb",
    "stream_id": "st_01k8zv5e7p4s9f0v1y3zj6w8ac",
    "account_id": "acc_01k8zv6f8q5t0g1w2z4ak7x9bd",
    "webhook_id": "wh_01k8zv7g9r6v1h2x3a5bm8y0ce",
    "request_id": "req_01k8zv8h0s7w2j3y4b6cn9z1df",
    "reservation_id": "res_01k8zv9j1t8x3k4z5c7dp0a2eg",
    "person": "ada",
    "tenant": "city-hospital",
    "name": "contacts",
    "method": "dcsbm",
    "edge_type": "contact",
    "node_type": "person",
    "source": "person",
    "target": "person",
    "unit": "edge",
    "epsilon": "0.5",
    "delta": "0",
    "reason": "agreed in the data board",
    "kind": "pure",
    "statement": "P[S] <= e^0.5 P'[S] for every set S of releases.",
    "url": "https://hooks.example.org/graphveil",
    "format": "csv",
    "part": "edges",
    "media_type": "application/vnd.apache.parquet",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "plan_digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "state": "published",
    "role": "curator",
    "roles": ["curator"],
    "purpose": "edge count",
    "mechanism": "discrete_laplace",
    "quantity": "edges",
    "label": "spring term",
    "team": "epidemiology",
    "project": "spring-survey",
    "field": "epsilon",
    "message": "Name another epsilon.",
}
"""What stands for a text of that name, where its schema says nothing; more names in its plural and by its
last word."""
FORMATS = {
    "date-time": DAY,
    "date": DAY[:10],
    "uri": "https://graphveil.example.org/",
    "binary": "",
}
TEXTS = ("text", USUAL["sha256"], "0.5", DAY, "c0ffee", "1", "job.published", "a")
MOST_DEEP = 12


def filled(document: dict[str, Any]) -> dict[str, Any]:
    """Give each schema of the document an example. Returned is the document itself."""
    schemas = document["components"]["schemas"]
    for name, value in _bodies(document["paths"]):
        schemas[name].setdefault("examples", [value])
    for name, schema in schemas.items():
        if not {"example", "examples"} & set(schema):
            schema["examples"] = [_value(schema, name, schemas, ())]
    return document


def _bodies(paths: Schema) -> Iterator[tuple[str, Any]]:
    """Yield the schema of each JSON body with the first example of its operation."""
    for operation in (each for item in paths.values() for each in item.values()):
        said = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        of = said.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
        if of and (first := next(iter(said.get("examples", {}).values()), None)):
            yield of, first["value"]


def _value(schema: Schema, name: str, schemas: Schema, above: tuple[str, ...]) -> Any:
    """Put a value together. ``above``: the schemas that it is part of, so that none is begun again."""
    if "$ref" in schema:
        of = schema["$ref"].rsplit("/", 1)[-1]
        return _value(schemas[of], name, schemas, (*above, of))
    if said := schema.get("examples"):
        return said[0]
    for key in ("example", "const"):
        if key in schema:
            return schema[key]
    if schema.get("default") not in (None, [], {}, ""):
        return schema["default"]
    if "enum" in schema:
        usual = _usual(name)
        return usual if usual in schema["enum"] else schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _first(schema[key], name, schemas, above)
    if "allOf" in schema:
        return _value(schema["allOf"][0], name, schemas, above)
    made = {"object": _object, "array": _array, "string": _text, "integer": _number, "number": _number}
    kind = schema.get("type")
    return made[kind](schema, name, schemas, above) if kind in made else {"boolean": False}.get(str(kind))


def _first(choices: list[Schema], name: str, schemas: Schema, above: tuple[str, ...]) -> Any:
    """Take the first that is something, and begins nothing again."""
    open_ = [each for each in choices if not _begun(each, above)] or choices
    given = next((each for each in open_ if each.get("type") != "null"), {"type": "null"})
    return None if _begun(given, above) else _value(given, name, schemas, above)


def _begun(schema: Schema, above: tuple[str, ...]) -> bool:
    return len(above) > MOST_DEEP or schema.get("$ref", "").rsplit("/", 1)[-1] in above


def _object(schema: Schema, name: str, schemas: Schema, above: tuple[str, ...]) -> Any:
    needed, whose = schema.get("required", ()), (above[-1] if above else name).lower()
    made = {
        each: _value(of, f"{whose}_id" if each == "id" else each, schemas, above)
        for each, of in schema.get("properties", {}).items()
        if each in needed or not (_begun(of, above) or _left_out(of))
    }
    more = schema.get("additionalProperties")
    if not made and isinstance(more, dict) and not _begun(more, above):
        made["contact"] = _value(more, name, schemas, above)
    return {each: value for each, value in made.items() if value is not None or each in needed}


def _left_out(schema: Schema) -> bool:
    """Tell whether a field that is not needed says nothing of itself, and is null unless it is given."""
    return "examples" not in schema and any(each.get("type") == "null" for each in schema.get("anyOf", ()))


def _array(schema: Schema, name: str, schemas: Schema, above: tuple[str, ...]) -> Any:
    if first := schema.get("prefixItems"):
        return [_value(each, name, schemas, above) for each in first]
    of, least = schema.get("items"), schema.get("minItems", 0)
    if of is None or (_begun(of, above) and not least):
        return []
    one = _value(of, name.removesuffix("s"), schemas, above)
    return [one] * max(1, least)


def _text(schema: Schema, name: str, schemas: Schema, above: tuple[str, ...]) -> Any:
    if (form := FORMATS.get(schema.get("format", ""))) is not None:
        return form
    usual = _usual(name)
    tried = [usual, *TEXTS] if isinstance(usual, str) else list(TEXTS)
    return next((text for text in tried if _fits(text, schema)), tried[0])


def _fits(text: str, schema: Schema) -> bool:
    long = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
    return long and re.search(schema.get("pattern", ""), text) is not None


def _usual(name: str) -> Any:
    """Look the name up, then its last words: ``requested_by_person`` is as ``person``."""
    words = name.split("_")
    ends = ("_".join(words[at:]) for at in range(len(words)))
    return next((USUAL[each] for each in ends if each in USUAL), None)


def _number(schema: Schema, name: str, schemas: Schema, above: tuple[str, ...]) -> Any:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + ("exclusiveMinimum" in schema))
    most = schema.get("maximum", schema.get("exclusiveMaximum", least + 1))
    if schema["type"] == "integer":
        return int(max(least, min(1, most)))
    return float(max(least, min(0.5, most)))

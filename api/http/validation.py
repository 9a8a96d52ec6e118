"""Pydantic's findings as fields to mend. What was sent is never echoed: it may be data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from api.schemas.problems import FieldError

MAX_ERRORS = 20
# What Pydantic puts into a path for one type of a choice.
_TYPE = re.compile(r"str|int|float|bool|none|(constrained|function|lax-or-strict|nullable)-.*|\w+\[.*\]")
_PLACES = frozenset({"body", "query", "path", "header"})


def field_errors(findings: Iterable[Mapping[str, Any]]) -> list[FieldError]:
    """List one entry for each field at fault. There are at most ``MAX_ERRORS``, with a dotted path and how to
    mend it.

    A value that fits none of several types is one error: Pydantic names a finding for each, below the field.
    """
    held = list(findings)
    choices = _choices(held)
    fields: dict[tuple[Any, ...], list[FieldError]] = {}
    for finding in held:
        location = tuple(finding["loc"])
        choice = next((location[:k] for k in range(len(location)) if location[:k] in choices), None)
        if len(fields) == MAX_ERRORS and (choice is None or choice not in fields):
            break
        error = _field_error({**finding, "loc": location if choice is None else choice})
        fields.setdefault((len(fields), location) if choice is None else choice, []).append(error)
    return [_one_of(errors) for errors in fields.values()]


def _choices(findings: Iterable[Mapping[str, Any]]) -> set[tuple[Any, ...]]:
    """Find the fields that have a finding below each of several types."""
    below: dict[tuple[Any, ...], set[str]] = {}
    for finding in findings:
        location = tuple(finding["loc"])
        for place, part in enumerate(location):
            if place and isinstance(part, str) and _TYPE.fullmatch(part):
                below.setdefault(location[:place], set()).add(part)
    return {location for location, types in below.items() if len(types) > 1}


def _one_of(errors: list[FieldError]) -> FieldError:
    """Join the errors of one field, one for each type that it may have."""
    messages, mends = (
        list(dict.fromkeys(said)) for said in zip(*((e.message, e.how_to_mend) for e in errors), strict=True)
    )
    either = " or ".join([mends[0].removesuffix("."), *(_lowered(mend) for mend in mends[1:])])
    return FieldError(
        field=errors[0].field,
        message=" or ".join([messages[0], *map(_lowered, messages[1:])]),
        how_to_mend=f"{either}." if len(mends) > 1 else mends[0],
    )


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:].removesuffix(".")


def _field_error(finding: Mapping[str, Any]) -> FieldError:
    # A name that the caller made up can hold half a character, which no answer could carry.
    location = [str(part).encode(errors="replace").decode() for part in finding["loc"]]
    if finding["type"] == "json_invalid":
        location = location[:1]  # what follows is an offset, no name
    if len(location) > 1 and location[0] in _PLACES:
        location = location[1:]
    message = finding["msg"].removeprefix("Value error, ")
    return FieldError(field=".".join(location), message=message, how_to_mend=_mend(finding))


def _mend(finding: Mapping[str, Any]) -> str:
    kind, context = finding["type"], finding.get("ctx") or {}
    if tuple(finding["loc"]) == ("body",):  # nothing was sent, or what was sent was not taken for JSON
        return "Send a JSON object with Content-Type: application/json."
    if kind == "missing":
        return "Add this field."
    if kind == "extra_forbidden":
        return "Leave this field out, or check its spelling."
    if kind in ("json_invalid", "json_type"):
        return "Send valid JSON with Content-Type: application/json."
    if kind in ("enum", "literal_error"):
        return f"Use one of {context.get('expected')}."
    if kind == "string_pattern_mismatch":
        return f"Match the pattern {context.get('pattern')}."
    limits = {
        "greater_than_equal": ("at least", "ge"),
        "greater_than": ("more than", "gt"),
        "less_than_equal": ("at most", "le"),
        "less_than": ("less than", "lt"),
        "string_too_short": ("at least", "min_length"),
        "string_too_long": ("at most", "max_length"),
        "too_short": ("at least", "min_length"),
        "too_long": ("at most", "max_length"),
    }
    if kind in limits:
        words, key = limits[kind]
        return f"Use {words} {context.get(key)}{' items or characters' if 'length' in key else ''}."
    if kind.endswith(("_type", "_parsing")):
        return (
            f"Send a value of type {kind.removesuffix('_type').removesuffix('_parsing').replace('_', ' ')}."
        )
    return "Change the value as the message says."

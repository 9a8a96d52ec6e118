"""Pydantic's findings as fields to mend. What was sent is never echoed: it may be data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from api.schemas.problems import FieldError

MAX_ERRORS = 20
_PLACES = frozenset({"body", "query", "path", "header"})


def field_errors(findings: Iterable[Mapping[str, Any]]) -> list[FieldError]:
    """One entry for each finding, at most ``MAX_ERRORS``, with a dotted path and how to mend it."""
    return [_field_error(finding) for _, finding in zip(range(MAX_ERRORS), findings, strict=False)]


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

"""What an assistant sees of an answer. It is everything but what is for curators only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from graphveil.errors import ProblemError
from graphveil.models.base import CURATORS
from graphveil.models.datasets import Dataset

KNOWN_TO_ALL = frozenset({"ready", "archived"})
"""States of a dataset that requesters are told; any other they see as ``registered``."""
_HIDDEN = frozenset({"findings", "errors", "links"})
_DRAWN = "drawing"
_WRITTEN = frozenset({"label"})
"""Texts that anybody with a key writes, for people: an assistant might take one for an instruction."""


def seen(answer: Any) -> Any:
    """Write the answer as JSON values, without curators' fields.

    Their descriptions say that they are for curators; labels are left out too. What the models do not know, a
    later service's fields, was dropped when they were read.

    >>> from graphveil.models.jobs import Event
    >>> seen(Event(sequence=1, stage="fit", done=1, total=2, created_at="2026-01-02T03:04:05Z"))
    {'sequence': 1, 'stage': 'fit', 'done': 1, 'total': 2}
    """
    if isinstance(answer, BaseModel):
        shown = {
            name: seen(getattr(answer, name))
            for name, field in type(answer).model_fields.items()
            if CURATORS not in (field.description or "") and name not in _WRITTEN
        }
        if isinstance(answer, Dataset):
            shown["state"] = answer.state if answer.state in KNOWN_TO_ALL else "registered"
        return shown
    if isinstance(answer, Mapping):
        return {str(name): seen(value) for name, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [seen(each) for each in answer]
    return to_jsonable_python(answer)


def public_edition(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report's public part without its drawing's coordinates.

    Nothing else of the report is returned.
    """
    public = dict(report["public"])
    if isinstance(public.get("charge"), Mapping):  # to curators its time is told to the second
        public["charge"] = {name: value for name, value in public["charge"].items() if name != "charged_at"}
    statistics = public.get("statistics")
    if isinstance(statistics, Mapping):
        public["statistics"] = {name: value for name, value in statistics.items() if name != _DRAWN}
    return public


def refused(problem: ProblemError) -> str:
    """Describe a refusal, with its amounts and remedy. It says who can mend it; no findings of uploads."""
    lines = [f"{problem.title} ({problem.slug})."]
    if problem.slug == "dataset-not-ready":  # how its upload went is for curators
        return f"{lines[0]} Its curators know more."
    if problem.detail:
        lines.append(problem.detail)
    for error in problem.members.get("errors") or ():
        lines.append(f"{error.get('field')}: {error.get('message')} {error.get('how_to_mend') or ''}".strip())
    lines += [
        f"{name}: {value}"
        for name, value in problem.members.items()
        if name not in _HIDDEN and isinstance(value, (str, int, float))
    ]
    lines.append(f"Who can mend it: {problem.actionable_by or 'unknown'}.")
    return "\n".join(lines)

"""Where a published form differs from its paper, made from its parameters.

A paper's folder holds ``stated.py``: ``STATED``, what the paper states, by parameter; ``PAPER``, the
parameters of its ``preset: paper``; ``REASONS``, why a parameter of ours differs by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True)
class Stated:
    """A value that a paper states, and the place: section, equation or table."""

    value: Any
    place: str


def deviating(params: BaseModel, stated: Mapping[str, Stated]) -> list[str]:
    """List the parameters that differ from what the paper states, in the paper's order."""
    return [name for name, said in stated.items() if getattr(params, name) != said.value]


def table(defaults: BaseModel, stated: Mapping[str, Stated], reasons: Mapping[str, str]) -> str:
    """Write the table of deviations as Markdown: parameter, the paper's value and place, ours, why.

    Raises KeyError for a deviation without a reason.
    """
    rows = [
        f"| `{name}` | {said.value} | {said.place} | {getattr(defaults, name)} | {reasons[name]} |"
        for name, said in stated.items()
        if name in deviating(defaults, stated)
    ]
    return "\n".join(["| parameter | paper | where | ours | why |", "|---|---|---|---|---|", *rows, ""])

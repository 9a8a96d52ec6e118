"""Where a published form differs from its paper, made from its parameters and what its preset fixes.

A paper's folder holds ``stated.py``: ``STATED``, what the paper states, by parameter; ``PAPER``, the
parameters of its ``preset: paper``; ``REASONS``, why a parameter of ours differs by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.methods._shared.frame.presets import PresetParameters


@dataclass(frozen=True)
class Stated:
    """A value that a paper states, and the place: section, equation or table."""

    value: Any
    place: str


def deviating(params: PresetParameters, stated: Mapping[str, Stated]) -> list[str]:
    """List the parameters that differ from what the paper states, in the paper's order."""
    ours = _values(params)
    return [name for name, said in stated.items() if ours[name] != said.value]


def table(defaults: PresetParameters, stated: Mapping[str, Stated], reasons: Mapping[str, str]) -> str:
    """Write the table of deviations as Markdown: parameter, the paper's value and place, ours, why.

    Raises KeyError for a deviation without a reason.
    """
    ours = _values(defaults)
    rows = [
        f"| `{name}` | {said.value} | {said.place} | {ours[name]} | {reasons[name]} |"
        for name, said in stated.items()
        if name in deviating(defaults, stated)
    ]
    return "\n".join(["| parameter | paper | where | ours | why |", "|---|---|---|---|---|", *rows, ""])


def _values(params: PresetParameters) -> dict[str, Any]:
    """Map every parameter, and what the method and its preset fix beside them, to its value."""
    fixed = {name: getattr(params, name) for name in params.RETIRED}
    return {**fixed, **dict(params), **vars(params.way)}

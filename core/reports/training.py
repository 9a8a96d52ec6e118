"""How a learned model was trained, as a report tells it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from core.reports.base import evenly
from graphveil.models.reports import Count, ReportModel

MAX_POINTS = 1_000
MAX_CURVES = 32
MAX_NAME = 100


class Curve(ReportModel):
    """One quantity over the training, in order; at most 1,000 points, evenly taken."""

    name: Annotated[str, Field(max_length=100)]
    steps: Annotated[tuple[Count, ...], Field(max_length=1_000)] = Field(description="Number of each point.")
    values: Annotated[tuple[float, ...], Field(max_length=1_000)]


class TrainingPart(ReportModel):
    """How a learned model was trained: from what was paid for, or of a release without a guarantee."""

    curves: Annotated[tuple[Curve, ...], Field(max_length=32)]
    notes: Annotated[tuple[str, ...], Field(max_length=32)] = ()
    collapsed: bool | None = Field(
        default=None, description="Whether the generated data are degenerate; null where nothing says so."
    )


def training_part(
    curves: Mapping[str, Sequence[float]], notes: Sequence[str], collapsed: bool | None
) -> TrainingPart:
    """Report a training's curves and notes. Longer curves are thinned evenly, ends kept.

    A paid-for release must not fail over its curves: points that are not finite are left out and counted in a
    note, and curves past MAX_CURVES are named in one.
    """
    named = list(curves.items())
    messages = list(notes)
    shown = []
    for name, values in named[:MAX_CURVES]:
        # JSON has no infinities, and a release that is paid for must not fail over its curves.
        finite = [(step, float(value)) for step, value in enumerate(values) if math.isfinite(value)]
        if len(finite) < len(values):
            messages.append(f"{len(values) - len(finite)} points of {name!r} were not finite.")
        kept = evenly(finite, MAX_POINTS)
        shown.append(
            Curve(
                name=name[:MAX_NAME],
                steps=tuple(step for step, _ in kept),
                values=tuple(value for _, value in kept),
            )
        )
    if len(named) > MAX_CURVES:
        messages.append(f"{len(named) - MAX_CURVES} more curves are not shown.")
    return TrainingPart(curves=tuple(shown), notes=tuple(messages[:MAX_CURVES]), collapsed=collapsed)

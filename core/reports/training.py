"""How a learned model was trained, as a report tells it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from core.reports.base import evenly
from core.reports.model import Curve, TrainingPart

MAX_POINTS = 1_000
MAX_CURVES = 32
MAX_NAME = 100


def training_part(
    curves: Mapping[str, Sequence[float]], notes: Sequence[str], collapsed: bool | None
) -> TrainingPart:
    """The part of a training's curves and notes. Longer curves are thinned evenly, ends kept.

    A paid-for release must not fail over its curves: points that are not finite are left out and counted in a
    note, and curves past MAX_CURVES are named in one.
    """
    told = list(curves.items())
    said = list(notes)
    shown = []
    for name, values in told[:MAX_CURVES]:
        finite = [(step, float(value)) for step, value in enumerate(values) if math.isfinite(value)]
        if len(finite) < len(values):
            said.append(f"{len(values) - len(finite)} points of {name!r} were not finite.")
        kept = evenly(finite, MAX_POINTS)
        shown.append(
            Curve(
                name=name[:MAX_NAME],
                steps=tuple(step for step, _ in kept),
                values=tuple(value for _, value in kept),
            )
        )
    if len(told) > MAX_CURVES:
        said.append(f"{len(told) - MAX_CURVES} more curves are not shown.")
    return TrainingPart(curves=tuple(shown), notes=tuple(said[:MAX_CURVES]), collapsed=collapsed)

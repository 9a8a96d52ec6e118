"""Two graphs side by side: a row of every metric of a suite."""

from __future__ import annotations

from typing import Any

from core.evaluation.catalogue import DISTANCE_FAMILIES, SCALAR_FAMILIES
from core.evaluation.metric import Suite, Value, of_suite
from core.evaluation.utility import relative
from core.evaluation.view import UndirectedView


def scalars_of(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Every scalar of one graph that ``suite`` includes, in report order."""
    values: dict[str, Value] = {}
    for family in SCALAR_FAMILIES:
        wanted = of_suite(family.SCALARS, suite)
        if wanted:
            found = family.scalars(view, suite)
            values |= {metric.name: found[metric.name] for metric in wanted}
    return values


def compared(
    original: UndirectedView, synthetic: UndirectedView, suite: Suite, step: int | None = None
) -> dict[str, Any]:
    """One row: ``step``, ``scalars`` (both values, both errors) and ``distances``; nodes aligned by index."""
    ours, theirs = scalars_of(original, suite), scalars_of(synthetic, suite)
    distances: dict[str, float | None] = {}
    for family in DISTANCE_FAMILIES:
        wanted = of_suite(family.DISTANCES, suite)
        if wanted:
            found = family.distances(original, synthetic, suite)
            distances |= {metric.name: relative.plain(found[metric.name]) for metric in wanted}
    return {
        "step": step,
        "scalars": {name: relative.scalar(ours[name], theirs[name]) for name in ours},
        "distances": distances,
    }

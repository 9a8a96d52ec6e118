"""Comparison of two graphs: a row of a suite's metrics."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from core.evaluation.catalogue import DISTANCE_FAMILIES, DISTANCES, SCALAR_FAMILIES, SCALARS
from core.evaluation.metric import Estimate, Metric, Suite, Value, of_suite
from core.evaluation.utility import relative
from core.evaluation.view import UndirectedView

GROWS = {metric.name: metric.grows for metric in SCALARS}


def scalars_of(view: UndirectedView, suite: Suite, only: Set[str] | None = None) -> dict[str, Value]:
    """Compute every scalar of one graph in ``suite``.

    They are in report order; of ``only`` these, where given.
    """
    values: dict[str, Value] = {}
    for family in SCALAR_FAMILIES:
        wanted = _wanted(family.SCALARS, suite, only)
        if wanted:
            found = family.scalars(view, suite)
            values |= {metric.name: found[metric.name] for metric in wanted}
    return values


def compared(
    original: UndirectedView,
    synthetic: UndirectedView,
    suite: Suite,
    step: int | None = None,
    only: Set[str] | None = None,
    factor: float | None = None,
) -> dict[str, Any]:
    """Compare both graphs in one row.

    It has ``step``, ``scalars`` (both values, both errors), ``distances``; nodes aligned by index.

    ``only``: names of the metrics that are wanted; None: all of the suite. ``factor``, where the synthetic
    graph has so many times the original's nodes: the original's counts are multiplied by it, and what needs
    the same nodes is left out.
    """
    if factor is not None:
        only = {metric.name for metric in SCALARS + DISTANCES if not metric.same_nodes}
    ours, theirs = (scalars_of(view, suite, only) for view in (original, synthetic))
    if factor is not None:
        # A count grows as the nodes, a density falls as they grow.
        ours = {name: _times(value, factor ** GROWS[name]) for name, value in ours.items()}
    distances: dict[str, float | None] = {}
    for family in DISTANCE_FAMILIES:
        wanted = _wanted(family.DISTANCES, suite, only)
        if wanted:
            found = family.distances(original, synthetic, suite)
            distances |= {metric.name: relative.plain(found[metric.name]) for metric in wanted}
    return {
        "step": step,
        "scalars": {name: relative.scalar(ours[name], theirs[name]) for name in ours},
        "distances": distances,
    }


def _times(value: Value, factor: float) -> Value:
    if isinstance(value, Estimate):
        return Estimate(_scaled(value.value, factor), _scaled(value.standard_error, factor))
    return _scaled(value, factor)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _wanted(metrics: tuple[Metric, ...], suite: Suite, only: Set[str] | None) -> tuple[Metric, ...]:
    return tuple(metric for metric in of_suite(metrics, suite) if only is None or metric.name in only)

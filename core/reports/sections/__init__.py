"""The sections of a release's report. Every form has them in this order."""

from __future__ import annotations

from collections.abc import Iterator

from core.reports.blocks import Section
from core.reports.evidence import CuratorPart
from core.reports.model import PublicPart
from core.reports.sections import evidence, graph, promise, provenance


def sections_of(public: PublicPart, curator: CuratorPart | None) -> list[Section]:
    """Write the whole report. It is the curators' edition where ``curator`` is given, else the public one."""
    return list(_every(public, curator))


def _every(public: PublicPart, curator: CuratorPart | None) -> Iterator[Section]:
    comparison = None if curator is None else curator.comparison
    metrics = public.statistics.metrics | (comparison.metrics if comparison else {})
    yield promise.summary(public, curator, metrics)
    yield from promise.precision_sections(public, curator)
    yield promise.guarantee(public, metrics)
    yield promise.cost(public)
    yield from graph.graph_sections(public, curator, metrics)
    if curator is not None:
        yield from evidence.curator_sections(curator)
    yield from provenance.provenance_sections(public, metrics)

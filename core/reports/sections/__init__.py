"""The sections of a release's report. Every form has them in this order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.reports.blocks import Section
from core.reports.evidence import CuratorPart
from core.reports.model import PublicPart
from core.reports.sections import evidence, graph, promise, provenance

FOLDED = {
    "close": ("How close it is", ("utility", "actual", "metrics", "precision", "tasks", "training")),
    "hidden": ("What it hides, and what not", ("guarantee", "attacks", "sensitive")),
    "evidence": ("Evidence", ("cost", "transcript")),
    "technical": ("Technical", ()),
}
"""What a page folds up below the summary: titles, and the sections in each; the last has all others."""


@dataclass(frozen=True)
class Part:
    """Sections that a page folds up together."""

    id: str
    title: str
    sections: Sequence[Section]


def parts_of(sections: Sequence[Section]) -> list[Part]:
    """Group the sections after the summary as a page folds them."""
    *_, last = FOLDED
    of = {section: name for name, (_, ids) in FOLDED.items() for section in ids}
    held: dict[str, list[Section]] = {name: [] for name in FOLDED}
    for section in sections[1:]:
        held[of.get(section.id, last)].append(section)
    return [Part(name, FOLDED[name][0], found) for name, found in held.items() if found]


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

"""Expected precision of the statistics that a release paid for, from published facts alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.privacy.units import Unit
from core.reports.base import NANO
from core.reports.model import GuaranteePart, PurposeSummary, TranscriptSummary
from core.reports.scores import ScorePart
from core.reports.statistics import EdgeTypeStatistics, PublicStatistics

PREFIX = "discrete_laplace/"


@dataclass(frozen=True)
class _Statistic:
    """A paid statistic whose size the synthetic graph shows."""

    name: str
    title: str
    entry: str
    explanation: str


STATISTICS: Mapping[str, _Statistic] = {
    "edge_count": _Statistic(
        "edge_count_precision",
        "Edge counts, expected precision",
        "edges",
        "S is the mean number of edges of a snapshot, N = 1 / epsilon",
    ),
    "degrees": _Statistic(
        "degree_precision",
        "Node degrees, expected precision",
        "edges at a node",
        "S is the mean degree, N = 2 / epsilon (1 / epsilon where the ends are counted apart)",
    ),
}


def precision_parts(
    guarantee: GuaranteePart, transcript: TranscriptSummary, statistics: PublicStatistics
) -> Iterator[ScorePart]:
    """One part per statistic that was paid for by the Laplace mechanism: mean over relations of S / (S + N).

    The Laplace mechanism of scale b = sensitivity / epsilon has an expected absolute noise of b (the discrete
    one at most that). Epsilon is the mean over a purpose's operations. Purposes inside a parallel group
    measure parts of one quantity: their noise adds up. Of purposes that measure the whole, the most exact one
    counts. Mechanisms and queries without a known size (partitions, group matrices, Gaussian noise) are left
    out.
    """
    relations = {relation.name: relation for relation in statistics.edge_types}
    asked: dict[tuple[str, str], list[PurposeSummary]] = {}
    for row in transcript.by_purpose:
        if row.mechanism.startswith(PREFIX) and row.nano_epsilon and row.operations:
            asked.setdefault((row.mechanism.removeprefix(PREFIX), row.edge_type), []).append(row)
    for query, statistic in STATISTICS.items():
        found: dict[str, tuple[float, float]] = {}
        for name, relation in relations.items():
            rows, size = asked.get((query, name)), _size(query, relation)
            if rows and size is not None:
                found[name] = size, _noise(rows) * _sensitivity(query, relation, guarantee)
        if found:
            yield _part(statistic, found)


def _noise(rows: list[PurposeSummary]) -> float:
    """Expected absolute noise at sensitivity 1."""
    scales = [(row.within_group, NANO * row.operations / (row.nano_epsilon or 1)) for row in rows]
    whole = [scale for within, scale in scales if not within]
    parts = [scale for within, scale in scales if within]
    return min([*whole, *([math.fsum(parts)] if parts else [])])


def _sensitivity(query: str, relation: EdgeTypeStatistics, guarantee: GuaranteePart) -> int:
    """L1 sensitivity to one unit: an undirected edge counts at two nodes; a pair may be linked both ways."""
    within = relation.source == relation.target
    ends = 2 if query == "degrees" and within and not relation.directed else 1
    return ends * (2 if guarantee.unit is Unit.PAIR and within and relation.directed else 1)


def _size(query: str, relation: EdgeTypeStatistics) -> float | None:
    """The statistic's mean size in the synthetic graph; None where it is not printed."""
    if query == "edge_count":
        return relation.means.get("edges")
    means = [side.mean for side in relation.degrees]
    return math.fsum(means) / len(means) if means else None


def _part(statistic: _Statistic, found: Mapping[str, tuple[float, float]]) -> ScorePart:
    precise = {name: size / (size + noise) for name, (size, noise) in found.items()}
    worst = min(precise, key=lambda name: precise[name])
    size, noise = found[worst]
    more = f"; the least exact of {len(found)} relations" if len(found) > 1 else ""
    return ScorePart(
        name=statistic.name,
        title=statistic.title,
        value=math.fsum(precise.values()) / len(precise),
        weight=1.0,
        explanation=f"S / (S + N): {statistic.explanation}. {worst}: about {size:,.4g} {statistic.entry}, "
        f"expected noise {noise:,.3g}{more}.",
    )

"""Renders a report as one HTML document: a pure function of the report, the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from core.privacy.accounting.guarantee import rounded_up
from core.reports import precision, risk
from core.reports.base import EXPOSED, Notice
from core.reports.comparison import EdgeTypeComparison
from core.reports.evidence import CuratorPart
from core.reports.html import charts, figures, wording
from core.reports.html.carried import carried_figures
from core.reports.model import PublicPart, Report
from core.reports.scores import Score
from core.reports.sensitive import said_of
from core.reports.statistics import EdgeTypeStatistics, MetricInfo
from core.reports.totals import Total
from graphveil.models.reports import quantity_of, subject_of
from graphveil.pages import numbers
from graphveil.pages.figure import Figure, type_style
from graphveil.pages.render import environment

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
# A page is for reading: what exceeds these numbers stands in the report's JSON only, and the page says so.
MAX_CHARTED = 12
MAX_TRANSCRIPT_ROWS = 200
MAX_ATTACKS = 200
MAX_CARRIED_SHOWN = 24
NAMES = {
    "original": "Original",
    "synthetic": "Synthetic",
    "copied": "Copied",
    "guess": "Guessing",
    "paid": "Paid for",
}
Evaluation = Literal["pending", "failed", "erased"]


@dataclass(frozen=True)
class Relation:
    """One relation with its comparison, where there is one, and its figures."""

    public: EdgeTypeStatistics
    compared: EdgeTypeComparison | None
    figures: Sequence[Figure]
    totals: Mapping[str, Total]


@dataclass(frozen=True)
class Scored:
    """One of the curators' scores with its dial."""

    name: str
    title: str
    basis: str
    score: Score | None
    dial: Markup | None


def render(report: Report, *, evaluation: Evaluation | None = None) -> str:
    """Render one self-contained HTML document: inline style and pictures, no script, nothing fetched.

    The curators' edition where ``report.curator`` is given, else the public one, which touches nothing of the
    original. ``evaluation`` tells a curator why the comparison is missing. Deterministic; linear in the
    report's size.
    """
    return page("report.html", content_of(report.public, report.curator, evaluation))


def page(template: str, content: Mapping[str, Any]) -> str:
    """Fill in the named template; every text is escaped."""
    return environment_of().get_template(template).render(content)


@lru_cache(maxsize=2)
def environment_of(*folders: Path) -> Environment:
    """Make the environment of the templates in ``folders``, then the report's own, whose macros they use."""
    made = environment(*folders, TEMPLATES)
    made.filters |= {
        "percent_text": numbers.percent_text,
        "ends": lambda total: numbers.ends(total.low, total.high),
        "at_most": numbers.at_most,
        "rounded_up": rounded_up,
        "relative": numbers.relative,
        "size": numbers.size,
        "nano": numbers.nano,
        "compact": partial(json.dumps, ensure_ascii=False),
    }
    made.globals |= {
        "self_scores": _self_scores,
        "type_style": type_style,
        "level": wording.level,
        "quantity_of": quantity_of,
        "subject_of": subject_of,
    }
    return made


def _self_scores(distances: Mapping[str, float | None]) -> dict[str, str]:
    """Find distances that come with the original's distance to itself, ``<name>_self``, as their scale."""
    return {name: f"{name}_self" for name in distances if f"{name}_self" in distances}


def content_of(
    public: PublicPart, curator: CuratorPart | None, evaluation: Evaluation | None
) -> dict[str, Any]:
    """Collect everything the templates read."""
    comparison = None if curator is None else curator.comparison
    metrics = public.statistics.metrics | (comparison.metrics if comparison else {})
    relations = _relations(public, curator, metrics)
    severe = [notice for notice in public.caveats if notice.code in wording.SEVERE]
    return {
        "names": NAMES,
        "public": public,
        "curator": curator,
        "comparison": comparison,
        "evaluation": evaluation if curator is None else None,
        "nodes": sum(public.statistics.nodes.values()),
        "edges": sum(relation.edges for relation in public.statistics.edge_types),
        "short_guarantee": wording.short_guarantee(public.guarantee),
        "unit": wording.unit_words(public.guarantee),
        "guess": wording.guess_words(public.guarantee),
        "reliance": wording.reliance(public.guarantee),
        "together": wording.together(public.guarantee),
        "gauge": _gauge(public),
        "learned": risk.learned(public),
        "priors": risk.PRIORS,
        "rarest": risk.RAREST,
        "learned_picture": _learned(public),
        "assurance": wording.ASSURANCE.get(public.guarantee.assurance, ""),
        "severe": severe,
        "exposed": EXPOSED,
        "caveats": [*severe, *(notice for notice in public.caveats if notice not in severe)],
        "warnings": _grouped(curator.warnings if curator else ()),
        "dataset": wording.dataset_of(public),
        "promise_level": wording.promise_level(public.guarantee),
        "precision_note": precision.NOTE,
        "scores": [] if curator is None else _scores(public, curator),
        "relations": relations,
        "uncharted": max(0, len(relations) - MAX_CHARTED),
        "whole_figures": figures.whole_figures("whole", comparison.whole, metrics) if comparison else [],
        "lasting_figures": figures.lasting_figures(
            "lasting", public.statistics, comparison.whole if comparison else None, metrics
        ),
        "carried": [
            (found, carried_figures(f"carried-{index}", found))
            for index, found in enumerate(public.carried[:MAX_CARRIED_SHOWN])
        ],
        "drawings": figures.drawing_figures(public.statistics, comparison),
        "attack_figure": figures.attack_figure(curator.attacks.inference) if curator else None,
        "attacks": curator.attacks.inference[:MAX_ATTACKS] if curator else (),
        "sensitive": curator.attacks.sensitive if curator else None,
        "said_of": said_of,
        "sensitive_figures": figures.training_figures(curator.attacks.sensitive.training)
        if curator and curator.attacks.sensitive
        else [],
        "task_figure": figures.task_figure(curator.tasks) if curator else None,
        "training_figures": figures.training_figures(public.training),
        "transcript": public.transcript.by_purpose[:MAX_TRANSCRIPT_ROWS],
        "metrics": metrics,
        "families": _families(metrics),
        "command": wording.command_lines(public),
    }


def _gauge(public: PublicPart) -> Markup | None:
    bounds = wording.together(public.guarantee)
    return (
        charts.gauge(
            "certainty",
            "How sure an attacker can become",
            bounds[0].right,
            wording.promise_level(public.guarantee),
        )
        if bounds
        else None
    )


def _learned(public: PublicPart) -> Markup | None:
    """Draw the bounds of :func:`core.reports.risk.learned` over every belief; None without a guarantee."""
    rows = risk.learned(public)
    beliefs = [step / 50 for step in range(51)]
    series = [risk.at(beliefs, row.epsilon, row.delta) for row in rows]
    title = "How likely a claim can become"
    told = "Above the diagonal, which is to learn nothing: a line for each row of the table."
    return charts.posteriors("learned", title, told, series) if rows else None


def _relations(
    public: PublicPart, curator: CuratorPart | None, metrics: dict[str, MetricInfo]
) -> list[Relation]:
    """Order the relations by number of edges, protected ones first; the first ones get figures."""
    compared = {} if curator is None else {found.name: found for found in curator.comparison.edge_types}
    means: dict[str, dict[str, Total]] = {}
    steps: dict[str, dict[int, Total]] = {}
    for total in public.totals:
        if total.step is None:
            means.setdefault(total.edge_type, {})[total.metric] = total
        elif total.metric == "edges":
            steps.setdefault(total.edge_type, {})[total.step] = total
    ordered = sorted(public.statistics.edge_types, key=lambda relation: (relation.copied, -relation.edges))
    found = []
    for index, relation in enumerate(ordered):
        beside = compared.get(relation.name)
        drawn = (
            figures.relation_figures(
                f"relation-{index}", relation, beside, metrics, steps.get(relation.name, {})
            )
            if index < MAX_CHARTED
            else []
        )
        found.append(Relation(relation, beside, drawn, means.get(relation.name, {})))
    return found


def _scores(public: PublicPart, curator: CuratorPart) -> list[Scored]:
    """Draw utility and protection, as measured. Without a guarantee no protection is coloured as any."""
    unbounded = public.guarantee.kind == "none"
    scores = (
        ("utility", "Utility", "0 is a random graph, 10 the original", curator.scores.utility, False),
        (
            "protection",
            "Protection",
            "Guaranteed bound, and what attacks found",
            curator.scores.protection,
            unbounded,
        ),
    )
    scored = []
    for name, title, basis, score, poor in scores:
        dial = None
        if score is not None:
            colour = "poor" if poor else wording.level(score.value / 10)
            dial = charts.dial(f"score-{name}", title, score.value, colour)
        scored.append(Scored(name, title, basis, score, dial))
    return scored


def _grouped(notices: Iterable[Notice]) -> dict[str, list[Notice]]:
    """Group the warnings by code, in order of first appearance."""
    by_code: dict[str, list[Notice]] = {}
    for notice in notices:
        by_code.setdefault(notice.code, []).append(notice)
    return by_code


def _families(metrics: dict[str, MetricInfo]) -> dict[str, dict[str, MetricInfo]]:
    """Group the metrics by family, in order of first appearance: the glossary."""
    by_family: dict[str, dict[str, MetricInfo]] = {}
    for name, metric in metrics.items():
        by_family.setdefault(metric.family, {})[name] = metric
    return by_family

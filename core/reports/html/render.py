"""Renders a report as one HTML document. It is a pure function of the report, the same bytes each time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from core.reports.base import EXPOSED
from core.reports.evidence import CuratorPart
from core.reports.html import blocks, wording
from core.reports.model import PublicPart, Report
from core.reports.sections import parts_of, sections_of
from core.reports.sections.promise import precision_table
from graphveil.models.reports import quantity_of
from graphveil.pages import numbers
from graphveil.pages.render import environment

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
Evaluation = Literal["pending", "failed", "erased"]


def render(report: Report, *, evaluation: Evaluation | None = None) -> str:
    """Render one self-contained HTML document. It has inline style and pictures, no script, nothing fetched.

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
    """Make the environment of the templates in ``folders``. The report's own come after them; they use its
    macros."""
    made = environment(*folders, TEMPLATES)
    made.filters |= {
        "percent_text": numbers.percent_text,
        "at_most": numbers.at_most,
        "size": numbers.size,
        "written": blocks.written,
        "shown": blocks.shown,
    }
    made.globals |= {"quantity_of": quantity_of, "precision_table": precision_table}
    return made


def content_of(
    public: PublicPart, curator: CuratorPart | None, evaluation: Evaluation | None
) -> dict[str, Any]:
    """Collect everything the templates read."""
    statistics, sections = public.statistics, sections_of(public, curator)
    return {
        "public": public,
        "curator": curator,
        "evaluation": evaluation if curator is None else None,
        "nodes": sum(statistics.nodes.values()),
        "edges": sum(relation.edges for relation in statistics.edge_types),
        "short_guarantee": wording.short_guarantee(public.guarantee),
        "dataset": wording.dataset_of(public),
        "exposed": EXPOSED,
        "summary": sections[:1],
        "parts": parts_of(sections),
    }

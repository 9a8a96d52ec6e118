"""A stream's report as one HTML page."""

from __future__ import annotations

from api.show.stream_sections import sections_of
from core.reports.html.render import page
from graphveil.models.streams import StreamReport


def render(report: StreamReport) -> str:
    """One self-contained HTML document: no script, nothing fetched from anywhere. Deterministic."""
    curator = any(row.comparison is not None for row in report.rows)
    content = {"report": report, "curator": curator, "sections": list(sections_of(report))}
    return page("stream.html", content)

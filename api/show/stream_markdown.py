"""A stream's report as Markdown: for a wiki, a pull request, or a terminal. Every text is escaped."""

from __future__ import annotations

from api.show.stream_sections import sections_of
from core.reports.markdown import written
from core.reports.text import escape
from graphveil.models.streams import StreamReport

CURATOR_BANNER = (
    "> **Curator edition: confidential.** The comparison is a function of the private snapshots. No budget "
    "was paid for it: it stays with the dataset's curators."
)
PUBLIC_BANNER = (
    "> **Public edition.** Nothing here reads the original snapshots beyond the operations that were paid "
    "for."
)


def markdown(report: StreamReport) -> str:
    """One page of the report as GitHub-flavoured Markdown, with a line feed at its end. Deterministic."""
    compared = any(row.comparison is not None for row in report.rows)
    lines = [f"# Stream report: {escape(report.dataset_name)}, by {escape(report.method)}", ""]
    lines += [CURATOR_BANNER if compared else PUBLIC_BANNER, "", *written(sections_of(report))]
    return "\n".join(lines).rstrip("\n") + "\n"

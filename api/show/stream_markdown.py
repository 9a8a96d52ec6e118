"""A stream's report as Markdown: for a wiki, a pull request, or a terminal. Every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence

from core.reports.text import escape, items, table
from graphveil.models.streams import StreamReport, StreamRow

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
    lines += [CURATOR_BANNER if compared else PUBLIC_BANNER, ""]
    lines += [escape(report.statement), ""]
    if report.not_covered:
        lines += ["Not covered:", "", *items(report.not_covered)]
    lines += _stream(report)
    lines += _costs(report)
    lines += _figures("Synthetic snapshots", report, [(row, row.statistics) for row in report.rows])
    lines += _figures("Against the originals", report, [(row, row.comparison) for row in report.rows])
    if report.next_cursor is not None:
        lines += [f"Further steps: `?cursor={report.next_cursor}`.", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _stream(report: StreamReport) -> list[str]:
    counts = ", ".join(f"{number} {state}" for state, number in report.counts.items()) or "none yet"
    window = report.worst_window
    held = f"charged {window.charged}, reserved {window.reserved}, of {report.capacity}"
    if window.first_step is not None:
        held = f"steps {window.first_step} to {window.last_step}: {held}"
    rows = [
        ("stream", report.stream_id),
        ("dataset", f"{report.dataset_name} ({report.dataset_id})"),
        ("state", f"{report.state}, waits for step {report.next_step}"),
        ("window", f"{report.window} steps"),
        ("epsilon of any window", report.epsilon),
        ("epsilon of a step, at most", report.step_epsilon),
        ("snapshots", counts),
        ("fullest window of the account", held),
    ]
    return ["## The stream", "", *table(("", ""), rows)]


def _costs(report: StreamReport) -> list[str]:
    columns = ("step", "from", "to", "state", "epsilon", "window ending here")
    rows = [
        (row.step, row.starts_at, row.ends_at, _state(row), row.epsilon, row.window_epsilon)
        for row in report.rows
    ]
    return ["## What the steps cost", "", *table(columns, rows)] if rows else []


def _state(row: StreamRow) -> str:
    return f"{row.state} ({row.reason})" if row.reason else row.state


def _figures(
    title: str, report: StreamReport, rows: Sequence[tuple[StreamRow, dict[str, float | None] | None]]
) -> list[str]:
    """A table with a column for each name that occurs, and what the names mean."""
    names = list(dict.fromkeys(name for _, figures in rows if figures for name in figures))
    if not names:
        return []
    shown = [(row.step, *(figures.get(name) for name in names)) for row, figures in rows if figures]
    meanings = [f"{name}: {report.metrics[name]}" for name in names if name in report.metrics]
    columns = ("step", *(name.replace("_", " ") for name in names))
    return [f"## {title}", "", *table(columns, shown), *items(meanings)]

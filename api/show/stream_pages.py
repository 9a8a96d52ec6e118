"""A stream's report, as HTML and as Markdown. The promise and the fullest window come first, then each
step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial

from core.reports.blocks import (
    Block,
    Drawn,
    Facts,
    Group,
    Items,
    Paragraph,
    Pictures,
    Section,
    Table,
    Terms,
    Text,
)
from core.reports.html import charts, wording
from core.reports.html.render import page
from core.reports.markdown import written
from core.reports.text import escape
from graphveil.models.streams import StreamReport, StreamRow
from graphveil.pages.figure import Figure
from graphveil.pages.numbers import at_most, percent_text, plain

Figures = Mapping[str, float | None] | None
OPEN_ROWS = 12
CURATOR_BANNER = (
    "> **Curator edition: confidential.** The comparison is a function of the private snapshots. No budget "
    "was paid for it: it stays with the dataset's curators."
)
PUBLIC_BANNER = (
    "> **Public edition.** Nothing here reads the original snapshots beyond the operations that were paid "
    "for."
)


def render(report: StreamReport) -> str:
    """One self-contained HTML document: no script, nothing fetched from anywhere. Deterministic."""
    content = {"report": report, "curator": _compared(report), "sections": list(sections_of(report))}
    return page("stream.html", content)


def markdown(report: StreamReport) -> str:
    """Write one page of the report as Markdown. It is GitHub-flavoured, with a line feed at its end.
    Deterministic."""
    lines = [f"# Stream report: {escape(report.dataset_name)}, by {escape(report.method)}", ""]
    lines += [CURATOR_BANNER if _compared(report) else PUBLIC_BANNER, "", *written(sections_of(report))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _compared(report: StreamReport) -> bool:
    return any(row.comparison is not None for row in report.rows)


def sections_of(report: StreamReport) -> Iterator[Section]:
    """Write one page of the report's steps. It is for curators where a row has a comparison."""
    yield Section("summary", "At a glance", [*_summary(report)])
    uncovered = Group([Items(report.not_covered)], "", "What it does not cover")
    yield Section("guarantee", "The guarantee", [Paragraph(report.statement, style="quote"), uncovered])
    yield Section("steps", "What the steps cost", [*_costs(report)])
    released = [(row, row.statistics) for row in report.rows]
    described = "Described from the released files alone."
    yield from _measured("released", "Synthetic snapshots", described, report, released)
    compared = [(row, row.comparison) for row in report.rows]
    private = "Functions of the private snapshots."
    yield from _measured("compared", "Against the originals", private, report, compared, curators=True)


def _summary(report: StreamReport) -> Iterator[Block]:
    right = wording.right_at_most(float(Decimal(report.epsilon)), 0.0)
    level = wording.guess_level(right)
    promise: list[Block] = [
        Paragraph(f"ε = {report.epsilon} in any {report.window} steps", style=f"big {level}"),
        Paragraph(
            "Whoever knows all but one edge in each of them guesses whether these are there with at most "
            f"{at_most(right)} right."
        ),
        Drawn(charts.gauge("certainty", "How sure an attacker can become", right, level)),
    ]
    window, capacity = report.worst_window, Decimal(report.capacity)
    held = Decimal(window.charged) + Decimal(window.reserved)
    share = percent_text(float(held / capacity) if capacity else 1.0)
    steps = "" if window.first_step is None else f", steps {window.first_step} to {window.last_step}"
    fullest = f"{window.charged} of {report.capacity} charged, {window.reserved} reserved{steps}"
    yield Group([Group(promise, title="The promise")], "scores")
    yield Facts(
        [
            ("Fullest window of the account", Text(fullest, f"{share} held of what it may hold")),
            ("A step costs at most", Text(f"ε {report.step_epsilon}")),
            ("Snapshots", Text(_counts(report), f"from step {report.first_step} on")),
            ("State", Text(report.state, f"waits for step {report.next_step}")),
            ("Stream", Text(report.stream_id, f"{report.dataset_name or ''} {report.dataset_id}".strip())),
        ]
    )


def _counts(report: StreamReport) -> str:
    return ", ".join(f"{plain(count)} {state}" for state, count in report.counts.items()) or "none yet"


def _costs(report: StreamReport) -> Iterator[Block]:
    if not report.rows:
        yield Paragraph("No step yet.", style="empty")
    costs: list[tuple[StreamRow, Figures]] = [
        (row, {"epsilon of the window that ends here": float(Decimal(row.window_epsilon))})
        for row in report.rows
    ]
    yield Pictures(partial(_figures, "cost", costs, {}))
    columns = ("Step", "State", "Epsilon", "Window ending here", "From", "To", "Job")
    rows = [
        (
            str(row.step),
            f"{row.state} ({row.reason})" if row.reason else row.state,
            row.epsilon,
            row.window_epsilon,
            row.starts_at,
            row.ends_at,
            Text(row.job_id, code=True),
        )
        for row in report.rows
    ]
    yield Table("Steps", columns, rows, OPEN_ROWS, "steps")
    if report.next_cursor is not None:
        yield Paragraph(f"Further steps: `?cursor={report.next_cursor}`.", code=True)


def _measured(
    uid: str,
    title: str,
    lead: str,
    report: StreamReport,
    rows: Sequence[tuple[StreamRow, Figures]],
    *,
    curators: bool = False,
) -> Iterator[Section]:
    """A table with a column for each name that occurs, and what the names mean; nothing without a name."""
    names = _columns([figures for _, figures in rows])
    if not names:
        return
    shown = [(str(row.step), *(figures.get(name) for name in names)) for row, figures in rows if figures]
    columns = ("Step", *(name.replace("_", " ") for name in names))
    meanings = [
        (Text(name.replace("_", " ")), report.metrics[name]) for name in names if name in report.metrics
    ]
    drawn = Pictures(partial(_figures, uid, rows, report.metrics))
    blocks: list[Block] = [
        Paragraph(lead),
        drawn,
        Table(title, columns, shown, OPEN_ROWS, "steps"),
        Terms(meanings),
    ]
    yield Section(uid, title, blocks, curators)


def _columns(found: Sequence[Figures]) -> list[str]:
    """Every name that any row has, in order of first appearance."""
    return list(dict.fromkeys(name for figures in found if figures for name in figures))


def _figures(
    uid: str, rows: Sequence[tuple[StreamRow, Figures]], meanings: Mapping[str, str]
) -> list[Figure]:
    """A curve over the steps for every name; none where fewer than two steps have a value."""
    found = []
    for index, name in enumerate(_columns([figures for _, figures in rows])):
        title = name.replace("_", " ")
        title = title[:1].upper() + title[1:]
        steps = [row.step for row, _ in rows]
        values = [None if figures is None else figures.get(name) for _, figures in rows]
        text = f"{title} over {len(steps)} steps. {meanings.get(name, '')}".strip()
        figure = charts.curves(f"{uid}-{index}", title, text, steps, {"synthetic": values}, "step")
        if figure is not None:
            found.append(charts.alone(figure, ("Step", title), meanings.get(name, "")))
    return found

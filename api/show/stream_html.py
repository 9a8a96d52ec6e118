"""A stream's report as one HTML page: the promise and the fullest window first, then each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from core.reports.html import charts, wording
from core.reports.html.render import NAMES, page
from graphveil.models.streams import StreamReport, StreamRow
from graphveil.pages.figure import Figure

Figures = Mapping[str, float | None] | None
OPEN_ROWS = 12


def render(report: StreamReport) -> str:
    """One self-contained HTML document: no script, nothing fetched from anywhere. Deterministic.

    One page of the report's steps; the curators' edition where a row has a comparison.
    """
    right = wording.right_at_most(float(Decimal(report.epsilon)), 0.0)
    level = wording.guess_level(right)
    charged, capacity = Decimal(report.worst_window.charged), Decimal(report.capacity)
    held = charged + Decimal(report.worst_window.reserved)
    return page(
        "stream.html",
        {
            "report": report,
            "curator": any(row.comparison is not None for row in report.rows),
            "right": right,
            "promise_level": level,
            "gauge": charts.gauge("certainty", "How sure an attacker can become", right, level),
            "held": float(held / capacity) if capacity else 1.0,
            "costs": _figures("cost", [(row, _cost(row)) for row in report.rows], {}),
            "released": _figures("released", [(row, row.statistics) for row in report.rows], report.metrics),
            "compared": _figures("compared", [(row, row.comparison) for row in report.rows], report.metrics),
            "statistics": _columns([row.statistics for row in report.rows]),
            "comparisons": _columns([row.comparison for row in report.rows]),
            "open_rows": OPEN_ROWS,
            "names": NAMES,
            "metrics": {},
        },
    )


def _cost(row: StreamRow) -> Figures:
    return {"epsilon of the window that ends here": float(Decimal(row.window_epsilon))}


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

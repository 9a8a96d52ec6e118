"""The leaderboard: the tables of ``docs/results.md`` as one that can be sorted and narrowed down.

Figures are those of the page, cell by cell, and nothing is computed from them but who is best in a column.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

SECTIONS = ("Static graphs", "Streams")
"""Sections of the results whose tables compare methods."""

HIGHER = frozenset({"top-1 % overlap", "NMI"})
PLAIN = frozenset({"method", "runs", "psgraph ahead", "keyframe ahead"})
COSTS = frozenset({"CPU s", "CPU s a step"})
OURS = frozenset({"dcsbm", "dcsbm-balanced", "degree_triangle", "keyframe", "psgraph"})
"""Methods of the project; ``psgraph`` with its own settings, which ``psgraph-paper`` is without."""


@dataclass(frozen=True)
class Table:
    """One table of the results: a graph under one setting. Cells are texts as printed, by column."""

    section: str
    caption: str
    rows: list[dict[str, str]]

    @property
    def columns(self) -> list[str]:
        """The figures, without the columns that are none."""
        return [title for title in self.rows[0] if title not in PLAIN]


def tables(text: str) -> Iterator[Table]:
    """The tables of runs in every section of :data:`SECTIONS`, each with the bold line before it."""
    for section in SECTIONS:
        part = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if part is None:
            raise ValueError(f"docs/results.md has no section {section!r}")
        for caption, block in re.findall(r"^\*\*([^*\n]+)\*\*[^|]*?\n\n((?:\|.*\n)+)", part[1], re.MULTILINE):
            titles, _, *rows = (
                [cell.strip() for cell in line.strip("| ").split("|")] for line in block.strip().split("\n")
            )
            if "runs" in titles and "method" in titles:
                yield Table(section, caption, [_row(titles, row) for row in rows])


def _row(titles: list[str], cells: list[str]) -> dict[str, str]:
    return dict(zip(titles, (*cells, *[""] * (len(titles) - len(cells))), strict=True))


def value(cell: str) -> float | None:
    """The mean that a cell prints; None where it has none."""
    found = re.match(r"-?[\d.]+", cell)
    return None if found is None else float(found[0])


def best(table: Table, column: str) -> float | None:
    """The best printed mean of a column that compares methods."""
    values = [value(row[column]) for row in table.rows]
    known = [each for each in values if each is not None]
    if not known or column in COSTS:
        return None
    return max(known) if column in HIGHER else min(known)


def page(text: str) -> str:
    """The page in Markdown, its tables in HTML: without scripts a browser shows them all, one by one."""
    found = list(tables(text))
    return (
        "# Leaderboard\n\n"
        "Our methods and published ones, by graph and epsilon. Every figure is from a table of [the "
        "results](results.md), which say how each was measured and by which command. **Bold** is the best "
        "mean of its column; overlap and NMI are better high, all else is better low. RE is the relative "
        "error, TV the total variation distance of degrees. Click a column to sort by it.\n\n"
        "Constants of our methods were chosen while looking at some of these graphs: the results say which, "
        "and "
        "[what is lost on graphs that were left out](results.md#regret-of-the-static-default).\n\n"
        '<div class="leaderboard" data-leaderboard>\n'
        + "\n".join(_html(table) for table in found)
        + "\n</div>\n"
    )


def _html(table: Table) -> str:
    head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in ("method", *table.columns))
    body = "\n".join(_html_row(table, row) for row in table.rows)
    label = f"{table.section}: {table.caption}"
    return (
        f'<section data-family="{html.escape(table.section)}" data-table="{html.escape(table.caption)}">\n'
        f"<h2>{html.escape(label)}</h2>\n"
        f'<div class="scroll" role="region" tabindex="0" aria-label="{html.escape(label)}">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n</section>"
    )


def _html_row(table: Table, row: dict[str, str]) -> str:
    name = html.escape(row["method"])
    mark = ' <span class="ours">ours</span>' if row["method"] in OURS else ""
    cells = [f'<th scope="row"><code>{name}</code>{mark}</th>']
    for column in table.columns:
        number = value(row[column])
        text = html.escape(row[column])
        told = f"<strong>{text}</strong>" if number is not None and number == best(table, column) else text
        cells.append(f'<td data-value="{"" if number is None else number}">{told}</td>')
    return f"<tr>{''.join(cells)}</tr>"

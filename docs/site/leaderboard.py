"""The leaderboard: the tables of ``docs/results`` that compare methods, as one to sort and to narrow down.

Figures are those of the data, cell by cell, and nothing is computed from them but who is best in a column.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PLAIN = frozenset({"method", "runs", "psgraph ahead", "keyframe ahead"})
OURS = frozenset({"dcsbm", "dcsbm-balanced", "degree_triangle", "keyframe", "psgraph"})
"""Methods of the project; ``psgraph`` with its own settings, which ``psgraph-paper`` is without."""


@dataclass(frozen=True)
class Table:
    """One table of the results: a graph under one setting. Cells are texts as printed, by column."""

    section: str
    caption: str
    higher: list[str]
    costs: list[str]
    rows: list[dict[str, str]]

    @property
    def columns(self) -> list[str]:
        """The figures, without the columns that are none."""
        return [title for title in self.rows[0] if title not in PLAIN]


def tables(folder: Path) -> Iterator[Table]:
    """The tables of every file that says how its figures compare methods."""
    for file in sorted(folder.glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        how = found.get("compares")
        for each in found["tables"].values() if how else ():
            rows = [dict(zip(each["columns"], row, strict=True)) for row in each["rows"]]
            yield Table(how["title"], each["title"], how["higher"], how["costs"], rows)


def value(cell: str) -> float | None:
    """The mean that a cell prints; None where it has none."""
    found = re.match(r"-?[\d.]+", cell)
    return None if found is None else float(found[0])


def best(table: Table, column: str) -> float | None:
    """The best printed mean of a column that compares methods."""
    values = [value(row[column]) for row in table.rows]
    known = [each for each in values if each is not None]
    if not known or column in table.costs:
        return None
    return max(known) if column in table.higher else min(known)


def page(folder: Path) -> str:
    """The page in Markdown, its tables in HTML: without scripts a browser shows them all, one by one."""
    found = list(tables(folder))
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

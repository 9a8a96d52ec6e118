"""Charts of counts with bands, and heat maps. The true number lies in the band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.reports.html.charts import MAX_ROWS
from graphveil.pages.figure import Figure, Row
from graphveil.pages.numbers import tick
from graphveil.pages.svg import Plot, n, shape

_LABEL = 30
_MOST_BARS = 24


@dataclass(frozen=True)
class Counted:
    """A count in the release, and its paid number. It comes with the ends between which the true number
    lies."""

    label: str
    released: float
    paid: int | None = None
    within: int = 0

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the true number's interval. It is likely to lie between them: counts are never below
        0."""
        paid = self.paid or 0
        return max(0.0, paid - self.within), max(0.0, float(paid + self.within))


def histogram(
    uid: str, title: str, description: str, found: Sequence[Counted], ordered: bool, what: str, note: str = ""
) -> Figure | None:
    """Draw counts by bin with their bands. Bins stand upright where they have an order, else the most
    frequent first."""
    if not any(each.released or each.paid for each in found):
        return None
    banded = any(each.paid is not None for each in found)
    plot = _upright(found) if ordered else _lying(found)
    header = ("Value", f"{what}, release", *(("Paid for", "At least", "At most") if banded else ()))
    rows: list[Row] = [_row(each, banded) for each in found]
    kept = rows if len(rows) <= MAX_ROWS else [_row(each, banded) for each in _frequent(found, MAX_ROWS)]
    return Figure(
        title,
        description,
        plot.svg(uid, title, description),
        ("synthetic", "paid") if banded else (),
        header,
        tuple(kept),
        len(rows) if len(kept) < len(rows) else None,
        note=note,
        sorted_rows=True,
    )


def _frequent(found: Sequence[Counted], most: int) -> list[Counted]:
    return sorted(found, key=lambda each: -each.released)[:most]


def _row(each: Counted, banded: bool) -> Row:
    if not banded or each.paid is None:
        return (each.label, each.released, *((None, None, None) if banded else ()))
    return (each.label, each.released, float(each.paid), *each.ends)


def _upright(found: Sequence[Counted]) -> Plot:
    """Draw a column a bin, and its band as an upright line with the paid number on it."""
    plot = Plot()
    tops = [max(each.released, each.ends[1]) for each in found]
    level = plot.left_values(0.0, max(tops))
    wide = (plot.x(1) - plot.x(0)) / len(found)
    # Even of very many bins a bar is seen, and of few it is no block.
    bar = max(0.6, min(0.8 * wide, 26.0))
    for index, each in enumerate(found):
        x, y = plot.x((index + 0.5) / len(found)), level(each.released)
        plot.box(x - bar / 2, y, bar, plot.y(0) - y, "bar synthetic")
    bands = [
        (plot.x((index + 0.5) / len(found)), each)
        for index, each in enumerate(found)
        if each.paid is not None
    ]
    plot.upright([(x, level(each.ends[0]), level(each.ends[1])) for x, each in bands], "line paid")
    plot.path(
        "".join(shape("circle", x, level(max(each.paid or 0, 0)), 2.2) for x, each in bands)
        if len(bands) <= 2 * _MOST_BARS
        else "",
        "mark paid",
    )
    letters = max(len(each.label) for each in found)
    # About 6.6 pixels a letter, and 10 between labels: so many fit beside one another.
    room = max(1, int((plot.x(1) - plot.x(0)) / (6.6 * min(letters, _LABEL) + 10)))
    stride = math.ceil(len(found) / room)
    labels = [((k + 0.5) / len(found), _short(found[k].label)) for k in range(0, len(found), stride)]
    # The last goes where it would reach out of the picture.
    plot.bottom_axis(labels[:-1] if _leaves(plot, labels[-1]) and len(labels) > 1 else labels, "value")
    return plot


def _leaves(plot: Plot, label: tuple[float, str]) -> bool:
    """Tell whether a label's text would leave the frame."""
    return plot.x(label[0]) + 3.3 * len(label[1]) > plot.width


def _lying(found: Sequence[Counted]) -> Plot:
    """Draw a bar a bin, the most frequent first, and its band as a line with the paid number on it."""
    first = _frequent(found, _MOST_BARS)
    group = 30
    plot = Plot(height=group * len(first) + 6, left=4, right=52, top=2, bottom=2)
    longest = max(max(each.released, each.ends[1]) for each in first) or 1.0
    for index, each in enumerate(first):
        top = index * group + 13.0
        level = top + 10
        plot.text(plot.left, top, _short(each.label), "start", "label")
        long = each.released / longest * (plot.x(1) - plot.left)
        plot.box(plot.left, level - 5, long, 10, "bar synthetic")
        edge = long
        if each.paid is not None:
            low, high = (plot.x(end / longest) for end in each.ends)
            plot.path(f"M{n(low)} {n(level)}H{n(high)}", "line paid")
            plot.path(shape("circle", plot.x(max(each.paid, 0) / longest), level, 2.6), "mark paid")
            # The number stands behind whichever is longer, bar or band.
            edge = max(long, high - plot.left)
        plot.text(plot.left + edge + 5, level + 4, tick(each.released), "start")
    return plot


@dataclass(frozen=True)
class Crossed:
    """Counts by two things. ``ends``: of each cell its name, its count, and the ends of the true number."""

    rows: Sequence[str]
    columns: Sequence[str]
    counts: Sequence[Sequence[float]]
    titles: tuple[str, str]
    ends: Sequence[tuple[str, float, float, float]] = ()


def heat(uid: str, title: str, description: str, crossed: Crossed, note: str) -> Figure | None:
    """Draw a table as a heat map. A colour is the stronger, the larger the share of its row. None for an
    empty one."""
    rows, columns, counts = crossed.rows, crossed.columns, crossed.counts
    titles, ends = crossed.titles, crossed.ends
    if not any(map(sum, counts)):
        return None
    margin = min(96.0, 8 + 6.2 * max(len(_short(label, 14)) for label in rows))
    tall = max(4.0, min(24.0, 240 / len(rows)))
    plot = Plot(height=round(tall * len(rows)) + 46, left=round(margin), right=8, top=6, bottom=40)
    wide = (plot.x(1) - plot.x(0)) / len(columns)
    gap = 1.0 if wide > 6 and tall > 6 else 0.0
    # By row, as rows differ in size: colours then compare within each.
    shares = [[count / max(sum(row), 1) for count in row] for row in counts]
    most = max(map(max, shares))
    for index, row in enumerate(shares):
        y = plot.top + index * tall
        for place, share in enumerate(row):
            x = plot.x(0) + place * wide
            data = f"M{n(x)} {n(y)}h{n(wide - gap)}v{n(tall - gap)}h{n(gap - wide)}z"
            # Never fully clear, so that an empty cell is seen as one.
            plot.parts.append(
                f'<path class="mark heat" fill-opacity="{0.05 + 0.95 * share / most:.2f}" d="{data}"/>'
            )
    stride = math.ceil(13 / tall)
    for index in range(0, len(rows), stride):
        y = plot.top + (index + 0.5) * tall + 4
        plot.text(plot.left - 6, y, _short(rows[index], 14), "end")
    letters = max(len(_short(label, 14)) for label in columns)
    step = math.ceil((6.6 * letters + 8) / wide)
    ticks = [((k + 0.5) / len(columns), _short(columns[k], 14)) for k in range(0, len(columns), step)]
    plot.bottom_axis(ticks[:-1] if len(ticks) > 1 and _leaves(plot, ticks[-1]) else ticks, titles[1])
    header: tuple[str, ...] = (titles[0], *columns)
    table: tuple[Row, ...] = tuple((label, *map(float, row)) for label, row in zip(rows, counts, strict=True))
    # A row for each cell: its number and both ends of what was paid for do not fit into columns.
    if ends:
        header = (f"{titles[0]}, {titles[1]}", "Release", "Paid for: at least", "At most")
        table = tuple(sorted(ends, key=lambda each: -each[1])[:MAX_ROWS])
    thinned = len(ends) if len(ends) > len(table) else None
    svg = plot.svg(uid, title, description)
    return Figure(title, description, svg, (), header, table, thinned, note=note, sorted_rows=bool(ends))


def _short(label: str, most: int = _LABEL) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"

"""The report's kinds of charts. Each is a figure: a picture, its description, and its data as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from core.reports.base import evenly
from core.reports.statistics import Drawing
from graphveil.pages.figure import Figure, Row, type_style
from graphveil.pages.numbers import at_most, percent_text, tick
from graphveil.pages.svg import MARKERS, WIDTH, Plot, Point, n, nice_ticks, shape

# More rows than this are thinned in a figure's table; the report's JSON holds them all.
MAX_ROWS = 100
_MOST_MARKERS = 48
_LABEL_CHARACTERS = 44

Values = Sequence[float | None]


def curves(
    uid: str,
    title: str,
    description: str,
    steps: Sequence[int],
    series: Mapping[str, Values],
    over: str = "snapshot",
    bands: Mapping[int, tuple[float, float]] | None = None,
) -> Figure | None:
    """Draw lines over snapshots, or ``over`` other steps. They go from zero on; None without values or two
    steps.

    ``bands``: of some steps the ends between which a true number lies.
    """
    defined = [v for values in series.values() for v in values if v is not None]
    if not defined or len(steps) < 2:
        return None
    plot = Plot()
    ends = [end for band in (bands or {}).values() for end in band]
    # Zero is on the axis, so that heights compare as the numbers do.
    level = plot.left_values(min(0.0, *defined), max(0.0, *defined, *ends))
    first, width = steps[0], max(steps[-1] - steps[0], 1)
    stride = max(1, round(nice_ticks(0, width, 6)[1]))
    marks = range(first, steps[-1] + 1, stride)
    plot.bottom_axis([((step - first) / width, str(step)) for step in marks], over)
    at = {step: plot.x((step - first) / width) for step in (*steps, *(bands or {}))}
    plot.upright([(at[step], level(b), level(t)) for step, (b, t) in (bands or {}).items()], "line paid")
    for name, values in series.items():
        points: list[Point | None] = [
            None if v is None else (at[step], level(v)) for step, v in zip(steps, values, strict=True)
        ]
        # More marks than these would hide the line.
        plot.line(points, name, marked=len(steps) <= _MOST_MARKERS)
    rows: list[Row] = [(step, *values) for step, *values in zip(steps, *series.values(), strict=True)]
    names = [name.capitalize() for name in series]
    if bands:
        rows = [(*row, *bands.get(step, (None, None))) for step, row in zip(steps, rows, strict=True)]
        names += ["True number at least", "At most"]
    kept = evenly(rows, MAX_ROWS)
    return Figure(
        title,
        description,
        plot.svg(uid, title, description),
        (*series, "paid") if bands else tuple(series),
        (over.capitalize(), *names),
        kept,
        len(rows) if len(kept) < len(rows) else None,
    )


def alone(figure: Figure, header: tuple[str, str], note: str = "") -> Figure:
    """Make the figure one of a single series, which needs no legend."""
    return replace(figure, keys=(), header=header, note=note)


def degrees(
    uid: str,
    title: str,
    description: str,
    bins: Sequence[tuple[int, int]],
    series: Mapping[str, Sequence[float]],
) -> Figure | None:
    """Draw nodes per doubling bin of degrees. Both axes are logarithmic; empty bins have a line of their
    own."""
    positive = [v for values in series.values() for v in values if v > 0]
    if not positive:
        return None
    # A hair inward: a power of ten, whose logarithm may be rounded, begins no decade more.
    low, high = math.floor(math.log10(min(positive)) + 1e-9), math.ceil(math.log10(max(positive)) - 1e-9)
    high = max(high, low + 1)
    empty = any(v <= 0 for values in series.values() for v in values)
    # Zero has no logarithm: its line lies a decade below the least.
    base = low - 1 if empty else low
    plot = Plot()

    def share(value: float) -> float:
        level = math.log10(value) if value > 0 else base
        return (level - base) / (high - base)

    stride = max(1, math.ceil((high - low) / 6))
    levels = [(share(10.0**k), tick(10.0**k)) for k in range(low, high + 1, stride)]
    plot.left_axis([*([(0.0, "0")] if empty else []), *levels])
    places = [(k + 0.5) / len(bins) for k in range(len(bins))]
    every = max(1, math.ceil(len(bins) / 8))
    labels = [(places[k], tick(bins[k][0])) for k in range(0, len(bins), every)]
    plot.bottom_axis(labels, "degree, from (bins double)")
    for name, values in series.items():
        drawn = [(plot.x(x), plot.y(share(v))) for x, v in zip(places, values, strict=True)]
        plot.line(drawn, name)
    rows = tuple((_range(*edge), *values) for edge, *values in zip(bins, *series.values(), strict=True))
    header = ("Degree", *(f"Nodes, {name}" for name in series))
    note = "nodes in each range of degrees, both axes logarithmic"
    return Figure(
        title, description, plot.svg(uid, title, description), tuple(series), header, rows, note=note
    )


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def bars(
    uid: str, title: str, description: str, labels: Sequence[str], series: Mapping[str, Values]
) -> Figure | None:
    """Draw horizontal bars of shares. They are grouped by label, with their values; None where nothing is
    defined."""
    defined = [v for values in series.values() for v in values if v is not None]
    if not defined:
        return None
    thick, group = 9, 22 + 12 * len(series)
    plot = Plot(height=group * len(labels) + 6, left=2, right=52, top=2, bottom=2)
    # Shares may all be 0, by which nothing is divided.
    longest = max(max(defined), 1e-12)
    for index, label in enumerate(labels):
        top = index * group + 14.0
        plot.text(plot.left, top, _short(label), "start", "label")
        for place, (name, values) in enumerate(series.items()):
            value, y = values[index], top + 5 + place * (thick + 3)
            length = 0.0 if value is None else value / longest * (plot.x(1) - plot.left)
            plot.box(plot.left, y, length, thick, f"bar {name}")
            shown = "–" if value is None else percent_text(value)
            plot.text(plot.left + length + 5, y + thick - 0.5, shown, "start")
    rows = tuple((label, *values) for label, *values in zip(labels, *series.values(), strict=True))
    header = ("", *(name.capitalize() for name in series))
    return Figure(
        title, description, plot.svg(uid, title, description), tuple(series), header, rows, percent=True
    )


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_CHARACTERS else label[: _LABEL_CHARACTERS - 1] + "…"


@dataclass(frozen=True)
class Dot:
    """A value between 0 and 1 with its interval, of one series."""

    series: str
    value: float
    low: float | None = None
    high: float | None = None


def dots(
    uid: str,
    title: str,
    description: str,
    lines: Sequence[tuple[str, Sequence[Dot]]],
    guess: float | None = None,
) -> Figure:
    """Draw one line of dots a label, with intervals. A dashed line stands where guessing would be."""
    plot = Plot(left=10, right=14, top=4, bottom=34)
    heights = [22 + 12 * max(len(values), 1) for _, values in lines]
    plot.height = sum(heights) + plot.top + plot.bottom
    quarters = [(k / 4, f"{k / 4:g}") for k in range(5)]
    for share, style in (*((share, "grid") for share, _ in quarters), (guess, "guessing")):
        if share is not None:
            plot.upright([(plot.x(share), plot.top, plot.y(0))], style)
    y = float(plot.top)
    for (label, values), height in zip(lines, heights, strict=True):
        plot.text(plot.x(0), y + 13, _short(label), "start", "label halo")
        for place, dot in enumerate(values):
            level, x = y + 23 + 12 * place, plot.x(dot.value)
            if dot.low is not None and dot.high is not None:
                plot.path(f"M{n(plot.x(dot.low))} {n(level)}H{n(plot.x(dot.high))}", f"line {dot.series}")
            plot.path(shape(MARKERS[dot.series], x, level, 3.6), f"mark {dot.series}")
        y += height
    plot.bottom_axis(quarters, "")
    keys = tuple(dict.fromkeys(dot.series for _, values in lines for dot in values))
    return Figure(title, description, plot.svg(uid, title, description), keys)


def drawing(uid: str, title: str, description: str, drawn: Drawing, types: Sequence[str]) -> Figure:
    """Draw the graph as it was laid out. A node type has a colour and a shape."""
    plot = Plot(height=WIDTH, left=12, right=12, top=12, bottom=12)
    places = [(plot.x(node.x), plot.y(node.y)) for node in drawn.nodes]
    plot.between(places, drawn.edges, "edge dense" if len(drawn.edges) > 400 else "edge")
    # Area goes by the square: however many nodes, their marks cover about as much.
    radius = max(2.2, min(6.0, 48 / math.sqrt(max(len(places), 1))))
    for index, kind in enumerate(types):
        colour, mark = type_style(index)
        data = "".join(
            shape(mark, *place, radius)
            for place, node in zip(places, drawn.nodes, strict=True)
            if node.type == kind
        )
        plot.path(data, f"node {colour}")
    rows: tuple[Row, ...] = tuple((kind, sum(node.type == kind for node in drawn.nodes)) for kind in types)
    return Figure(
        title,
        description,
        plot.svg(uid, title, description),
        header=("Node type", "Nodes"),
        rows=(*rows, ("edges drawn", len(drawn.edges))),
    )


def dial(uid: str, name: str, value: float, level: str) -> Markup:
    """Draw a score from 0 to 10 as a ring. It is filled clockwise from its top in the colour of its level."""
    plot = Plot(height=120, width=120)
    plot.parts.append('<circle class="ring" cx="60" cy="60" r="50"/>')
    # Never the full turn: an arc that ends where it begins is not drawn at all.
    turn = 2 * math.pi * min(max(value / 10, 0.0), 0.9999)
    x, y = 60 + 50 * math.sin(turn), 60 - 50 * math.cos(turn)
    if value > 0:
        # SVG takes the shorter arc unless this flag says the longer, beyond half a turn.
        plot.path(f"M60 10A50 50 0 {int(turn > math.pi)} 1 {x:.2f} {y:.2f}", f"fill {level}")
    plot.text(60, 68, f"{value:.1f}", style="score")
    plot.text(60, 86, "of 10")
    return plot.svg(uid, f"{name}: {value:.1f} of 10", "A ring filled in proportion to the score.")


def gauge(uid: str, title: str, bound: float, level: str) -> Markup:
    """Draw how sure an attacker can become. It goes from a coin flip at the left to certainty at the
    right."""
    plot = Plot(height=58, left=4, right=4, top=4, bottom=26)
    # A bound of one half is a coin flip: it is the left end.
    share = min(max((bound - 0.5) * 2, 0.0), 1.0)
    plot.box(plot.x(0), 10, plot.x(1) - plot.x(0), 12, "track")
    plot.box(plot.x(0), 10, plot.x(share) - plot.x(0), 12, f"bar {level}")
    plot.upright([(plot.x(share), 5, 27)], "needle")
    plot.text(plot.x(0), 40, "50 % coin flip", "start")
    plot.text(plot.x(1), 40, "100 % certain", "end")
    return plot.svg(uid, title, f"At most {at_most(bound)} on a scale from 50 % to 100 %.")


def posteriors(uid: str, title: str, description: str, series: Sequence[Sequence[float]]) -> Markup:
    """Draw how likely a claim can become. The axis is how likely it was: evenly spaced values from 0 to 1."""
    plot = Plot(height=230, right=22, bottom=40)
    ends = [(share / 4, f"{share * 25} %") for share in range(5)]
    plot.left_axis(ends)
    plot.bottom_axis(ends, "held likely before reading")
    plot.path(f"M{n(plot.x(0))} {n(plot.y(0))}L{n(plot.x(1))} {n(plot.y(1))}", "guessing")
    for number, values in enumerate(series):
        last = len(values) - 1
        data = "L".join(f"{n(plot.x(i / last))} {n(plot.y(value))}" for i, value in enumerate(values))
        plot.path(f"M{data}", f"line learned-{number}")
    return plot.svg(uid, title, description)

"""Plots for the documentation: lines through measured points, as SVG files that stand alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import escape

from graphveil.pages.numbers import tick
from graphveil.pages.svg import Plot, n, nice_ticks, shape

Point = tuple[float, float]

SHAPES = ("circle", "square", "triangle", "diamond")
COLOURS = (
    "#222222", "#c0390a", "#e39b3b", "#2b5fb8", "#17735c", "#7a3fa0",
    "#d0568f", "#4d8fa8", "#888888", "#8a6d1c", "#6cb04f", "#6b2f3a",
)  # fmt: skip
PANEL, KEYS, HEIGHT = 360, 150, 300
STYLE = """
text{font:11px system-ui,"Segoe UI",Roboto,Arial,sans-serif;fill:#444}
.head{font-weight:600;fill:#222}.grid{stroke:#e3e3e3;fill:none}.axis{stroke:#777;fill:none}
.level{stroke:#777;stroke-dasharray:2 3;fill:none}.line{fill:none;stroke-linejoin:round}
"""


def panels(
    title: str,
    description: str,
    charts: Sequence[tuple[str, str, str, Mapping[str, Sequence[Point]]]],
    level: float | None = None,
    thick: Sequence[str] = (),
    order: Sequence[str] = (),
    columns: int | None = None,
) -> str:
    """One SVG document with charts side by side and one list of what the lines are.

    A chart: its heading, the names of its axes (x, y), and the points of each line, in their order.
    ``level``: a dashed line at this y. ``thick``: lines that stand out. ``order``: all names that there may
    be, where several documents are to give a name the same colour. ``columns``: how many charts stand side by
    side, the rest below; None: all.
    """
    shown = list(dict.fromkeys(name for *_, lines in charts for name in lines))
    names = list(order) or shown
    columns = columns or len(charts)
    width, height = PANEL * columns + KEYS, HEIGHT * -(-len(charts) // columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img" aria-labelledby="t d"><title id="t">{escape(title)}</title>',
        f'<desc id="d">{escape(description)}</desc><style>{STYLE}</style>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for index, (heading, x_name, y_name, lines) in enumerate(charts):
        row, column = divmod(index, columns)
        parts.append(f'<g transform="translate({PANEL * column} {HEIGHT * row})">')
        parts += _chart(heading, x_name, y_name, lines, names, level, thick)
        parts.append("</g>")
    for index, name in enumerate(shown):
        x, y = PANEL * columns + 12, 34 + 18 * index
        parts.append(f'<path d="M{x - 8} {y - 4}h16" {_stroke(names, name, thick)}/>')
        parts.append(f'<path d="{_mark(names, name, x, y - 4)}" fill="{_colour(names, name)}"/>')
        parts.append(f'<text x="{x + 14}" y="{y}">{escape(name)}</text>')
    return "".join([*parts, "</svg>\n"])


def _chart(
    heading: str,
    x_name: str,
    y_name: str,
    lines: Mapping[str, Sequence[Point]],
    names: Sequence[str],
    level: float | None,
    thick: Sequence[str],
) -> list[str]:
    plot = Plot(height=HEIGHT, width=PANEL, top=34, left=48)
    points = [point for each in lines.values() for point in each]
    spans = []
    for axis in (0, 1):
        values = [point[axis] for point in points] + ([level] if axis and level is not None else [])
        ticks = nice_ticks(min(values), max(values))
        spans.append((ticks, ticks[0], ticks[-1] - ticks[0]))

    def share(axis: int, value: float) -> float:
        _, low, width = spans[axis]
        return (value - low) / width

    plot.left_axis([(share(1, value), tick(value)) for value in spans[1][0]])
    plot.bottom_axis([(share(0, value), tick(value)) for value in spans[0][0]], x_name)
    plot.text(plot.left, 14, heading, "start", "head")
    plot.text(plot.left, 27, y_name, "start")
    if level is not None:
        plot.path(f"M{n(plot.x(0))} {n(plot.y(share(1, level)))}H{n(plot.x(1))}", "level")
    for name, each in sorted(lines.items(), key=lambda line: line[0] in thick):
        places = [(plot.x(share(0, x)), plot.y(share(1, y))) for x, y in each]
        if len(places) > 1:
            joined = "L".join(f"{n(x)} {n(y)}" for x, y in places)
            plot.parts.append(f'<path class="line" d="M{joined}" {_stroke(names, name, thick)}/>')
        marks = "".join(_mark(names, name, x, y) for x, y in places)
        plot.parts.append(f'<path d="{marks}" fill="{_colour(names, name)}"/>')
    return plot.parts


def _colour(names: Sequence[str], name: str) -> str:
    return COLOURS[names.index(name) % len(COLOURS)]


def _mark(names: Sequence[str], name: str, x: float, y: float) -> str:
    place = names.index(name)
    return shape(SHAPES[(place + place // len(COLOURS)) % len(SHAPES)], x, y, 3.2)


def _stroke(names: Sequence[str], name: str, thick: Sequence[str]) -> str:
    return f'stroke="{_colour(names, name)}" stroke-width="{2.6 if name in thick else 1.3}"'

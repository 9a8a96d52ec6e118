"""Plots for the documentation: lines through measured points, as SVG files that stand alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graphveil.pages.svg import Plot, n, shape

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
.level{stroke:#777;stroke-dasharray:2 3;fill:none}.line{fill:none;stroke-linejoin:round;stroke-width:1.3}
.paper{fill:#fff}.thick{stroke-width:2.6}
""" + "".join(f".line.c{k}{{stroke:{colour}}}.mark.c{k}{{fill:{colour}}}" for k, colour in enumerate(COLOURS))


class Look(NamedTuple):
    """The style of a line, and the shape of its marks."""

    style: str
    mark: str


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
    looks = {name: _look(place, name in thick) for place, name in enumerate(order or shown)}
    columns = columns or len(charts)
    width, height = PANEL * columns + KEYS, HEIGHT * -(-len(charts) // columns)
    whole = Plot(height=height, width=width)
    whole.parts.append(f"<style>{STYLE}</style>")
    whole.box(0, 0, width, height, "paper")
    for index, (heading, x_name, y_name, lines) in enumerate(charts):
        row, column = divmod(index, columns)
        chart = _chart(
            heading, x_name, y_name, {looks[name]: points for name, points in lines.items()}, level
        )
        whole.parts += [f'<g transform="translate({PANEL * column} {HEIGHT * row})">', *chart.parts, "</g>"]
    for index, name in enumerate(shown):
        x, y = PANEL * columns + 12, 34 + 18 * index
        _line(whole, looks[name], [(x - 8, y - 4), (x + 8, y - 4)], [(x, y - 4)])
        whole.text(x + 14, y, name, "start")
    alone = f'xmlns="http://www.w3.org/2000/svg" width="{width}" '
    return whole.svg("plot", title, description, alone) + "\n"


def _chart(
    heading: str, x_name: str, y_name: str, lines: Mapping[Look, Sequence[Point]], level: float | None
) -> Plot:
    plot = Plot(height=HEIGHT, width=PANEL, top=34, left=48)
    xs, ys = zip(*(point for each in lines.values() for point in each), strict=True)
    ys = ys if level is None else (*ys, level)
    upward, along = plot.left_values(min(ys), max(ys)), plot.bottom_values(min(xs), max(xs), x_name)
    plot.text(plot.left, 14, heading, "start", "head")
    plot.text(plot.left, 27, y_name, "start")
    if level is not None:
        plot.across(upward(level), "level")
    for look, each in sorted(lines.items(), key=lambda line: "thick" in line[0].style):
        places = [(along(x), upward(y)) for x, y in each]
        _line(plot, look, places, places)
    return plot


def _look(place: int, thick: bool) -> Look:
    mark = SHAPES[(place + place // len(COLOURS)) % len(SHAPES)]
    return Look(f"c{place % len(COLOURS)}{' thick' if thick else ''}", mark)


def _line(plot: Plot, look: Look, places: Sequence[Point], marked: Sequence[Point]) -> None:
    if len(places) > 1:
        plot.path("M" + "L".join(f"{n(x)} {n(y)}" for x, y in places), f"line {look.style}")
    plot.path("".join(shape(look.mark, x, y, 3.2) for x, y in marked), f"mark {look.style}")

"""The one drawer of SVG: a plot with axes, lines, markers and bars, coloured by the page's style sheet.

Where there is no style sheet, as in a notebook, ``looks`` gives a style's attributes in place of its class.

User units are about one CSS pixel at the width in which the page shows a plot, so that text stays readable on
a phone. Series differ by dash and marker as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from graphveil.pages.numbers import tick

WIDTH = 360
MARKERS = {"original": "circle", "synthetic": "square", "copied": "circle", "guess": "diamond"}
Point = tuple[float, float]


def n(value: float) -> str:
    """Write a coordinate, to a tenth of a unit."""
    return f"{value:.1f}".removesuffix(".0")


def shape(kind: str, x: float, y: float, r: float) -> str:
    """Write path data of a circle, square, diamond or triangle around (x, y)."""
    r = round(r, 1)  # as it is written: both halves of a circle then meet
    if kind == "circle":
        return f"M{n(x - r)} {n(y)}a{n(r)} {n(r)} 0 1 0 {n(2 * r)} 0a{n(r)} {n(r)} 0 1 0 {n(-2 * r)} 0z"
    if kind == "square":
        return f"M{n(x - r)} {n(y - r)}h{n(2 * r)}v{n(2 * r)}h{n(-2 * r)}z"
    if kind == "diamond":
        s = 1.3 * r
        return f"M{n(x)} {n(y - s)}l{n(s)} {n(s)}l{n(-s)} {n(s)}l{n(-s)} {n(-s)}z"
    return f"M{n(x)} {n(y - 1.2 * r)}l{n(1.2 * r)} {n(2.1 * r)}h{n(-2.4 * r)}z"


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Choose at most ``most`` + 2 round numbers that enclose [low, high]; where equal, a unit more."""
    if high - low <= 1e-9 * max(abs(low), abs(high)) or high - low < 1e-100:
        high = low + max(abs(low), 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if (high - low) / (power * k) <= most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{step * k:.12g}") for k in range(first, last + 1)]


@dataclass
class Plot:
    """A drawing area of user units with a margin for axes; shapes are added, then :meth:`svg` writes it."""

    height: int = 210
    width: int = WIDTH
    left: int = 44
    right: int = 12
    top: int = 10
    bottom: int = 38
    looks: Mapping[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def x(self, share: float) -> float:
        """Place a share of the drawing area horizontally."""
        return self.left + share * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        """Place a share of the drawing area vertically, from its bottom."""
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    def text(self, x: float, y: float, text: str, anchor: str = "middle", style: str = "tick") -> None:
        """Add ``text`` at (x, y)."""
        self.parts.append(f'<text {self._look(style)} x="{n(x)}" y="{n(y)}" text-anchor="{anchor}">')
        self.parts.append(f"{escape(text)}</text>")

    def _look(self, style: str) -> str:
        return self.looks.get(style) or f'class="{style}"'

    def path(self, data: str, style: str) -> None:
        """Add a path in the named style."""
        if data:
            self.parts.append(f'<path {self._look(style)} d="{data}"/>')

    def across(self, y: float, style: str) -> None:
        """Add a level line over the whole width."""
        self.path(f"M{n(self.x(0))} {n(y)}H{n(self.x(1))}", style)

    def upright(self, lines: Sequence[tuple[float, float, float]], style: str) -> None:
        """Add upright lines: where each stands, and its two ends."""
        self.path("".join(f"M{n(x)} {n(start)}V{n(end)}" for x, start, end in lines), style)

    def box(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """Add a filled box with a corner at (x, y)."""
        self.path(f"M{n(x)} {n(y)}h{n(width)}v{n(height)}h{n(-width)}z", style)

    def between(self, places: Sequence[Point], pairs: Sequence[tuple[int, int]], style: str) -> None:
        """Add a straight line for each pair of places."""
        ends = [(*places[a], *places[b]) for a, b in pairs]
        self.path("".join(f"M{n(a)} {n(b)}L{n(c)} {n(d)}" for a, b, c, d in ends), style)

    def left_axis(self, ticks: Sequence[tuple[float, str]]) -> None:
        """Add grid lines and labels at shares of the height."""
        for share, label in ticks:
            self.across(self.y(share), "grid")
            self.text(self.left - 6, self.y(share) + 4, label, "end")

    def left_values(self, low: float, high: float, most: int = 5) -> Callable[[float], float]:
        """Add a left axis of round numbers that enclose [low, high], and tell where on it a value is."""
        ticks, at = _scale(low, high, most)
        self.left_axis(ticks)
        return lambda value: self.y(at(value))

    def bottom_values(self, low: float, high: float, title: str) -> Callable[[float], float]:
        """Add a bottom axis of round numbers that enclose [low, high], and tell where on it a value is."""
        ticks, at = _scale(low, high)
        self.bottom_axis(ticks, title)
        return lambda value: self.x(at(value))

    def bottom_axis(self, ticks: Sequence[tuple[float, str]], title: str) -> None:
        """Add the base line with labels at shares of the width, and what they mean."""
        self.across(self.y(0), "axis")
        for share, label in ticks:
            self.text(self.x(share), self.height - self.bottom + 15, label)
        self.text(self.x(0.5), self.height - 5, title)

    def line(self, points: Sequence[Point | None], style: str, marked: bool = True) -> None:
        """Add a line through the points, broken where one is missing, with the series' markers.

        A point without neighbours is marked in any case: it would be invisible.
        """
        runs: list[list[Point]] = [[]]
        for point in points:
            if point is None:
                runs.append([])
            else:
                runs[-1].append(point)
        data = "".join("M" + "L".join(f"{n(x)} {n(y)}" for x, y in run) for run in runs if len(run) > 1)
        self.path(data, f"line {style}")
        alone = [run for run in runs if len(run) == 1]
        kept = [point for run in (runs if marked else alone) for point in run]
        marks = "".join(shape(MARKERS[style], x, y, 3) for x, y in kept)
        self.path(marks, f"mark {style}")

    def svg(self, uid: str, title: str, description: str, more: str = "") -> Markup:
        """Write the whole picture, named and described for those who do not see it; ``more``: attributes."""
        return Markup(
            f'<svg {more}viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-labelledby="{uid}-t {uid}-d">'
            f'<title id="{uid}-t">{escape(title)}</title><desc id="{uid}-d">{escape(description)}</desc>'
            f"{''.join(self.parts)}</svg>"
        )


def _scale(
    low: float, high: float, most: int = 5
) -> tuple[list[tuple[float, str]], Callable[[float], float]]:
    """Find the ticks of an axis, and which share of it is below a value; none is below its foot."""
    ticks = nice_ticks(low, high, most)
    foot, width = ticks[0], ticks[-1] - ticks[0]

    def at(value: float) -> float:
        return max(0.0, (value - foot) / width)

    return [(at(value), tick(value)) for value in ticks], at

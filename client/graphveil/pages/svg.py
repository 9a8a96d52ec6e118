"""Inline SVG by hand: a plot with axes, lines, markers and bars, coloured by the page's style sheet alone.

User units are about one CSS pixel at the width in which the page shows a plot, so that text stays readable on
a phone. Series differ by dash and marker as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

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
    parts: list[str] = field(default_factory=list)

    def x(self, share: float) -> float:
        """Place a share of the drawing area horizontally."""
        return self.left + share * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        """Place a share of the drawing area vertically, from its bottom."""
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    def text(self, x: float, y: float, text: str, anchor: str = "middle", style: str = "tick") -> None:
        """Add ``text`` at (x, y)."""
        self.parts.append(f'<text class="{style}" x="{n(x)}" y="{n(y)}" text-anchor="{anchor}">')
        self.parts.append(f"{escape(text)}</text>")

    def path(self, data: str, style: str) -> None:
        """Add a path in the named style."""
        if data:
            self.parts.append(f'<path class="{style}" d="{data}"/>')

    def left_axis(self, ticks: Sequence[tuple[float, str]]) -> None:
        """Add grid lines and labels at shares of the height."""
        for share, label in ticks:
            y = self.y(share)
            self.path(f"M{n(self.x(0))} {n(y)}H{n(self.x(1))}", "grid")
            self.text(self.left - 6, y + 4, label, "end")

    def bottom_axis(self, ticks: Sequence[tuple[float, str]], title: str) -> None:
        """Add the base line with labels at shares of the width, and what they mean."""
        self.path(f"M{n(self.x(0))} {n(self.y(0))}H{n(self.x(1))}", "axis")
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

    def svg(self, uid: str, title: str, description: str) -> Markup:
        """Write the whole picture, named and described for those who do not see it."""
        return Markup(
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-labelledby="{uid}-t {uid}-d">'
            f'<title id="{uid}-t">{escape(title)}</title><desc id="{uid}-d">{escape(description)}</desc>'
            f"{''.join(self.parts)}</svg>"
        )

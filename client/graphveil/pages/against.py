"""Methods side by side: one page with a chart for each metric, utility against epsilon.

What is compared is a *public* graph, so that every figure may be shown. The page is self-contained: inline
style and pictures, no script, nothing fetched from anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from graphveil.pages.figure import Figure, Row, type_style
from graphveil.pages.numbers import tick
from graphveil.pages.render import page
from graphveil.pages.svg import Plot, n, shape

_DODGE = 5.0  # user units between methods at one epsilon: whiskers must not hide each other
_DASHES = 4  # patterns of lines, as the style sheet has them


@dataclass(frozen=True)
class Spread:
    """Runs of one method at one epsilon: mean, standard deviation (None: one run) and number.

    A prediction is of no run: ``runs`` is 0.
    """

    mean: float
    deviation: float | None
    runs: int


@dataclass(frozen=True)
class Panel:
    """One metric of every method. ``spreads[method][k]`` belongs to the k-th epsilon; None: no value.

    ``reference`` is the original's own value, where the metric is one of a single graph.
    """

    title: str
    definition: str
    better: str
    reference: float | None
    spreads: Mapping[str, Sequence[Spread | None]]


@dataclass(frozen=True)
class Compared:
    """Everything that the page says. ``failed`` counts runs without a release."""

    title: str
    dataset: str
    facts: Sequence[tuple[str, str]]
    epsilons: Sequence[str]
    methods: Sequence[str]
    panels: Sequence[Panel]
    failed: int


@dataclass(frozen=True)
class Planned:
    """Everything that the page of a menu says; ``refused`` are sentences. Panels are of predictions."""

    dataset: str
    facts: Sequence[tuple[str, str]]
    epsilons: Sequence[str]
    methods: Sequence[str]
    panels: Sequence[Panel]
    refused: Sequence[str]


def menu_page(planned: Planned) -> str:
    """Render one HTML document, a chart and a table for each prediction. Deterministic."""
    return _lines_page("menu.html", planned)


def comparison_page(compared: Compared) -> str:
    """Render one HTML document, a chart and a table for each metric that any run defines. Deterministic."""
    return _lines_page("compare.html", compared)


def _lines_page(template: str, shown: Planned | Compared) -> str:
    keys = {f"{colour} {mark}": name for name, (colour, mark) in _styles(shown.methods).items()}
    figures = [
        against(f"panel-{index}", panel, shown.epsilons, shown.methods)
        for index, panel in enumerate(shown.panels)
        if any(spread is not None for spreads in panel.spreads.values() for spread in spreads)
    ]
    return page(template, {"shown": shown, "figures": figures, "names": keys, "metrics": {}})


def against(uid: str, panel: Panel, epsilons: Sequence[str], methods: Sequence[str]) -> Figure:
    """Draw means over runs against epsilon (logarithmic), a line a method, whiskers of one deviation."""
    styles = _styles(methods)
    shown = [s for spreads in panel.spreads.values() for s in spreads if s is not None]
    ends = [s.mean + sign * (s.deviation or 0.0) for s in shown for sign in (-1, 1)]
    if all(s.mean >= 0 for s in shown):  # no whisker goes below zero where values cannot
        ends = [max(end, 0.0) for end in ends]
    ends += [] if panel.reference is None else [panel.reference]
    plot = Plot(height=240, left=52)
    level = plot.left_values(min([0.0, *ends]), max([0.0, *ends]))
    places = _places([float(epsilon) for epsilon in epsilons])
    plot.bottom_axis(list(zip(places, epsilons, strict=True)), "epsilon")
    if panel.reference is not None:
        plot.across(level(panel.reference), "guessing")
    for index, method in enumerate(methods):
        shift = (index - (len(methods) - 1) / 2) * min(_DODGE, 24 / len(methods))
        points = [
            (plot.x(place) + shift, spread)
            for place, spread in zip(places, panel.spreads[method], strict=True)
            if spread is not None
        ]
        _draw(plot, points, level, styles[method], index % _DASHES)
    predicted = all(spread.runs == 0 for spread in shown)
    drawn = "predicted" if predicted else "means over runs, whiskers of one standard deviation"
    description = f"{panel.title} against epsilon for {', '.join(methods)}: {drawn}."
    if panel.reference is not None:
        description += f" The dashed line is the original's value, {tick(panel.reference)}."
    keys = tuple(f"{colour} {mark}" for colour, mark in styles.values())
    own = ("± sd",) if not predicted else ()
    header = ("Epsilon", *(word for name in methods for word in (name, *own)))
    note = "dashed: the original" if panel.reference is not None else panel.better
    svg = plot.svg(uid, panel.title, description)
    rows = _rows(panel, epsilons, methods, spreads=not predicted)
    return Figure(panel.title, description, svg, keys, header, rows, note=note)


def _draw(
    plot: Plot,
    points: Sequence[tuple[float, Spread]],
    level: Callable[[float], float],
    style: tuple[str, str],
    dash: int,
) -> None:
    """Draw one method's whiskers, line and markers."""
    colour, mark = style
    whiskers = [
        (x, level(s.mean - s.deviation), level(s.mean + s.deviation)) for x, s in points if s.deviation
    ]
    plot.upright(whiskers, f"line whisker {colour}")
    if len(points) > 1:
        joined = "L".join(f"{n(x)} {n(level(s.mean))}" for x, s in points)
        plot.path(f"M{joined}", f"line {colour} dash-{dash}")
    plot.path("".join(shape(mark, x, level(s.mean), 3.6) for x, s in points), f"mark {colour}")


def _rows(panel: Panel, epsilons: Sequence[str], methods: Sequence[str], *, spreads: bool) -> tuple[Row, ...]:
    rows: list[Row] = []
    for index, epsilon in enumerate(epsilons):
        cells = [panel.spreads[method][index] for method in methods]
        values = [(None, None) if s is None else (s.mean, s.deviation) for s in cells]
        rows.append((epsilon, *(v for pair in values for v in pair[: 1 + spreads])))
    if panel.reference is not None:
        rows.append(("original", *(v for _ in methods for v in (panel.reference, None))))
    return tuple(rows)


def _places(epsilons: Sequence[float]) -> list[float]:
    """Place each epsilon on the axis, as a share of its width; a margin at both ends."""
    logs = [math.log(epsilon) for epsilon in epsilons]
    first, width = min(logs), max(logs) - min(logs)
    return [0.5 if width == 0 else 0.06 + 0.88 * (value - first) / width for value in logs]


def _styles(methods: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Give each method a colour and marker, by its place."""
    return {method: type_style(index) for index, method in enumerate(methods)}

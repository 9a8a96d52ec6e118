"""Pictures that only the console draws. They are a schema as a graph, a budget over time, the windows of a
stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from api.console.texts import text
from graphveil.models.ledger import Budget, Entry
from graphveil.pages.figure import type_style
from graphveil.pages.svg import Plot, n, shape

NANO = 1_000_000_000
MOST_DRAWN = 12
SPENDS = frozenset({"charge", "forfeit", "adjust"})


def type_graph(schema: Mapping[str, Any]) -> Markup | None:
    """Draw node types and the relations between them. These are marks and lines; None for a schema too large
    to be read.

    A public fact drawn: nothing of the data is in it.
    """
    nodes = [each["name"] for each in schema.get("node_types", ())]
    edges = schema.get("edge_types", ())
    if not nodes or len(nodes) > MOST_DRAWN or len(edges) > MOST_DRAWN:
        return None
    flat = len(nodes) <= 2
    plot = Plot(height=150 if flat else 250, width=360)
    places = _places(len(nodes))
    at = dict(zip(nodes, places, strict=True))
    counted: dict[tuple[str, ...], int] = {}
    for edge in edges:
        pair = tuple(sorted((edge["source"], edge["target"])))
        rank = counted[pair] = counted.get(pair, 0) + 1
        _relation(plot, edge, at, rank)
    for index, name in enumerate(nodes):
        colour, mark = type_style(index)
        x, y = at[name]
        plot.path(shape(mark, x, y, 9), f"node {colour}")
        plot.text(x, y + 25, name, style="label halo")
    relations = "; ".join(f"{edge['name']}: {edge['source']} – {edge['target']}" for edge in edges)
    return plot.svg("schema", text("dataset.schema"), relations)


def _places(count: int) -> list[tuple[float, float]]:
    if count == 1:
        return [(180.0, 110.0)]
    if count == 2:
        return [(62.0, 105.0), (298.0, 105.0)]
    turn = 2 * math.pi / count
    angles = [k * turn - math.pi / 2 for k in range(count)]
    return [(180 + 118 * math.cos(angle), 118 + 78 * math.sin(angle)) for angle in angles]


def _relation(plot: Plot, edge: Mapping[str, Any], at: Mapping[str, tuple[float, float]], rank: int) -> None:
    (x0, y0), (x1, y1) = at[edge["source"]], at[edge["target"]]
    if edge["source"] == edge["target"]:
        size = 26 + 14 * rank
        plot.path(
            f"M{n(x0 - 7)} {n(y0 - 7)}C{n(x0 - size)} {n(y0 - 1.7 * size)} {n(x0 + size)} "
            f"{n(y0 - 1.7 * size)} {n(x0 + 7)} {n(y0 - 7)}",
            "arc",
        )
        plot.text(x0, y0 - 1.28 * size - 5, edge["name"], style="tick halo")
        return
    length = math.hypot(x1 - x0, y1 - y0)
    across = ((y0 - y1) / length, (x1 - x0) / length)
    bend = 26.0 * (rank // 2) * (1 if rank % 2 else -1) + (14 if rank > 1 else 0)
    middle = ((x0 + x1) / 2 + across[0] * bend, (y0 + y1) / 2 + across[1] * bend)
    control = (2 * middle[0] - (x0 + x1) / 2, 2 * middle[1] - (y0 + y1) / 2)
    plot.path(f"M{n(x0)} {n(y0)}Q{n(control[0])} {n(control[1])} {n(x1)} {n(y1)}", "arc")
    if edge.get("directed"):
        angle = math.atan2(y1 - control[1], x1 - control[0])
        tip = (x1 - 12 * math.cos(angle), y1 - 12 * math.sin(angle))
        wings = [(tip[0] - 9 * math.cos(angle + s), tip[1] - 9 * math.sin(angle + s)) for s in (0.45, -0.45)]
        plot.path(
            f"M{n(tip[0])} {n(tip[1])}L{n(wings[0][0])} {n(wings[0][1])}L{n(wings[1][0])} {n(wings[1][1])}z",
            "arrow",
        )
    plot.text(middle[0], middle[1] - 6, edge["name"], style="tick halo")


def spent_over_time(entries: Sequence[Entry], budget: Budget) -> Markup | None:
    """Draw what the account's charges came to. The line goes entry by entry, up to what it holds now.

    Only where charges add up, under the basic filter without windows: None for other accounts, and before two
    entries.
    """
    if budget.filter != "basic" or budget.window is not None or len(entries) < 2:
        return None
    charged = budget.charged.nano_epsilon
    points: list[tuple[datetime, int]] = []
    for entry in reversed(entries):
        points.append((entry.created_at, charged))
        if entry.kind in SPENDS:
            charged -= entry.amounts.get("epsilon", 0)
    points.reverse()
    began, ended = points[0][0], points[-1][0]
    seconds = max((ended - began).total_seconds(), 1.0)
    capacity = budget.capacity.nano_epsilon / NANO
    plot = Plot(height=190)
    level = plot.left_values(0.0, max(capacity, 1e-9), 4)
    data, last = "", None
    for moment, nano in points:
        x, y = plot.x((moment - began).total_seconds() / seconds), level(nano / NANO)
        data += f"M{n(x)} {n(y)}" if last is None else f"H{n(x)}V{n(y)}"
        last = y
    plot.path(data, "line original")
    plot.across(level(capacity), "guessing")
    shown = "%Y-%m-%d" if seconds > 2 * 86_400 else "%H:%M"
    labels = [(0.12, began.strftime(shown)), (0.88, ended.strftime(shown))]
    plot.bottom_axis(labels, text("dataset.plot_axis"))
    description = text("dataset.plot_text", charged=budget.charged.epsilon, capacity=budget.capacity.epsilon)
    return plot.svg("spent", text("dataset.plot_title"), description)


def bar_of(budget: Budget, description: str) -> Markup:
    """Draw how much of a budget is used. As one bar it shows what is charged and reserved."""
    plot = Plot(height=14, left=0, right=0)
    whole, charged = budget.capacity.nano_epsilon, budget.charged.nano_epsilon
    held = (charged, charged + budget.reserved.nano_epsilon)
    ends = [min(each / whole, 1.0) if whole else 0.0 for each in held]
    plot.box(0, 0, plot.width, plot.height, "rest")
    plot.box(0, 0, plot.x(ends[0]), plot.height, "charged")
    plot.box(plot.x(ends[0]), 0, plot.x(ends[1]) - plot.x(ends[0]), plot.height, "reserved")
    return plot.svg(f"bar-{budget.account_id}", description, description, 'preserveAspectRatio="none" ')

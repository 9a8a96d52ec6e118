"""A release as a notebook shows it: what is promised, what it cost, and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphveil.pages.numbers import ends
from graphveil.pages.svg import Plot, n, shape

DRAWN_NODES = 150
"""Larger graphs are shown by their degrees."""
SIDE = 260
INK, FAINT = "#3b6ea8", "#9aa7b5"
LOOKS = {
    "edge": f'stroke="{FAINT}" stroke-width="0.7" opacity="0.7"',
    "node": f'fill="{INK}"',
    "axis": f'stroke="{FAINT}"',
    "grid": f'stroke="{FAINT}" opacity="0.4"',
    "line": f'fill="none" stroke="{INK}" stroke-width="2"',
    "tick": f'font-size="11" fill="{FAINT}"',
}


def of_release(report: Mapping[str, Any], graph: Any) -> str:
    """Write the HTML: guarantee and cost beside the picture of the engine's ``graph``."""
    guarantee, provenance, statistics = report["guarantee"], report["provenance"], report["statistics"]
    edges = ", ".join(f"{each['edges']:,} {escape(each['name'])}" for each in statistics["edge_types"][:6])
    rows = [
        ("guarantee", escape(guarantee["statement"])),
        ("cost", _cost(guarantee)),
        ("method", f"{escape(provenance['method'])}: {escape(provenance['method_title'])}"),
        ("edges", edges),
        *_paid(report["totals"]),
    ]
    if provenance.get("chosen_because"):
        rows.insert(3, ("why", escape(provenance["chosen_because"])))
    told = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{name}</th>'
        f'<td style="text-align:left">{text}</td></tr>'
        for name, text in rows
    )
    return (
        '<div style="display:flex;gap:1.5em;align-items:flex-start;flex-wrap:wrap">'
        f'<table style="max-width:34em">{told}</table>{picture(graph)}</div>'
    )


def _paid(totals: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Tell where the true number of edges lies, of a few relations whose number was paid for."""
    edges = [each for each in totals if each["metric"] == "edges" and each["step"] is None][:6]
    told = ", ".join(
        f"{escape(each['edge_type'])} {ends(math.floor(each['low']), math.ceil(each['high']))}"
        for each in edges
    )
    return [("true edges, 95 %", told)] if told else []


def _cost(guarantee: Mapping[str, Any]) -> str:
    if guarantee["epsilon"] is None:
        return "no epsilon: there is no guarantee"
    delta = "" if guarantee["delta"] in (None, "0") else f", delta {guarantee['delta']}"
    return escape(f"epsilon {guarantee['epsilon']}{delta} of the unit {guarantee['unit']}")


def picture(graph: Any) -> str:
    """Draw a small graph of one node type, else how many nodes have each degree or more; inline SVG."""
    count = sum(table.count for table in graph.nodes.values())
    plot = _drawn(graph) if count <= DRAWN_NODES and len(graph.nodes) == 1 else _degrees(graph)
    size = f'width="{SIDE}" height="{SIDE}" '
    return plot.svg("picture", "the synthetic graph", "A drawing of it, or of its degrees.", size)


def _drawn(graph: Any) -> Plot:
    """Draw nodes and edges, placed by springs from a fixed start: the same picture for the same graph."""
    import networkx as nx

    made = nx.Graph()
    ((_, table),) = graph.nodes.items()
    made.add_nodes_from(range(table.count))
    for edges in graph.edges.values():
        made.add_edges_from(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    places = nx.spring_layout(made, seed=0)
    plot = Plot(SIDE, SIDE, left=8, right=8, top=8, bottom=8, looks=LOOKS)
    at = [(plot.x((x + 1) / 2), plot.y((1 - y) / 2)) for x, y in (places[node].tolist() for node in made)]
    plot.between(at, list(made.edges), "edge")
    dots = zip(at, made.degree, strict=True)
    plot.path("".join(shape("circle", *place, 2 + math.sqrt(degree)) for place, (_, degree) in dots), "node")
    return plot


def _degrees(graph: Any) -> Plot:
    """Draw, on logarithmic axes, how many nodes have each degree or more."""
    import numpy as np

    found = []
    for relation in graph.schema.edge_types:
        table = graph.edges[relation.name]
        for kind, column in ((relation.source, table.source), (relation.target, table.target)):
            found.append((kind, np.bincount(column, minlength=graph.nodes[kind].count)))
    degrees = np.concatenate(
        [sum(c for k, c in found if k == kind) for kind in dict.fromkeys(k for k, _ in found)]
    )
    degrees = np.sort(degrees[degrees > 0])[::-1]
    plot = Plot(SIDE, SIDE, left=44, right=24, bottom=34, looks=LOOKS)
    if not len(degrees):
        plot.text(SIDE / 2, SIDE / 2, "no edges")
        return plot
    values, last = np.unique(-degrees, return_index=True)
    values, nodes = -values, np.append(last[1:], len(degrees))
    most = [max(float(values[0]), 2), max(float(nodes[-1]), 2)]
    plot.bottom_axis([(0, "1"), (1, f"{int(values[0]):,}")], "degree, or more")
    plot.left_axis([(0, "1"), (1, f"{int(nodes[-1]):,}")])
    shares = zip(np.log(values) / math.log(most[0]), np.log(nodes) / math.log(most[1]), strict=True)
    plot.path("M" + "L".join(f"{n(plot.x(x))} {n(plot.y(y))}" for x, y in shares), "line")
    return plot

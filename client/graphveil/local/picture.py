"""A release as a notebook shows it: what is promised, what it cost, and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphveil.pages.numbers import ends

DRAWN_NODES = 150
"""Larger graphs are shown by their degrees."""
SIDE = 260
INK, FAINT = "#3b6ea8", "#9aa7b5"


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
    body = _drawn(graph) if count <= DRAWN_NODES and len(graph.nodes) == 1 else _degrees(graph)
    return (
        f'<svg viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" height="{SIDE}" role="img" '
        f'aria-label="the synthetic graph">{body}</svg>'
    )


def _drawn(graph: Any) -> str:
    """Draw nodes and edges, placed by springs from a fixed start: the same picture for the same graph."""
    import networkx as nx

    made = nx.Graph()
    ((_, table),) = graph.nodes.items()
    made.add_nodes_from(range(table.count))
    for edges in graph.edges.values():
        made.add_edges_from(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    places = nx.spring_layout(made, seed=0)
    low, high = 8.0, SIDE - 8.0
    at = {
        node: tuple(low + (high - low) * (float(each) + 1) / 2 for each in xy) for node, xy in places.items()
    }
    lines = "".join(
        f'<path d="M{at[u][0]:.1f} {at[u][1]:.1f}L{at[v][0]:.1f} {at[v][1]:.1f}" stroke="{FAINT}" '
        'stroke-width="0.7" opacity="0.7"/>'
        for u, v in made.edges
    )
    degrees = dict(made.degree)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + math.sqrt(degrees[node]):.1f}" fill="{INK}"/>'
        for node, (x, y) in at.items()
    )
    return lines + dots


def _degrees(graph: Any) -> str:
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
    if not len(degrees):
        return f'<text x="{SIDE / 2}" y="{SIDE / 2}" text-anchor="middle" font-size="12">no edges</text>'
    values, last = np.unique(-degrees, return_index=True)
    values, nodes = -values, np.append(last[1:], len(degrees))
    left, bottom, width = 36, SIDE - 34, SIDE - 46
    most, all_nodes = math.log(max(float(values[0]), 2)), math.log(max(float(nodes[-1]), 2))
    points = "L".join(
        f"{left + width * math.log(v) / most:.1f} {bottom - (bottom - 10) * math.log(n) / all_nodes:.1f}"
        for v, n in zip(values.tolist(), nodes.tolist(), strict=True)
    )
    style = f'font-size="11" fill="{FAINT}"'
    return (
        f'<path d="M{left} 10V{bottom}H{left + width}" fill="none" stroke="{FAINT}"/>'
        f'<path d="M{points}" fill="none" stroke="{INK}" stroke-width="2"/>'
        f'<text x="{left}" y="{bottom + 14}" {style}>1</text>'
        f'<text x="{left + width}" y="{bottom + 14}" text-anchor="end" {style}>{int(values[0]):,}</text>'
        f'<text x="{left + width / 2}" y="{bottom + 28}" text-anchor="middle" {style}>degree, or more</text>'
        f'<text x="{left - 4}" y="16" text-anchor="end" {style}>{int(nodes[-1]):,}</text>'
        f'<text x="{left - 4}" y="{bottom}" text-anchor="end" {style}>1</text>'
    )

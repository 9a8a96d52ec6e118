"""The layout of a graph's nodes, for reports: of a small one's, or of some of a large one's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph

MAX_NODES, MAX_EDGES = 256, 1024
PART_NODES, PART_EDGES = 128, 400
"""Of a graph that nobody could read as a whole: so many of its nodes, and of the edges between them."""
ROUNDS = 200
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
Ends = Sequence[tuple[np.ndarray, np.ndarray]]
"""Both ends of every edge of a relation, numbered over all node types."""


def draw(graph: Graph) -> dict[str, Any] | None:
    """Lay out all steps and relations as one graph.

    Returned are the fields of ``core.reports.statistics.Drawing``; None where there is no node. Above
    ``MAX_NODES`` nodes or ``MAX_EDGES`` different pairs it is the part of the nodes with most edges. Nodes
    stand type after type, without ids. Reads only ``graph`` and uses no randomness: equal graphs give equal
    drawings. O(edges + rounds * n^2) with n nodes drawn.
    """
    names = [name for name, table in graph.nodes.items() if table.count]
    counts = [graph.nodes[name].count for name in names]
    total = sum(counts)
    if total == 0:
        return None
    starts = dict(zip(names, np.cumsum([0, *counts[:-1]]), strict=True))
    ends = [
        (graph.edges[t.name].source + starts[t.source], graph.edges[t.name].target + starts[t.target])
        for t in graph.schema.edge_types
        if graph.edges[t.name].count
    ]
    shown, large = np.arange(total), total > MAX_NODES
    if not large:
        view = _between(shown, ends, total)
        # Few nodes may still have more pairs than an eye can follow.
        large = view.edge_count > MAX_EDGES
    if large:
        shown = _most_linked(ends, total)
        view = _between(shown, ends, total)
    kept = np.arange(view.edge_count)
    if large and len(kept) > PART_EDGES:
        # Evenly among them: a drawing uses no randomness.
        kept = np.linspace(0, len(kept) - 1, PART_EDGES).astype(np.int64)
    u, v = view.u[kept], view.v[kept]
    places = layout(len(shown), u, v)
    kinds = np.repeat(np.arange(len(names)), counts)[shown]
    return {
        "nodes": [
            {"type": names[kind], "x": x, "y": y}
            for kind, (x, y) in zip(kinds, places.round(4).tolist(), strict=True)
        ],
        "edges": np.stack([u, v], axis=1).tolist(),
        "part_of": total if large else None,
    }


def _most_linked(ends: Ends, nodes: int) -> np.ndarray:
    """Choose the nodes with most edges, int64 ascending; each step's edge counts."""
    degrees = np.zeros(nodes, dtype=np.int64)
    for each in ends:
        for side in each:
            degrees += np.bincount(side, minlength=nodes)
    return np.sort(np.argsort(-degrees, kind="stable")[:PART_NODES])


def _between(shown: np.ndarray, ends: Ends, nodes: int) -> UndirectedView:
    """View the edges between the nodes that are shown, numbered by their places among them."""
    number = np.full(nodes, -1)
    number[shown] = np.arange(len(shown))
    found = [np.empty((2, 0), dtype=np.int64)]
    for source, target in ends:
        inside = (number[source] >= 0) & (number[target] >= 0)
        found.append(np.stack([number[source[inside]], number[target[inside]]]))
    return UndirectedView.of_pairs(len(shown), *np.concatenate(found, axis=1))


def layout(nodes: int, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Place nodes in the unit square by spring forces.

    The result is float64 (nodes, 2); the forces have a pull to the centre. Fruchterman and Reingold (1991),
    from a spiral in which nodes of high degree stand inside; the pull keeps components together, and the
    spiral keeps nodes without an edge in a ring around them. O(ROUNDS * n^2).
    """
    degrees = np.bincount(u, minlength=nodes) + np.bincount(v, minlength=nodes)
    linked = degrees > 0
    # The place of each node by falling degree.
    order = np.argsort(np.argsort(-degrees, kind="stable"), kind="stable")
    radius = np.sqrt((order + 0.5) / nodes)
    # Steps of the golden angle fill a disc evenly (Vogel's spiral).
    angle = order * _GOLDEN_ANGLE
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    if linked.sum() > 1:
        index = np.cumsum(linked) - 1
        places[linked] = _spring(places[linked], index[u], index[v])
        alone = ~linked
        turn = 2 * np.pi * np.arange(alone.sum()) / max(alone.sum(), 1)
        far = 1.15 * np.abs(np.linalg.norm(places[linked], axis=1)).max()
        places[alone] = far * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    low, high = places.min(axis=0), places.max(axis=0)
    width = max(float((high - low).max()), 1e-9)
    inside: np.ndarray = np.clip((places - (low + high) / 2) / width + 0.5, 0.0, 1.0)
    return inside


def _spring(start: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    n = len(start)
    places = start[:, 0] + 1j * start[:, 1]
    ideal = 1.6 / np.sqrt(n)
    for step in range(ROUNDS):
        gap = places[:, None] - places[None, :]
        # Nodes that lie upon each other have no direction: a floor in place of a division by 0.
        squared = np.maximum(gap.real**2 + gap.imag**2, 1e-6)
        force = ideal**2 * (gap / squared).sum(axis=1)
        along = places[u] - places[v]
        pull = along * np.abs(along) / ideal
        np.subtract.at(force, u, pull)
        np.add.at(force, v, pull)
        force -= places  # towards the centre: components would drift apart
        length = np.maximum(np.abs(force), 1e-9)
        # The step shrinks by round, so that forces come to rest.
        most = 0.12 * (1 - step / ROUNDS) + 1e-3
        places = places + force * (np.minimum(length, most) / length)
    return np.stack([places.real, places.imag], axis=1)

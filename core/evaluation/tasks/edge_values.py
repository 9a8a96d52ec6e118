"""Prediction of edge values from neighbouring edges.

It measures whether the release tells which edges carry what: values by what their ends' other edges carry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.evaluation.attacks.scoring import auc
from core.evaluation.tasks.entry import task_entry
from core.graphs.columns.tables import EdgeTable
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.views.records import each_alone

NAME = "edge_values"
FEWEST = 20
"""Edges on either side, at least."""
MOST_EDGES = 50_000_000

DEFINITION = (
    "Of every attribute that edges carry in both graphs. Told is whether an edge's value is below 0 where "
    "the declared bounds lie on both sides of it, else whether it is above the original's median (at it, "
    "where nothing is above); of categories whether it is the original's most frequent one. A node's effect "
    "is the share of such edges among those at it (as source and as target apart, where the relation is "
    "directed), drawn towards all edges' share by one edge's weight; the sum of both ends' effects ranks the "
    "original's edges. Learned from the original, an edge's own value is left out of its ends' effects."
)
_TOO_LARGE = f"A graph has more than {MOST_EDGES} edges in this relation."
_ALIKE = f"Fewer than {FEWEST} edges of the original have such a value, or have another."
_EMPTY = "The synthetic graph has no edge in this relation."


def edge_values(original: Graph, synthetic: Graph, relation: EdgeType) -> list[dict[str, Any]]:
    """Measure Task fields of every attribute, by ``auc``.

    They are the report's Task; often there are none. O(m).
    """
    ours, theirs = (each_alone(graph.edges[relation.name]) for graph in (original, synthetic))
    if ours.values is None or theirs.values is None:
        return []
    held = [
        each
        for each in relation.attributes
        if each.name in ours.values.columns and each.name in theirs.values.columns
    ]
    counts = original.nodes[relation.source].count, original.nodes[relation.target].count
    apart = relation.directed or not relation.homogeneous
    return [_entry(ours, theirs, relation.name, each, counts, apart) for each in held]


def _entry(
    ours: EdgeTable,
    theirs: EdgeTable,
    relation: str,
    attribute: EdgeAttribute,
    counts: tuple[int, int],
    apart: bool,
) -> dict[str, Any]:
    title, subject = "What edges carry, told by both ends", f"{relation}.{attribute.name}"
    entry = task_entry(NAME, title, DEFINITION, subject, "auc", baseline=0.5)
    if max(ours.count, theirs.count) > MOST_EDGES:
        return entry | {"not_run": _TOO_LARGE}
    if not theirs.count:
        return entry | {"not_run": _EMPTY}
    columns = [np.asarray(each.values.columns[attribute.name]) for each in (ours, theirs) if each.values]
    # Both are divided where the original's values are, so that both models answer one question.
    truth, drawn = (
        _counting_edges(attribute, columns[0], columns[0]),
        _counting_edges(attribute, columns[0], columns[1]),
    )
    if min(truth.sum(), len(truth) - truth.sum()) < FEWEST:
        return entry | {"not_run": _ALIKE}
    effects = _Effects(theirs, drawn, counts, apart), _Effects(ours, truth, counts, apart)
    by_synthetic, by_own = effects[0].scores(ours), effects[1].scores(ours, truth)
    entry["trained_on_synthetic"] = auc(by_synthetic[truth], by_synthetic[~truth])["value"]
    entry["trained_on_original"] = auc(by_own[truth], by_own[~truth])["value"]
    return entry


def _counting_edges(attribute: EdgeAttribute, original: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Tell which edges count: by a rule that the declaration and the original's values make."""
    if not len(original):
        return np.zeros(len(column), dtype=bool)
    if attribute.categories is not None:
        common: np.ndarray = column == np.bincount(original.astype(np.int64)).argmax()
        return common
    low, high = attribute.range
    if low < 0 < high:
        return column < 0
    middle = np.median(original)
    above: np.ndarray = column > middle if (original > middle).any() else column >= middle
    return above


class _Effects:
    """How often each node's edges count: by side, or both sides together."""

    def __init__(self, table: EdgeTable, told: np.ndarray, counts: tuple[int, int], apart: bool) -> None:
        self._mean = float(told.mean())
        ends = [(table.source, counts[0]), (table.target, counts[1])]
        found = [
            (np.bincount(nodes, weights=told, minlength=count), np.bincount(nodes, minlength=count))
            for nodes, count in ends
        ]
        if not apart:
            found = [(found[0][0] + found[1][0], found[0][1] + found[1][1])] * 2
        self._found = found

    def scores(self, table: EdgeTable, without: np.ndarray | None = None) -> np.ndarray:
        """Add the effects of both ends of every edge; ``without`` the edge's own, where it was counted."""
        own, one = (0.0, 0) if without is None else (without.astype(np.float64), 1)
        total = np.zeros(table.count)
        for (sums, counts), nodes in zip(self._found, (table.source, table.target), strict=True):
            # Without the edge's own value, drawn to the mean by the weight of one edge.
            total += (sums[nodes] - own + self._mean) / (counts[nodes] - one + 1)
        return total

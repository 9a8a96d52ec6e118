"""The overlap of a synthetic graph's edges with the original's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from core.evaluation.whole.layers import Layer
from core.graphs.graph import Cell, Graph
from core.graphs.schema import EdgeType


def overlap_rate(original: Layer, synthetic: Layer) -> float | None:
    """Compute THEPUFF's EO-Rate of one step (Eq. 22): shared pairs / pairs of the synthetic graph.

    Pairs are undirected and untyped, as in the published figures; public relations count. None without edges.
    """
    n = original.layout.node_count
    ours, theirs = (layer.view.u * n + layer.view.v for layer in (original, synthetic))
    if not len(theirs):
        return None
    return len(np.intersect1d(ours, theirs, assume_unique=True)) / len(theirs)


def _keys(cell: Cell) -> np.ndarray:
    keys: np.ndarray = cell.source.astype(np.int64) * max(cell.target_count, 1) + cell.target
    return keys


def edge_overlap(
    original: Graph, synthetic: Graph, relations: Iterable[EdgeType], steps: Sequence[int | None]
) -> float | None:
    """Compute the share of synthetic edges in the original.

    They are the protected ones, each counted once. An edge is a relation, its two ends as stored and its
    step; untimed edges count once, not in every step. None where the synthetic graph has no protected edge.
    O(m).
    """
    shared = total = 0
    for edge_type in relations:
        if edge_type.public:
            continue
        for step in steps if edge_type.temporal else (None,):
            ours, theirs = (_keys(graph.cell(edge_type.name, step)) for graph in (original, synthetic))
            shared += len(np.intersect1d(ours, theirs, assume_unique=True))
            total += len(theirs)
    return shared / total if total else None

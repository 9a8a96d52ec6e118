"""Clustering coefficients, exact."""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import UndirectedView

SCALARS = (
    Metric(
        "triangles", "Triangles", "Number of triangles (THEPUFF's and DPGGAN's TC).", "clustering", grows=1
    ),
    Metric(
        "transitivity", "Transitivity", "3 triangles / connected triples; 0 without triples.", "clustering"
    ),
    Metric(
        "mean_local_clustering",
        "Mean local clustering",
        "Mean of every node's clustering coefficient over the whole universe; 0 below degree 2.",
        "clustering",
    ),
)


def triangles(view: UndirectedView) -> np.ndarray:
    """Count triangles through every node, int64, exact; O(m * arboricity)."""
    from core.evaluation.utility import _triangles

    order = np.argsort(view.degrees, kind="stable")
    rank = np.empty(view.node_count, dtype=np.int32)
    rank[order] = np.arange(view.node_count, dtype=np.int32)
    return _triangles.through(view.node_count, view.u, view.v, rank)[rank]


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``triangles``, ``transitivity`` and ``mean_local_clustering``; None for a bipartite relation.

    Transitivity = 3 triangles / connected triples, 0 without triples. The mean local coefficient runs over
    the whole universe; a node of degree below 2 counts as 0 (as in NetworkX).
    """
    if view.bipartite:
        return {"triangles": None, "transitivity": None, "mean_local_clustering": None}
    through = view.once(triangles)
    wedges = view.degrees * (view.degrees - 1) // 2
    total = int(wedges.sum())
    local = through / np.maximum(wedges, 1)
    return {
        "triangles": int(through.sum()) // 3,
        "transitivity": int(through.sum()) / total if total else 0.0,
        "mean_local_clustering": float(local.mean()) if len(local) else 0.0,
    }

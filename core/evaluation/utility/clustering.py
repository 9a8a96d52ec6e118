"""Clustering coefficients, exact."""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import UndirectedView
from core.late import late

_through = late("core.evaluation.utility._triangles:through")

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
DISTANCES = (
    Metric(
        "clustering_by_degree",
        "Clustering by degree, mean difference",
        "Mean |difference| of both graphs' mean local clustering among nodes of degree 2-3, 4-7, 8-15 and so "
        "on, weighted by the original's nodes in each; a graph without such nodes counts as 0 there. "
        "Undefined where the original has none of degree 2.",
        "clustering",
        Suite.STANDARD,
        "lower",
    ),
)


def triangles(view: UndirectedView) -> np.ndarray:
    """Count triangles through every node, int64, exact; O(m * arboricity)."""
    order = np.argsort(view.degrees, kind="stable")
    rank = np.empty(view.node_count, dtype=np.int32)
    rank[order] = np.arange(view.node_count, dtype=np.int32)
    counts: np.ndarray = _through(view.node_count, view.u, view.v, rank)
    return counts[rank]


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``triangles``, ``transitivity`` and ``mean_local_clustering``; None for a bipartite relation.

    Transitivity = 3 triangles / connected triples, 0 without triples. The mean local coefficient runs over
    the whole universe; a node of degree below 2 counts as 0 (as in NetworkX).
    """
    if view.bipartite:
        return {"triangles": None, "transitivity": None, "mean_local_clustering": None}
    through, local = view.once(triangles), view.once(coefficients)
    total = int(view.once(wedges).sum())
    return {
        "triangles": int(through.sum()) // 3,
        "transitivity": int(through.sum()) / total if total else 0.0,
        "mean_local_clustering": float(local.mean()) if len(local) else 0.0,
    }


def wedges(view: UndirectedView) -> np.ndarray:
    """Count the pairs of neighbours of every node."""
    pairs: np.ndarray = view.degrees * (view.degrees - 1) // 2
    return pairs


def coefficients(view: UndirectedView) -> np.ndarray:
    """Compute every node's clustering coefficient; 0 below degree 2."""
    local: np.ndarray = view.once(triangles) / np.maximum(view.once(wedges), 1)
    return local


def by_degree(view: UndirectedView) -> tuple[np.ndarray, np.ndarray]:
    """Count nodes of degree 2-3, 4-7, ... and average their coefficients; 0 where there are none."""
    some = view.degrees >= 2
    # Degree 2-3 is bin 0.
    bins = np.log2(view.degrees[some]).astype(np.int64) - 1
    nodes = np.bincount(bins)
    return nodes, np.bincount(bins, view.once(coefficients)[some]) / np.maximum(nodes, 1)


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``clustering_by_degree``. None for a bipartite relation, or without degrees of 2."""
    if original.bipartite or not (original.degrees >= 2).any():
        return {"clustering_by_degree": None}
    (nodes, ours), (_, theirs) = (view.once(by_degree) for view in (original, synthetic))
    # A degree that only the original has counts as 0 in the other graph.
    theirs = np.pad(theirs[: len(ours)], (0, max(len(ours) - len(theirs), 0)))
    return {"clustering_by_degree": float(np.average(np.abs(ours - theirs), weights=nodes))}

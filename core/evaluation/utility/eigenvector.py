"""Eigenvector centrality and the leading eigenvalue.

They measure the eigenvalue, and whether both graphs have the same top 1 % of nodes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as spl

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import UndirectedView

SCALARS = (
    Metric(
        "spectral_radius",
        "Spectral radius",
        "Largest eigenvalue of the adjacency matrix, directions dropped: one over the epidemic threshold.",
        "centrality",
        Suite.STANDARD,
    ),
)
DISTANCES = (
    Metric(
        "top_eigenvector_overlap",
        "Top 1 % overlap",
        "Share of the top floor(0.01 n) nodes by eigenvector centrality that both graphs have (PSGraph).",
        "centrality",
        better="higher",
        same_nodes=True,
    ),
    Metric(
        "eigenvector_mae",
        "Top 1 % centralities, mean absolute error",
        "Both graphs' eigenvector centralities (2-norm 1) sorted each on its own, largest first: mean "
        "|difference| of the first floor(0.01 n), at least one (PrivGraph, PGB). Ranks, not nodes.",
        "centrality",
        Suite.STANDARD,
        "lower",
        same_nodes=True,
    ),
)

TOLERANCE = 1e-10
MAX_ITERATIONS = 3000
# Scores that agree to this many digits of the largest are ties: rounding must not choose between twins.
DIGITS = 7
DENSE = 32  # nodes at most of a graph whose adjacency is decomposed whole


def leading(view: UndirectedView) -> np.ndarray | None:
    """Compute the adjacency's leading eigenvector, 2-norm 1.

    None without nodes or where Lanczos fails. Reached from the all-ones vector, as power iteration would: all
    equal for a graph without edges. Beyond DENSE nodes, where two eigenvalues are equal, as of two components
    alike, any vector of their space may come out. About 50 sparse products, O(m) each.
    """
    n = view.node_count
    if n == 0:
        return None
    if n <= DENSE:
        values, vectors = np.linalg.eigh(view.adjacency.toarray())
        # The projection of ones onto the leading eigenspace: unique even where the eigenvalue is multiple.
        space = vectors[:, values > values[-1] - 1e-9 * max(values[-1], 1.0)]
        scores = space @ (space.T @ np.ones(n))
    elif view.edge_count == 0:
        scores = np.ones(n)
    else:
        try:
            start = np.full(n, 1 / np.sqrt(n))
            _, vectors = spl.eigsh(
                view.adjacency, k=1, which="LA", v0=start, tol=TOLERANCE, maxiter=MAX_ITERATIONS
            )
        except spl.ArpackNoConvergence:
            return None
        scores = vectors[:, 0]
    unit: np.ndarray = np.abs(scores) / np.linalg.norm(scores)
    return unit


def centrality(view: UndirectedView) -> np.ndarray | None:
    """Scale :func:`leading` to a largest score of 1.

    It is rounded to 7 digits; zeros for a graph without edges.
    """
    if view.edge_count == 0:
        return np.zeros(view.node_count)
    scores = view.once(leading)
    return None if scores is None else np.round(scores / scores.max(), DIGITS)


def top(scores: np.ndarray) -> np.ndarray:
    """Choose the floor(0.01 n) highest scores, at least one.

    Returned are indices; ties go to the lower index. A node of score 0 is never among them: it would be
    chosen only by its index.
    """
    best = np.argsort(-scores, kind="stable")[: size(len(scores))]
    return best[scores[best] > 0]


def size(node_count: int) -> int:
    """Count the nodes of the top 1 %: at least one."""
    return max(1, node_count // 100)


def overlap(ours: np.ndarray | None, theirs: np.ndarray | None) -> float | None:
    """Compute the share of the top nodes by both scores. None where one is, or where no node scores."""
    if ours is None or theirs is None:
        return None
    a, b = top(ours), top(theirs)
    larger = max(len(a), len(b))
    return len(np.intersect1d(a, b)) / larger if larger else None


def _error(original: UndirectedView, synthetic: UndirectedView) -> float | None:
    scores = original.once(leading), synthetic.once(leading)
    if scores[0] is None or scores[1] is None:
        return None
    a, b = (np.sort(-vector)[: size(len(vector))] for vector in scores if vector is not None)
    return float(np.abs(a - b).mean())


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``spectral_radius``: 0 without edges, None where Lanczos fails."""
    if not view.edge_count:
        return {"spectral_radius": 0.0}
    vector = view.once(leading)
    # The Rayleigh quotient of a vector of length 1.
    return {"spectral_radius": None if vector is None else float(vector @ (view.adjacency @ vector))}


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``top_eigenvector_overlap`` and ``eigenvector_mae``.

    None where a centrality did not converge. The overlap is the share of the original's top nodes that are
    the synthetic's too, divided by the larger of both sets; None where both are empty. Both graphs have the
    same number of nodes.
    """
    return {
        "top_eigenvector_overlap": overlap(*(view.once(centrality) for view in (original, synthetic))),
        "eigenvector_mae": _error(original, synthetic),
    }

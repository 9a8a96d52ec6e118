"""Overlap of the top 1 % of nodes by eigenvector centrality."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as spl

from core.evaluation.view import UndirectedView

SHARE = 0.01
TOLERANCE = 1e-10
MAX_ITERATIONS = 3000
# Scores that agree to this many digits of the largest are ties: rounding must not choose between twins.
DIGITS = 7
_DENSE = 32


def centrality(view: UndirectedView) -> np.ndarray | None:
    """Eigenvector centrality, largest score 1, rounded to 7 digits; None if Lanczos did not converge.

    The leading eigenvector of the adjacency reached from the all-ones vector, as power iteration would;
    zeros for a graph without edges. About 50 sparse products, O(m) each.
    """
    n = view.node_count
    if view.edge_count == 0:
        return np.zeros(n)
    if n <= _DENSE:
        values, vectors = np.linalg.eigh(view.adjacency.toarray())
        # The projection of ones onto the leading eigenspace: unique even where the eigenvalue is multiple.
        leading = vectors[:, values > values[-1] - 1e-9 * max(values[-1], 1.0)]
        scores = leading @ (leading.T @ np.ones(n))
    else:
        try:
            start = np.full(n, 1 / np.sqrt(n))
            _, vectors = spl.eigsh(
                view.adjacency, k=1, which="LA", v0=start, tol=TOLERANCE, maxiter=MAX_ITERATIONS
            )
        except spl.ArpackNoConvergence:
            return None
        scores = vectors[:, 0]
    scores = np.abs(scores)
    return np.round(scores / scores.max(), DIGITS)


def top(scores: np.ndarray) -> np.ndarray:
    """Indices of the floor(0.01 n) highest scores, at least one; ties go to the lower index.

    A node of score 0 is never among them: it would be chosen by its index alone.
    """
    size = max(1, int(len(scores) * SHARE))
    best = np.argsort(-scores, kind="stable")[:size]
    return best[scores[best] > 0]


def overlap(original: UndirectedView, synthetic: UndirectedView) -> dict[str, float | None]:
    """``top_eigenvector_overlap``: the share of the original's top nodes found in the synthetic's.

    Divided by the larger of both sets; None where both are empty or a centrality did not converge.
    """
    scores = centrality(original), centrality(synthetic)
    if scores[0] is None or scores[1] is None:
        return {"top_eigenvector_overlap": None}
    a, b = top(scores[0]), top(scores[1])
    size = max(len(a), len(b))
    return {"top_eigenvector_overlap": len(np.intersect1d(a, b)) / size if size else None}

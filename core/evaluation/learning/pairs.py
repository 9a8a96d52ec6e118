"""Pairs of nodes to learn from, and embedding scores. They are links with non-links."""

from __future__ import annotations

import numpy as np

from core.evaluation.attacks.negatives import uniform
from core.evaluation.attacks.pairs import contains, pair_keys
from core.evaluation.learning.limits import room
from core.evaluation.view import UndirectedView
from core.privacy.entropy import Generator


def without(view: UndirectedView, u: np.ndarray, v: np.ndarray) -> UndirectedView:
    """Remove the pairs (u, v) that the view links. Sides and nodes stay. O(m log m)."""
    barred = np.sort(pair_keys(view.node_count, u, v))
    kept = ~contains(barred, pair_keys(view.node_count, view.u, view.v))
    links = view.u[kept], view.v[kept]
    sides: dict[str, np.ndarray] = {}  # of a relation, not of a part of its links
    return UndirectedView(
        view.node_count, *links, view.bipartite, view.source_count, len(links[0]), room(view), sides
    )


def training_pairs(
    view: UndirectedView, limit: int, rng: Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sample links and as many non-links, shuffled.

    Returned is ``(u, v, label)``: at most ``limit`` links, without replacement. Fewer non-links where the
    graph has no more.
    """
    chosen = rng.permutation(view.edge_count)[:limit]
    u, v = uniform(view, len(chosen), rng)
    label = np.arange(len(chosen) + len(u)) < len(chosen)
    order = rng.permutation(len(label))
    return np.append(view.u[chosen], u)[order], np.append(view.v[chosen], v)[order], label[order]


def cosine(embedding: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Compute the cosine similarity of each pair's rows.

    The result is float64; 0 where a row is zero. O(n d + k d).
    """
    norms = np.linalg.norm(embedding, axis=1)
    unit = embedding / np.where(norms > 0, norms, 1)[:, None]
    cosines: np.ndarray = np.einsum("ij,ij->i", unit[u], unit[v]).astype(np.float64)
    return cosines

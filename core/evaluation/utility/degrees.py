"""Degree distributions over the whole universe: nodes without an edge count at degree 0."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from core.evaluation.utility.relative import mean
from core.graphs.graph import Cell

# The double-precision epsilon: stands inside the logarithm, on both sides, so that an empty bin is finite.
KL_FLOOR = 2.2e-16


def sides(cell: Cell) -> dict[str, np.ndarray]:
    """The degree vectors that a relation has, int64, one entry per node of the side's universe.

    Undirected within one node type: ``degree``. Directed within one type: ``out`` and ``in``.
    Between two types: ``source`` and ``target``. O(n + m).
    """
    source = np.bincount(cell.source, minlength=cell.source_count)
    target = np.bincount(cell.target, minlength=cell.target_count)
    if not cell.edge_type.homogeneous:
        return {"source": source, "target": target}
    return {"out": source, "in": target} if cell.edge_type.directed else {"degree": source + target}


def shares(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both degree vectors as shares of nodes per degree 0, 1, ..., padded to the longer one."""
    length = int(max(a.max(initial=0), b.max(initial=0))) + 1
    p, q = np.bincount(a, minlength=length), np.bincount(b, minlength=length)
    return p / max(len(a), 1), q / max(len(b), 1)


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """``1/2 sum |p - q|``, in [0, 1]."""
    return float(np.abs(p - q).sum() / 2)


def kolmogorov_smirnov(p: np.ndarray, q: np.ndarray) -> float:
    """Largest gap between the two cumulative distributions, in [0, 1]."""
    return float(np.abs(np.cumsum(p) - np.cumsum(q)).max(initial=0.0))


def kl_divergence(p: np.ndarray, q: np.ndarray) -> float:
    """``sum p ln((p + 2.2e-16) / (q + 2.2e-16))``: original against synthetic, in nats.

    A degree that only the original has weighs about 36 nats times its share, so read it next to the others.
    """
    return float(np.sum(p * np.log((p + KL_FLOOR) / (q + KL_FLOOR))))


def distances(original: Cell, synthetic: Cell) -> dict[str, float | None]:
    """Total variation, Kolmogorov-Smirnov and KL of the degree distributions; means over the sides."""
    theirs = sides(synthetic)
    pairs = [shares(ours, theirs[name]) for name, ours in sides(original).items()]
    return {
        "degree_total_variation": mean([total_variation(p, q) for p, q in pairs]),
        "degree_kolmogorov_smirnov": mean([kolmogorov_smirnov(p, q) for p, q in pairs]),
        "degree_kl_divergence": mean([kl_divergence(p, q) for p, q in pairs]),
    }


def summary(degrees: np.ndarray) -> dict[str, float | int]:
    """Mean, variance (divisor n), median, largest degree and the number of nodes without an edge."""
    return {
        "mean": float(degrees.mean()) if len(degrees) else 0.0,
        "variance": float(degrees.var()) if len(degrees) else 0.0,
        "median": float(np.median(degrees)) if len(degrees) else 0.0,
        "maximum": int(degrees.max(initial=0)),
        "isolated": int(np.count_nonzero(degrees == 0)),
    }


def doubling_bins(counts: np.ndarray) -> list[dict[str, float]]:
    """A degree histogram in bins 0, 1, 2-3, 4-7, ...: at most about 30 rows whatever the graph.

    ``counts[d]`` is the (mean) number of nodes of degree d.
    """
    if not counts.any():
        return []
    last = int(np.flatnonzero(counts)[-1])
    edges = [0, 1]
    while edges[-1] <= last:
        edges.append(edges[-1] * 2)
    return [
        {"low": low, "high": high - 1, "nodes": float(counts[low:high].sum())}
        for low, high in pairwise(edges)
    ]

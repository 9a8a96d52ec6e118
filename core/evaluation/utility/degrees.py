"""Degree distributions over the whole universe: nodes without an edge count at degree 0."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.utility.relative import mean_by_name
from core.evaluation.view import UndirectedView

# The double-precision epsilon: stands inside the logarithm, on both sides, so that an empty bin is finite.
KL_FLOOR = 2.2e-16

DISTANCES = (
    Metric(
        "degree_total_variation",
        "Degree distribution, total variation",
        "Half the sum of |differences| of the degree distributions; mean over the sides.",
        "degree",
        better="lower",
    ),
    Metric(
        "degree_kolmogorov_smirnov",
        "Degree distribution, Kolmogorov-Smirnov",
        "Largest gap between the cumulative degree distributions; mean over the sides.",
        "degree",
        better="lower",
    ),
    Metric(
        "degree_kl_divergence",
        "Degree distribution, KL divergence",
        "sum p ln((p + 2.2e-16)/(q + 2.2e-16)), original against synthetic, in nats: an empty bin weighs "
        "about 36 nats times its share.",
        "degree",
        better="lower",
    ),
    Metric(
        "degree_cosine_50",
        "Degree histogram, cosine",
        "Cosine of both histograms of nodes by degree 0, 1, ..., 48 and 49 or more; mean over the sides "
        "(DPGGAN's 50 bins; its published loop leaves out the largest degree of each graph).",
        "degree",
        better="higher",
    ),
)
# Of the cosine's histogram; the last bin holds all higher degrees.
BINS = 50


def shares(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert both degree vectors to shares of nodes per degree 0, 1, ..., padded to the longer one."""
    length = int(max(a.max(initial=0), b.max(initial=0))) + 1
    p, q = np.bincount(a, minlength=length), np.bincount(b, minlength=length)
    return p / max(len(a), 1), q / max(len(b), 1)


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Compute ``1/2 sum |p - q|``, in [0, 1]."""
    return float(np.abs(p - q).sum() / 2)


def kolmogorov_smirnov(p: np.ndarray, q: np.ndarray) -> float:
    """Compute the largest gap between the two cumulative distributions, in [0, 1]."""
    return float(np.abs(np.cumsum(p) - np.cumsum(q)).max(initial=0.0))


def kl_divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Compute ``sum p ln((p + 2.2e-16) / (q + 2.2e-16))``: original against synthetic, in nats.

    A degree that only the original has weighs about 36 nats times its share, so read it next to the others.
    """
    return float(np.sum(p * np.log((p + KL_FLOOR) / (q + KL_FLOOR))))


def divergences(p: np.ndarray, q: np.ndarray, name: str) -> dict[str, float]:
    """Compute all three of two distributions, original first, under metric names that begin with ``name``."""
    return {
        f"{name}_total_variation": total_variation(p, q),
        f"{name}_kolmogorov_smirnov": kolmogorov_smirnov(p, q),
        f"{name}_kl_divergence": kl_divergence(p, q),
    }


def cosine(a: np.ndarray, b: np.ndarray) -> float | None:
    """Compare both degree vectors' histograms in 50 bins, in [0, 1]; None where either has no node."""
    x, y = (np.bincount(np.minimum(d, BINS - 1), minlength=BINS).astype(float) for d in (a, b))
    norms = float(np.sqrt((x @ x) * (y @ y)))
    return min(float(x @ y) / norms, 1.0) if norms else None


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute TV, KS and KL of the degree distributions and their histograms' cosine; means over sides."""
    pairs = [(ours, synthetic.sides[name]) for name, ours in original.sides.items()]
    rows: list[dict[str, float | None]] = [
        {**divergences(*shares(ours, theirs), "degree"), "degree_cosine_50": cosine(ours, theirs)}
        for ours, theirs in pairs
    ]
    return dict(mean_by_name(rows))


def summary(degrees: np.ndarray) -> dict[str, float | int]:
    """Compute mean, variance (divisor n), median, largest degree and the number of nodes without an edge."""
    return {
        "mean": float(degrees.mean()) if len(degrees) else 0.0,
        "variance": float(degrees.var()) if len(degrees) else 0.0,
        "median": float(np.median(degrees)) if len(degrees) else 0.0,
        "maximum": int(degrees.max(initial=0)),
        "isolated": int(np.count_nonzero(degrees == 0)),
    }


def mean_counts(histograms: list[np.ndarray]) -> np.ndarray:
    """Average the number of nodes per degree over several histograms, padded to the longest."""
    total = np.zeros(max(len(h) for h in histograms))
    for histogram in histograms:
        total[: len(histogram)] += histogram
    return total / len(histograms)


def _edges(last: int) -> list[int]:
    edges = [0, 1]
    while edges[-1] <= last:
        edges.append(edges[-1] * 2)
    return edges


def doubling_bins(counts: np.ndarray) -> list[dict[str, float]]:
    """Bin a degree histogram as 0, 1, 2-3, 4-7, ...: at most about 30 rows whatever the graph.

    ``counts[d]`` is the (mean) number of nodes of degree d.
    """
    if not counts.any():
        return []
    edges = _edges(int(np.flatnonzero(counts)[-1]))
    return [
        {"low": low, "high": high - 1, "nodes": float(counts[low:high].sum())}
        for low, high in pairwise(edges)
    ]


class Histograms:
    """Degree histograms of both graphs, gathered over the steps of one relation."""

    def __init__(self) -> None:
        self._counts: dict[str, list[list[np.ndarray]]] = {}

    def add(self, original: UndirectedView, synthetic: UndirectedView) -> None:
        for side in original.sides:
            for counts, view in zip(
                self._counts.setdefault(side, [[], []]), (original, synthetic), strict=True
            ):
                counts.append(np.bincount(view.sides[side]))

    def bins(self, factor: float = 1.0) -> list[dict[str, Any]]:
        """Bin, per side, the mean histograms of both graphs in one row of doubling bins.

        The original's are multiplied by ``factor``: the synthetic graph has so many times its nodes.
        """
        sides = []
        for side, gathered in self._counts.items():
            ours, theirs = (mean_counts(counts) for counts in gathered)
            rows = [
                {
                    "low": low,
                    "high": high - 1,
                    "original": float(ours[low:high].sum()) * factor,
                    "synthetic": float(theirs[low:high].sum()),
                }
                for low, high in pairwise(_edges(max(len(ours), len(theirs)) - 1))
            ]
            sides.append({"side": side, "bins": rows})
        return sides

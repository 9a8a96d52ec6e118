"""Rank agreement of degrees and centrality.

It measures whether the same nodes have many edges, and are central, in both graphs.
"""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.utility import eigenvector, relative
from core.evaluation.view import UndirectedView
from core.graphs.views.networkit import one_thread

DISTANCES = (
    Metric(
        "degree_spearman",
        "Degrees, rank correlation",
        "Spearman's correlation of the nodes' degrees in both graphs, ties at their mean rank; mean over the "
        "sides. Undefined where all degrees of a side are equal.",
        "centrality",
        Suite.STANDARD,
        "higher",
        same_nodes=True,
    ),
    Metric(
        "top_pagerank_overlap",
        "Top 1 % by PageRank, overlap",
        "Share of the top floor(0.01 n) nodes by PageRank (damping 0.85, directions dropped) that both "
        "graphs have, as of the top 1 % by eigenvector centrality.",
        "centrality",
        Suite.STANDARD,
        "higher",
        same_nodes=True,
    ),
)
DAMPING, TOLERANCE = 0.85, 1e-12
DIGITS = 7
"""PageRanks that agree to this many digits of the largest are ties."""


def spearman(a: np.ndarray, b: np.ndarray) -> float | None:
    """Correlate the ranks of two vectors; None where one is constant. O(n log n)."""
    ranks = [mean_ranks(values) for values in (a, b)]
    spread = [float(each.std()) if len(each) else 0.0 for each in ranks]
    if not min(spread):
        return None
    x, y = (each - each.mean() for each in ranks)
    return float(np.clip((x * y).mean() / (spread[0] * spread[1]), -1.0, 1.0))


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Rank values from 1 on, ties at their mean; scipy.stats has it, and takes a second to load."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def pagerank(view: UndirectedView) -> np.ndarray:
    """Compute every node's PageRank, the largest 1; zeros without edges. One thread, O(m) an iteration."""
    if not view.edge_count:
        return np.zeros(view.node_count)
    with one_thread() as nk:
        sinks = nk.centrality.SinkHandling.DistributeSinks
        found = nk.centrality.PageRank(view.networkit, DAMPING, TOLERANCE, distributeSinks=sinks)
        scores = np.asarray(found.run().scores())
    ranks: np.ndarray = np.round(scores / scores.max(), DIGITS)
    return ranks


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute rank correlation and PageRank overlap.

    The correlation is of degrees, the overlap of the top 1 % by PageRank.
    """
    pairs = [(ours, synthetic.sides[name]) for name, ours in original.sides.items()]
    return {
        "degree_spearman": relative.mean([spearman(*pair) for pair in pairs]),
        "top_pagerank_overlap": eigenvector.overlap(*(each.once(pagerank) for each in (original, synthetic))),
    }

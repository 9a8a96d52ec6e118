"""Motifs: counts of connected induced subgraphs by shape.

All 29 shapes of 3 to 5 nodes are counted. Exact up to public bounds on the work (``four``, ``five``), sampled
above them (``sampled``).
"""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric, Suite, Value, of_suite
from core.evaluation.utility.degrees import total_variation
from core.evaluation.utility.motifs.graphlets import GRAPHLETS, Graphlet, of_size
from core.evaluation.utility.relative import plain
from core.evaluation.view import UndirectedView
from core.late import late

SUITES = {3: Suite.STANDARD, 4: Suite.STANDARD, 5: Suite.FULL}


def _metric(graphlet: Graphlet) -> Metric:
    edges = ", ".join(f"{a}-{b}" for a, b in graphlet.edges)
    sampled = " Sampled, with a standard error, above a stated amount of work." if graphlet.size > 3 else ""
    return Metric(
        graphlet.name,
        graphlet.title,
        f"Number of sets of {graphlet.size} nodes whose induced subgraph is isomorphic to the edges {edges}, "
        f"directions dropped.{sampled}",
        "motifs",
        SUITES[graphlet.size],
        grows=1,
    )


def _shares(size: int) -> Metric:
    return Metric(
        f"motif_total_variation_{size}",
        f"Motifs on {size} nodes, total variation",
        f"Half the sum of |differences| of the shares of the {len(of_size(size))} shapes among all connected "
        f"induced subgraphs on {size} nodes; undefined where a graph has none.",
        "motifs",
        SUITES[size],
        better="lower",
    )


SCALARS = tuple(_metric(graphlet) for graphlet in GRAPHLETS)
DISTANCES = (
    _shares(4),
    _shares(5),
    Metric(
        "motif_cosine",
        "Motif counts, cosine similarity",
        "Cosine of the vectors of all 29 induced counts (DPGGAN, Table 2); the most frequent shapes decide. "
        "Undefined where a graph has no path of two edges.",
        "motifs",
        Suite.FULL,
        better="higher",
    ),
)


COUNTS = {
    3: late("core.evaluation.utility.motifs.by_size:on_three"),
    4: late("core.evaluation.utility.motifs.by_size:on_four"),
    5: late("core.evaluation.utility.motifs.by_size:on_five"),
}


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute all counts that ``suite`` includes. A bipartite relation is counted too, without odd cycles."""
    counts: dict[str, Value] = {}
    for size in sorted({graphlet.size for graphlet in GRAPHLETS}):
        if suite.includes(SUITES[size]):
            counts |= view.once(COUNTS[size])
    return counts


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute distances between two graphs' motif counts.

    They are the total variation of the shares of a size's shapes, and the cosine of all counts.
    """
    vectors = {
        size: [_vector(view, size) for view in (original, synthetic)]
        for size in SUITES
        if suite.includes(SUITES[size])
    }
    values: dict[str, Value] = {}
    for metric in of_suite(DISTANCES, suite):
        if metric.name == "motif_cosine":
            ours, theirs = (np.concatenate(parts) for parts in zip(*vectors.values(), strict=True))
            lengths = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
            values[metric.name] = float(ours @ theirs) / lengths if lengths else None
        else:
            ours, theirs = vectors[int(metric.name[-1])]
            defined = ours.any() and theirs.any()
            values[metric.name] = (
                total_variation(ours / ours.sum(), theirs / theirs.sum()) if defined else None
            )
    return values


def _vector(view: UndirectedView, size: int) -> np.ndarray:
    counts = view.once(COUNTS[size])
    return np.array([plain(counts[graphlet.name]) for graphlet in of_size(size)], dtype=np.float64)

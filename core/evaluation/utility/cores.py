"""The k-cores of both graphs: how deep nodes lie in what holds together."""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.utility.degrees import shares, total_variation
from core.evaluation.view import UndirectedView
from core.graphs.views.networkit import networkit

DISTANCES = (
    Metric(
        "core_total_variation",
        "Core numbers, total variation",
        "Half the sum of |differences| of the distributions of the nodes' core numbers: the largest k for "
        "which a node is in a subgraph of degrees k and more (Seidman 1983). Directions dropped.",
        "cores",
        Suite.STANDARD,
        "lower",
    ),
)


def core_numbers(view: UndirectedView) -> np.ndarray:
    """Compute every node's core number, int64. O(n + m)."""
    if not view.edge_count:
        return np.zeros(view.node_count, dtype=np.int64)
    found = networkit().centrality.CoreDecomposition(view.networkit, enforceBucketQueueAlgorithm=True)
    return np.asarray(found.run().scores()).astype(np.int64)


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute the total variation of both distributions of core numbers; None without nodes."""
    if not original.node_count or not synthetic.node_count:
        return {"core_total_variation": None}
    numbers = (view.once(core_numbers) for view in (original, synthetic))
    return {"core_total_variation": total_variation(*shares(*numbers))}

"""Connected components."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import UndirectedView

SCALARS = (
    Metric(
        "components",
        "Components",
        "Connected components; a node without an edge is one.",
        "components",
        grows=1,
    ),
    Metric(
        "largest_component",
        "Largest component",
        "Nodes in the largest connected component (THEPUFF's and DPGGAN's LCC).",
        "components",
        grows=1,
    ),
    Metric(
        "largest_component_share",
        "Largest component, share",
        "The same divided by all nodes of the universe.",
        "components",
    ),
)


def labels(view: UndirectedView) -> np.ndarray:
    """Label every node's component, 0, 1, ...: int32. O(n + m)."""
    found: np.ndarray = connected_components(view.adjacency, directed=False)[1]
    return found


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute the components and the largest one's share.

    They are ``components`` (isolated nodes too), ``largest_component`` and its share of nodes. O(n + m).
    """
    if view.node_count == 0:
        return {"components": 0, "largest_component": 0, "largest_component_share": 0.0}
    sizes = np.bincount(view.once(labels))
    largest = int(sizes.max())
    return {
        "components": len(sizes),
        "largest_component": largest,
        "largest_component_share": largest / view.node_count,
    }

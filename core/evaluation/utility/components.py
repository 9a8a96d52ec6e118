"""Connected components."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from core.evaluation.view import UndirectedView


def statistics(view: UndirectedView) -> dict[str, float | None]:
    """``components`` (isolated nodes count), ``largest_component`` and its share of all nodes. O(n + m)."""
    if view.node_count == 0:
        return {"components": 0, "largest_component": 0, "largest_component_share": 0.0}
    count, labels = connected_components(view.adjacency, directed=False)
    largest = int(np.bincount(labels).max())
    return {
        "components": int(count),
        "largest_component": largest,
        "largest_component_share": largest / view.node_count,
    }

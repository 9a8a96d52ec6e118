"""Degree assortativity."""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import UndirectedView

SCALARS = (
    Metric(
        "assortativity",
        "Degree assortativity",
        "Pearson correlation of the degrees at both ends of an edge (Newman 2002, Eq. 4), of the source's "
        "with the target's between two node types; undefined where all ends have one degree.",
        "degree",
    ),
)


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``assortativity``.

    It is the correlation of the degrees at both ends of an edge; None when undefined. Within one node type
    each edge counts in both directions (Newman 2002, Eq. 4); between two types the source's degree is set
    against the target's. Undefined where all ends on a side have one degree. O(m).
    """
    degrees = view.degrees
    if view.bipartite:
        sides = degrees[: view.source_count], degrees[view.source_count :]
    else:
        sides = (degrees, degrees)
    # An edge's end has degree d with weight d: sums over the ends are sums over the nodes, weighted so.
    if any(len(np.unique(side[side > 0])) < 2 for side in sides):
        return {"assortativity": None}
    means = [float((side * side).sum() / side.sum()) for side in sides]
    spreads = [float((side * (side - mean) ** 2).sum()) for side, mean in zip(sides, means, strict=True)]
    together = float((degrees[view.u] - means[0]) @ (degrees[view.v] - means[1]))
    # Both directions of an edge count within one node type: the sums over the nodes hold them already.
    doubled = together if view.bipartite else 2 * together
    return {"assortativity": doubled / float(np.sqrt(spreads[0] * spreads[1]))}

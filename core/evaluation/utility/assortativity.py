"""Degree assortativity."""

from __future__ import annotations

import numpy as np

from core.evaluation.view import UndirectedView


def statistics(view: UndirectedView) -> dict[str, float | None]:
    """``assortativity``: Pearson correlation of the degrees at both ends of an edge; None when undefined.

    Within one node type each edge counts in both directions (Newman 2002, Eq. 4); between two types the
    source's degree is set against the target's. Undefined where all ends on a side have one degree. O(m).
    """
    x, y = view.degrees[view.u].astype(float), view.degrees[view.v].astype(float)
    if not view.bipartite:
        x, y = np.concatenate([x, y]), np.concatenate([y, x])
    if len(x) == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return {"assortativity": None}
    x -= x.mean()
    y -= y.mean()
    return {"assortativity": float((x @ y) / np.sqrt((x @ x) * (y @ y)))}

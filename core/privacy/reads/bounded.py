"""Reads of people and people under a degree bound. The schema declares that nobody has more than ``bound``
edges.

The bound holds for both neighbours: it is declared, and checked at ingest. One node's edges are replaced: it
has at most ``bound`` of them in either graph; all else is the same. Unit: NODE. Degrees, edges and groups are
asked of projections, whose theta is mostly far below a bound that somebody can declare.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.privacy import limits
from core.privacy.mechanisms.triangle_kernels import triangles as counted

Measure = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""A question to the edges, ``source``, ``target`` and the number of nodes, with an int64 answer."""


def triangles(bound: int) -> tuple[int, Measure]:
    """Count the triangles; (1,).

    Sensitivity: bound (bound - 1) / 2, 1 at least. Proof: triangles without the node are the same in both
    graphs; those with it are pairs of its edges, from 0 to bound (bound - 1) / 2 of them in either.
    NotAccepted where that is more than the samplers take.
    """
    sensitivity = max(1, bound * (bound - 1) // 2)
    limits.check_sensitivity(sensitivity, "the number of triangles", field="bound")

    def measure(source: np.ndarray, target: np.ndarray, nodes: int) -> np.ndarray:
        return np.array([counted(source, target, nodes)], dtype=np.int64)

    return sensitivity, measure

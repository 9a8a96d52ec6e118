"""What may be asked of people and people where the schema declares that nobody has more than ``bound`` edges.

The bound holds for both neighbours: it is declared, and checked at ingest. One node's edges are replaced: it
has k <= bound of them in one graph and k' <= bound in the other; all else is the same. Unit of every query:
NODE.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.errors import InvalidInput
from core.privacy.mechanisms import MAX_SENSITIVITY
from core.privacy.queries import Shape
from core.privacy.queries import group_matrix as block_table
from core.privacy.queries import tail_counts as tails_asked

Measure = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""A question to the edges, ``source``, ``target`` and the number of nodes, with an int64 answer."""


def edge_count(bound: int) -> tuple[int, Measure]:
    """Count the edges; (1,). Sensitivity: bound. Proof: k - k'."""
    return bound, lambda source, target, nodes: np.array([len(source)], dtype=np.int64)


def tail_counts(shape: Shape, bound: int, thresholds: np.ndarray) -> tuple[int, Measure]:
    """How many nodes have at least j edges, for every j of ``thresholds``, which increase from 1 on.

    Sensitivity: L1 = 2 bound. Proof: other nodes' degrees move by at most k + k' in all, the node's own by
    |k - k'|; together 2 max(k, k'). A degree that moves from d to d' crosses |d - d'| thresholds at most.
    """
    tails_asked(shape, thresholds=thresholds)  # checks them
    steps = np.array(thresholds, dtype=np.int64)

    def measure(source: np.ndarray, target: np.ndarray, nodes: int) -> np.ndarray:
        degrees = np.bincount(source, minlength=nodes) + np.bincount(target, minlength=nodes)
        below = np.searchsorted(np.sort(degrees), steps, side="left")
        return (nodes - below).astype(np.int64)

    return 2 * bound, measure


def group_matrix(shape: Shape, bound: int, labels: np.ndarray, groups: int) -> tuple[int, Measure]:
    """Count the edges between every two groups; the upper triangle of the table, row by row.

    Sensitivity: L1 = 2 bound. Proof: the node's k edges leave one entry each, its k' enter one each.
    """
    asked = block_table(shape, labels=labels, groups=groups)
    of, k = np.array(labels, dtype=np.int64), groups

    def measure(source: np.ndarray, target: np.ndarray, nodes: int) -> np.ndarray:
        a, b = of[source], of[target]
        low, high = np.minimum(a, b), np.maximum(a, b)
        return np.bincount(low * k - low * (low - 1) // 2 + (high - low), minlength=asked.size)

    return 2 * bound, measure


def triangles(bound: int) -> tuple[int, Measure]:
    """Count the triangles; (1,).

    Sensitivity: bound (bound - 1) / 2, 1 at least. Proof: triangles without the node are the same in both
    graphs; those with it are pairs of its edges, from 0 to bound (bound - 1) / 2 of them in either.
    InvalidInput where that is more than the samplers take.
    """
    sensitivity = max(1, bound * (bound - 1) // 2)
    if sensitivity > MAX_SENSITIVITY:
        raise InvalidInput("triangles are counted under bounds of at most 1,448", field="bound")

    def measure(source: np.ndarray, target: np.ndarray, nodes: int) -> np.ndarray:
        from core.privacy.triangle_kernels import triangles as counted

        return np.array([counted(source, target, nodes)], dtype=np.int64)

    return sensitivity, measure

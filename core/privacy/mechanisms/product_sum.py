"""Degree times degree summed over edges. Degrees are paid for already."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.columns.tables import Edges
from core.privacy.queries import Question, Shape

LARGEST = 2**21
"""Noisy degrees are cut there at the latest, which keeps all sums exact."""

STEPS = 2**20
"""The noise's grid is so fine, or finer, for one edge's largest term."""

CHUNK = 2**19


def caps(noisy_degrees: np.ndarray) -> tuple[int, int]:
    """Choose the caps of noisy degrees. They are the largest of them, and (with a minus sign) the second
    largest.

    Both at least 1 and at most LARGEST. A function of what is paid for.
    """
    top = np.sort(np.asarray(noisy_degrees, dtype=np.int64))[-2:]
    second = min(max(1, int(top[0])), LARGEST) if len(top) == 2 else 1
    return (max(second, min(int(top[-1]), LARGEST)) if len(top) else second), second


def unit_of(noisy_degrees: np.ndarray) -> int:
    """Compute the grid of :func:`degree_product_sum`. It is in units of the sum; 1 unless a term may pass
    STEPS."""
    high, low = caps(noisy_degrees)
    return -(-high * low // STEPS)


def degree_product_sum(shape: Shape, *, noisy_degrees: np.ndarray) -> Question:
    """Ask for floor(S / unit) of the degree product sum S. S is the sum over edges of f(u) f(v), f the noisy
    degrees cut to [-cap2, cap1]; (1,).

    ``noisy_degrees`` (n,): integers that were paid for before. cap1 and cap2: their two largest
    (:func:`caps`); unit: :func:`unit_of`. Undirected relations inside one node type. O(n log n + m). Where
    nothing is cut S estimates the sum of true degrees' products without bias, as noise that was drawn for the
    degrees has mean zero and is independent of the edges.

    Sensitivity: L1 = ceil(cap1 cap2 / unit). Unit: one edge. Proof: the noisy degrees are an earlier output,
    the same for both neighbours, so an edge adds one term f(u) f(v) with u != v. At most one node has f above
    cap2, and no f lies below -cap2 or above cap1, so |f(u) f(v)| <= cap1 cap2, for two negative factors too
    (cap2^2). floor moves by at most the change over unit, rounded up.
    """
    if not shape.undirected:
        raise NotAccepted(
            "degree products are asked of undirected relations inside one node type", field="noisy_degrees"
        )
    degrees = checked(noisy_degrees, shape.source_count)
    (high, low), unit = caps(degrees), unit_of(degrees)
    cut = np.clip(degrees, -low, high)
    bound = -(-high * low // unit)

    def measure(edges: Edges) -> np.ndarray:
        total = 0
        for cell in edges.groups():
            for begin in range(0, cell.count, CHUNK):  # products below 2^42: a chunk's sum stays below 2^61
                part = slice(begin, begin + CHUNK)
                # Python's integers: what chunks add up to may pass 2^63.
                total += int((cut[cell.source[part]] * cut[cell.target[part]]).sum())
        return np.array([total // unit], dtype=np.int64)

    return Question("degree_product_sum", 1, bound, bound * bound, measure)


def checked(noisy_degrees: Any, nodes: int) -> np.ndarray:
    """Return ``noisy_degrees`` as int64, copied: what was checked is what is used. InvalidInput otherwise."""
    array = np.asarray(noisy_degrees)
    if array.shape != (nodes,) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput("noisy degrees are one integer for each node", field="noisy_degrees")
    return array.astype(np.int64, copy=True)

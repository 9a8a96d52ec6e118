"""The two functions of dK-1 and dK-2. The noisy columns of a cell, and a graph that meets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.blocks.whole import Blocks, upper_triangle
from core.methods._shared.degrees.counts import integers, noisy_count, to_total
from core.methods._shared.frame.plan import divide
from core.methods._shared.matching.exact import matched, one_block
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.reconstruct import capacity

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell
    from papers.comparators.dp_dk.params import DKParams


def fit(
    cell: PrivateCell, nodes: int, nano_epsilon: int, params: DKParams, rng: Rng
) -> Mapping[str, np.ndarray]:
    """Pay for the columns. Order 1: ``degree``, ascending, summing to twice the noisy number of edges. Order
    2: ``degree``, noisy, in node order, and ``between``, the edges between classes i <= j, summing to the
    noisy number of edges.

    Cost: ``nano_epsilon``. O(n log n + m + k^2) for k classes.
    """
    if params.order == 1:
        count, rest = divide(nano_epsilon, params.count_share)
        edges = noisy_count(cell, count)
        noisy = cell.laplace("sorted_degrees", nano_epsilon=rest, purpose="sorted degrees")
        return {"degree": to_total(_ascending(noisy), 2 * edges)}
    count, matrix, rest = divide(nano_epsilon, params.count_share, params.matrix_share)
    edges = noisy_count(cell, count)
    noisy = cell.laplace("degrees", nano_epsilon=rest, purpose="degrees")
    bounds = thresholds(nodes, params.class_ratio)
    labels, classes = degree_class(noisy, bounds), len(bounds) + 1
    between = cell.laplace(
        "group_matrix",
        nano_epsilon=matrix,
        purpose="edges between degree classes",
        labels=labels,
        groups=classes,
    )
    row, column = upper_triangle(classes)
    sizes = np.bincount(labels, minlength=classes)
    room = capacity(sizes, sizes, Blocks(row, column, between))
    return {"degree": np.clip(noisy, 0, nodes - 1), "between": to_total(between, edges, room)}


def draw(columns: Mapping[str, np.ndarray], nodes: int, params: DKParams, rng: Rng) -> np.ndarray:
    """Sample sorted keys of a simple graph with the degrees.

    In order 2 it meets class totals too. O(m log m).
    """
    if params.order == 1:
        degrees = rng.permutation(integers(columns["degree"], rng))
        return matched(degrees, np.zeros(nodes, dtype=np.int64), one_block(int(degrees.sum())), rng)
    bounds = thresholds(nodes, params.class_ratio)
    labels, classes = degree_class(columns["degree"], bounds), len(bounds) + 1
    row, column = (part.astype(np.int64) for part in upper_triangle(classes))
    between = integers(columns["between"], rng)
    ends = np.bincount(row, weights=between, minlength=classes)
    ends += np.bincount(column, weights=between, minlength=classes)
    degrees = np.zeros(nodes, dtype=np.int64)
    for number in np.flatnonzero(ends):
        members = np.flatnonzero(labels == number)
        # The matrix knows a class's ends better than its members' noisy degrees do.
        wanted = to_total(columns["degree"][members], int(ends[number]), nodes - 1)
        degrees[members] = integers(wanted, rng)
    return matched(degrees, labels, Blocks(row, column, between), rng)


def thresholds(nodes: int, ratio: float) -> np.ndarray:
    """List the least degree of every class but the first.

    The first has degree 0; others begin at 1, and on by ``ratio``, at least by 1. Public: a function of the
    universe's size and a parameter. int64, ascending, below ``nodes``.
    """
    bounds, bound = [], 1
    while bound < nodes:
        bounds.append(bound)
        bound = max(bound + 1, int(bound * ratio))
    return np.array(bounds, dtype=np.int64)


def degree_class(noisy: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Classify every noisy degree in 0..len(bounds); int64."""
    return np.searchsorted(bounds, noisy, side="right").astype(np.int64)


def _ascending(noisy: np.ndarray) -> np.ndarray:
    """Fit the nearest ascending sequence, in squares (isotonic regression), without its steps; float64. O(n).

    The fit is constant between places where it rises; degrees are not, so values between the middles of two
    such steps are interpolated.
    """
    from scipy.optimize import isotonic_regression

    fit = isotonic_regression(noisy.astype(np.float64))
    starts = np.asarray(fit.blocks)
    middle = (starts[:-1] + starts[1:] - 1) / 2
    ascending: np.ndarray = np.interp(np.arange(len(noisy)), middle, np.asarray(fit.x)[starts[:-1]])
    return ascending

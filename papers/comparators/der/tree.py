"""What DER pays for: an order and a tree.

The order is of the nodes, the tree a noisy quadtree, made consistent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub_groups
from core.methods._shared.frame.plan import divide
from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng
from papers.comparators.der.params import DERParams
from papers.comparators.der.regions import children, place, rooms

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell

_GROWTH = 2 ** (1 / 3)


@dataclass
class Level:
    """The regions of one level whose parents were cut. ``value`` is noisy, then consistent.

    ``parent`` counts in the level above. ``variance`` is one region's, the same for those cut and for those
    left whole. ``cut`` marks the regions that have children.
    """

    row: np.ndarray
    column: np.ndarray
    parent: np.ndarray
    value: np.ndarray
    variance: np.ndarray
    cut: np.ndarray


def depth_of(nodes: int, params: DERParams) -> int:
    """Count the levels below the whole matrix: public."""
    return min(params.max_depth, max(0, int(math.log2(max(1.0, nodes / params.smallest_side)))))


def fit(
    cell: PrivateCell, nodes: int, nano_epsilon: int, params: DERParams, rng: Rng
) -> dict[str, np.ndarray]:
    """Pay for order, regions and number of edges.

    ``order`` (n,) is the node at each position; ``level``, ``row``, ``column`` and ``mass`` are of every
    region that was left whole; ``edges`` (1,) is the noisy number of edges. Costs ``nano_epsilon`` at most;
    every call pays for the same reads, whatever they find. O(n log n + m * depth + 4^depth).
    """
    depth = depth_of(nodes, params)
    count, rest = divide(nano_epsilon, params.count_share)
    if params.order == "noisy_degree":
        share = params.order_share / (1 - params.count_share)
        ranking, rest = divide(rest, share)
        degrees = cell.laplace("degrees", nano_epsilon=ranking, purpose="degrees for the order")
        order = np.argsort(-degrees, kind="stable")
    else:
        order = np.arange(nodes)
    budgets = _level_budgets(rest, depth)
    if not depth:
        count += rest
    total = float(cell.laplace("edge_count", nano_epsilon=count, purpose="edge count")[0])
    matrices = [_measure(cell, order, level + 1, budget) for level, budget in enumerate(budgets)]
    noise = [2 * (NANO / budget) ** 2 for budget in (count, *budgets)]
    levels = _explore(total, matrices, noise, nodes, params.split_factor)
    _agree(levels)
    whole = [~level.cut for level in levels]
    return {
        "order": order.astype(np.int32),
        "level": np.repeat(np.arange(len(levels)), [mask.sum() for mask in whole]).astype(np.int8),
        "row": np.concatenate([level.row[mask] for level, mask in zip(levels, whole, strict=True)]),
        "column": np.concatenate([level.column[mask] for level, mask in zip(levels, whole, strict=True)]),
        "mass": np.concatenate([level.value[mask] for level, mask in zip(levels, whole, strict=True)]),
        "edges": np.array([np.clip(round(levels[0].value[0]), 0, nodes * (nodes - 1) // 2)], dtype=np.int64),
    }


def _level_budgets(total: int, depth: int) -> list[int]:
    """Divide ``total`` over the levels, growing by 2^(1/3) downwards; integers that sum to ``total``."""
    if not depth:
        return []
    weights = _GROWTH ** np.arange(depth)
    return list(divide(total, *(weights[:-1] / weights.sum())))


def _measure(cell: PrivateCell, order: np.ndarray, level: int, nano_epsilon: int) -> np.ndarray:
    """Measure noisy numbers of edges in all regions of one level, the upper triangle row by row."""
    nodes = len(order)
    labels = np.empty(nodes, dtype=np.int64)
    labels[order] = np.arange(nodes) * 2**level // nodes
    return cell.laplace(
        "group_matrix",
        nano_epsilon=nano_epsilon,
        purpose=f"quadtree level {level}",
        labels=labels,
        groups=2**level,
    )


def _explore(
    total: float, matrices: list[np.ndarray], noise: list[float], nodes: int, split_factor: float
) -> list[Level]:
    """Explore the levels, from the whole matrix down. Reads noisy numbers and public sizes only."""
    root = np.zeros(1, dtype=np.int64)
    levels = [Level(root, root, root, np.array([total]), np.array([noise[0]]), np.zeros(1, dtype=bool))]
    for number, matrix in enumerate(matrices, start=1):
        above = levels[-1]
        room = rooms(number - 1, above.row, above.column, nodes)
        above.cut = (above.value > split_factor * math.sqrt(noise[number])) & (room > 1)
        if not above.cut.any():
            break
        place_above = np.flatnonzero(above.cut)
        parent, row, column = children(above.row[place_above], above.column[place_above])
        value = matrix[place(row, column, number)].astype(np.float64)
        possible = rooms(number, row, column, nodes)
        levels.append(
            Level(
                row,
                column,
                place_above[parent],
                np.where(possible > 0, value, 0.0),
                np.where(possible > 0, noise[number], 1e-9),
                np.zeros(len(row), dtype=bool),
            )
        )
    return levels


def _agree(levels: list[Level]) -> None:
    """Make values non-negative, and quarters sum to what they were cut from.

    Upwards, a region's own number and the sum of its quarters are weighed by their precision; downwards, what
    still differs is shared out by variance (Hay et al., PVLDB 2010), and NormSub makes quarters non-negative.
    """
    for above, below in zip(levels[-2::-1], levels[:0:-1], strict=True):
        size = len(above.value)
        sums = np.bincount(below.parent, below.value, minlength=size)
        spread = np.bincount(below.parent, below.variance, minlength=size)
        cut = above.cut
        own, other = above.variance[cut], spread[cut]
        above.value[cut] = (above.value[cut] * other + sums[cut] * own) / (own + other)
        above.variance[cut] = own * other / (own + other)
    levels[0].value = np.maximum(levels[0].value, 0.0)
    for above, below in pairwise(levels):
        size = len(above.value)
        sums = np.bincount(below.parent, below.value, minlength=size)
        spread = np.bincount(below.parent, below.variance, minlength=size)
        residual = (above.value - sums)[below.parent]
        even = below.value + residual * below.variance / spread[below.parent]
        below.value = norm_sub_groups(even, below.parent, size)

"""One graph of ``dcsbm`` from the noisy values of a cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.generators._shared.blocks.partition import upper_triangle
from core.generators._shared.blocks.reconstruct import Blocks, top_up
from core.generators._shared.degrees.counts import integers
from core.generators._shared.degrees.fitted import scaled_to
from core.generators._shared.matching.exact import completed, matched
from core.generators._shared.rewiring.clustering import ToldClustering
from core.generators._shared.rewiring.products import product_goal
from core.generators._shared.rewiring.triangles import Targets, proposals_for, rewired
from core.privacy.entropy import Generator as Rng

if TYPE_CHECKING:
    from core.generators._shared.frame.columns import Columns
    from core.generators.dcsbm.params import DCSBMParams

SCALINGS = 50
EVERYWHERE = 1e-6  # share of edges that fall anywhere, so that a label without counts finds partners
BAND = 0.5  # of the standard deviation of the aim: nearer means no better
BANDS = 0.0005, 0.02


def draw(columns: Columns, nodes: int, params: DCSBMParams, rng: Rng) -> np.ndarray:
    """Sorted keys ``low * nodes + high`` of as many distinct edges as the block counts sum to.

    Degrees are met up to rounding, block counts up to what the degrees allow; then triangles and degree
    products are approached. O(m log m + proposals * degree) time, O(n + m) memory.
    """
    labels = columns["labels"].astype(np.int64)
    edges = min(int(np.rint(columns["blocks"].sum())), nodes * (nodes - 1) // 2)
    degrees = integers(scaled_to(columns["degrees"].astype(np.float64), 2 * edges), rng)
    keys = matched(degrees, labels, whole_blocks(columns["blocks"], labels, degrees, rng), rng)
    keys = top_up(completed(keys, degrees, rng), nodes, edges, rng)
    if not len(columns["triangles"]) or not len(keys):
        return keys
    known, aim, band = columns["covariance"], None, 0.0
    if len(known):
        aim, deviation = product_goal(keys, nodes, known[0], known[1], params.spread)
        band = float(np.clip(BAND * deviation, *BANDS)) if params.band is None else params.band
    told = ToldClustering.of(columns.get("clustering", ()))
    targets = Targets(int(columns["triangles"][0]), aim, band, told)
    return rewired(keys, nodes, labels, targets, proposals_for(edges, params.proposals), rng)


def whole_blocks(counts: np.ndarray, labels: np.ndarray, degrees: np.ndarray, rng: Rng) -> Blocks:
    """Whole numbers of edges between labels, nearly in proportion to ``counts``, that use up all edge ends.

    Every label's ends (the sum of its nodes' ``degrees``, whose total is even) are met exactly: iterative
    proportional fitting, rounding at random, and what is odd or too much put right. O(n + k^2).
    """
    groups = int((math.isqrt(8 * len(counts) + 1) - 1) // 2)
    ends = np.bincount(labels, weights=degrees, minlength=groups).astype(np.int64)
    row, column = (side.astype(np.int64) for side in upper_triangle(groups))
    square = np.zeros((groups, groups))
    square[row, column] = counts
    square = square + square.T  # edge ends: an edge inside a label has two of them there
    square += EVERYWHERE * np.outer(ends, ends) / max(int(ends.sum()), 1)
    factor = np.ones(groups)
    for _ in range(SCALINGS):
        factor = np.sqrt(factor * ends / np.maximum(square @ factor, np.finfo(float).tiny))
    off = row < column
    whole = np.zeros((groups, groups), dtype=np.int64)
    fitted = (square * np.outer(factor, factor))[row[off], column[off]]
    whole[row[off], column[off]] = np.floor(fitted + rng.random(len(fitted)))
    whole += whole.T
    for i in range(groups):
        while (excess := int(whole[i].sum() - ends[i])) > 0:
            j = int(whole[i].argmax())
            less = min(int(whole[i, j]), excess)
            whole[i, j] -= less
            whole[j, i] -= less
    odd = np.flatnonzero((ends - whole.sum(axis=1)) % 2)  # an even number of labels, as the total is even
    whole[odd[::2], odd[1::2]] += 1
    whole[odd[1::2], odd[::2]] += 1
    diagonal = np.arange(groups)
    whole[diagonal, diagonal] = (ends - whole.sum(axis=1)) // 2
    return Blocks(row, column, whole[row, column])

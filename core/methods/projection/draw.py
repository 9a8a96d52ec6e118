"""One graph of ``projection`` from noisy values."""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.partition import upper_triangle
from core.methods._shared.blocks.whole import whole_blocks
from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.fitted import DegreeLaw, scaled_to
from core.methods._shared.frame.columns import Columns
from core.methods._shared.matching.exact import completed, matched
from core.methods._shared.rewiring.triangles import Targets, proposals_for, rewired
from core.methods.projection.params import ProjectionParams
from core.privacy.entropy import Generator as Rng

TAIL = 2.0  # mean degrees: nodes above make up for what the quantiles of the law miss of its mean


def draw(columns: Columns, nodes: int, params: ProjectionParams, rng: Rng) -> np.ndarray:
    """Sorted keys ``low * nodes + high`` of distinct edges; nobody has more than ``most`` of them.

    Degrees are those of the law, more of them in groups with more edges; edges inside groups as read, up to
    what degrees allow; then triangles are approached. O(m log m + proposals * degree) time, O(n + m) memory.
    """
    labels, inside = columns["labels"].astype(np.int64), columns["inside"]
    across, most = float(columns["across"][0]), int(columns["most"][0])
    edges = round(min(float(inside.sum()) + across, nodes * most / 2))
    if not edges:
        return np.empty(0, dtype=np.int64)
    groups = len(inside)
    sizes = np.bincount(labels, minlength=groups).astype(np.float64)
    law = DegreeLaw(columns["grid"], columns["mass"])
    degrees = placed(degrees_of(law, nodes, 2 * edges, most, rng), labels, ends_by_group(columns), rng)
    row, column = upper_triangle(groups)
    pairs = np.where(row == column, 0.0, sizes[row] * sizes[column])
    counts = np.where(row == column, inside[row], across * pairs / max(pairs.sum(), 1.0))
    keys = matched(degrees, labels, whole_blocks(counts, labels, degrees, rng), rng)
    keys = completed(keys, degrees, rng)
    if not len(columns["triangles"]) or not len(keys):
        return keys
    targets = Targets(round(float(columns["triangles"][0])))
    return rewired(keys, nodes, labels, targets, proposals_for(edges, params.proposals), rng)


def degrees_of(law: DegreeLaw, nodes: int, total: int, most: int, rng: Rng) -> np.ndarray:
    """``nodes`` ascending degrees of the law that sum to ``total``, where ``most`` allows it; int64.

    What quantiles miss of the law's mean is made up in its tail: nodes of few edges stay as they are.
    """
    degrees = np.minimum(law.quantiles(nodes), most)
    tail = degrees > TAIL * total / nodes
    rest = total - int(degrees[~tail].sum())
    if tail.any() and tail.sum() <= rest <= most * tail.sum():
        degrees[tail] = integers(scaled_to(degrees[tail], rest, most), rng)
    else:
        degrees = integers(scaled_to(degrees, total, most), rng)
    return np.sort(np.minimum(degrees, most).astype(np.int64))


def placed(degrees: np.ndarray, labels: np.ndarray, ends: np.ndarray, rng: Rng) -> np.ndarray:
    """Give ascending ``degrees`` to nodes, so that groups have about as many as their ``ends``; int64 (n,).

    Each node draws one of the degrees, times its group's mean; the order of these decides.
    """
    order = placed_order(degrees, labels, ends, rng)
    result = np.empty(len(degrees), dtype=np.int64)
    result[order] = degrees
    if result.sum() % 2:
        result[order[-1]] -= 1
    return result


def placed_order(degrees: np.ndarray, labels: np.ndarray, ends: np.ndarray, rng: Rng) -> np.ndarray:
    """The nodes, that of the smallest degree first, so that groups have about as many as their ``ends``."""
    means = np.maximum(ends / np.maximum(np.bincount(labels, minlength=len(ends)), 1), 1e-9)
    wish = rng.permutation(degrees) + rng.random(len(degrees))
    return np.argsort(wish * means[labels], kind="stable")


def ends_by_group(columns: Columns) -> np.ndarray:
    """How many ends of edges each group of persons has, where all meet others alike; float64 (groups,)."""
    sizes = np.bincount(columns["labels"], minlength=len(columns["inside"]))
    found: np.ndarray = 2 * columns["inside"] + 2 * columns["across"] * sizes / max(sizes.sum(), 1)
    return found

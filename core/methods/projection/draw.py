"""One graph of ``projection`` from noisy values."""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.whole import upper_triangle, whole_blocks
from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.fitted import DegreeLaw, scaled_to
from core.methods._shared.frame.columns import Columns
from core.methods._shared.matching.exact import completed, matched
from core.methods._shared.rewiring.triangles import Targets, proposals_for, rewired
from core.methods.projection.params import ProjectionParams
from core.privacy.entropy import Generator as Rng

TAIL = 2.0  # mean degrees: nodes above make up for what the quantiles of the law miss of its mean


def draw(columns: Columns, nodes: int, params: ProjectionParams, rng: Rng) -> np.ndarray:
    """Sample sorted keys of distinct edges.

    They are ``low * nodes + high``; nobody has more than ``most`` of them. Degrees are those of the law, more
    of them in groups with more edges; edges inside groups as read, up to what degrees allow; then triangles
    are approached. O(m log m + proposals * degree) time, O(n + m) memory.
    """
    edges = edges_of(columns, nodes)
    if not edges:
        return np.empty(0, dtype=np.int64)
    degrees, labels, counts = wanted(columns, nodes, edges, rng)
    keys = matched(degrees, labels, whole_blocks(counts, labels, degrees, rng), rng)
    keys = completed(keys, degrees, rng)
    if not len(columns["triangles"]) or not len(keys):
        return keys
    targets = Targets(round(float(columns["triangles"][0])))
    return rewired(keys, nodes, labels, targets, proposals_for(edges, params.proposals), rng)


def edges_of(columns: Columns, nodes: int) -> int:
    """Return how many edges are drawn: those that were read, as far as degrees allow."""
    read = float(columns["inside"].sum()) + float(columns["across"][0])
    return round(min(read, nodes * int(columns["most"][0]) / 2))


def wanted(columns: Columns, nodes: int, edges: int, rng: Rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sample every person's degree for so many edges.

    With them come the persons' groups, and about how many edges every two groups have, as an upper triangle.
    """
    labels, inside, groups = columns["labels"].astype(np.int64), columns["inside"], len(columns["inside"])
    across, most = float(columns["across"][0]), int(columns["most"][0])
    sizes = np.bincount(labels, minlength=groups).astype(np.float64)
    law = DegreeLaw(columns["grid"], columns["mass"])
    degrees = placed(degrees_of(law, nodes, 2 * edges, most, rng), labels, ends_by_group(columns), rng)
    row, column = upper_triangle(groups)
    pairs = np.where(row == column, 0.0, sizes[row] * sizes[column])
    counts = np.where(row == column, inside[row], across * pairs / max(pairs.sum(), 1.0))
    return degrees, labels, counts


def degrees_of(law: DegreeLaw, nodes: int, total: int, most: int, rng: Rng) -> np.ndarray:
    """Sample ascending degrees of the law that sum to ``total``.

    There are ``nodes``; the sum is met where ``most`` allows it; int64. What quantiles miss of the law's mean
    is made up in its tail: nodes of few edges stay as they are.
    """
    degrees = np.minimum(law.quantiles(nodes), most)
    tail = degrees > TAIL * total / nodes
    rest = total - int(degrees[~tail].sum())
    # Where the tail can hold what is missing; else all degrees are scaled.
    if tail.any() and tail.sum() <= rest <= most * tail.sum():
        degrees[tail] = integers(scaled_to(degrees[tail], rest, most), rng)
    else:
        degrees = integers(scaled_to(degrees, total, most), rng)
    return np.sort(np.minimum(degrees, most).astype(np.int64))


def placed(degrees: np.ndarray, labels: np.ndarray, ends: np.ndarray, rng: Rng) -> np.ndarray:
    """Give ascending ``degrees`` to nodes by groups' ends.

    Groups have about as many as their ``ends``; int64 (n,). Each node draws one of the degrees, times its
    group's mean; the order of these decides.
    """
    order = placed_order(degrees, labels, ends, rng)
    result = np.empty(len(degrees), dtype=np.int64)
    result[order] = degrees
    if result.sum() % 2:
        # An odd sum has an end too many: taken where one is missed least, at the largest degree.
        result[order[-1]] -= 1
    return result


def placed_order(degrees: np.ndarray, labels: np.ndarray, ends: np.ndarray, rng: Rng) -> np.ndarray:
    """Order nodes by rising degree, by groups' ends.

    That of the smallest degree is first, so that groups have about as many as their ``ends``.
    """
    means = np.maximum(ends / np.maximum(np.bincount(labels, minlength=len(ends)), 1), 1e-9)
    # Ties at random.
    wish = rng.permutation(degrees) + rng.random(len(degrees))
    return np.argsort(wish * means[labels], kind="stable")


def ends_by_group(columns: Columns) -> np.ndarray:
    """Compute how many edge ends each group has.

    Groups of persons meet all others alike; float64 (groups,).
    """
    sizes = np.bincount(columns["labels"], minlength=len(columns["inside"]))
    found: np.ndarray = 2 * columns["inside"] + 2 * columns["across"] * sizes / max(sizes.sum(), 1)
    return found

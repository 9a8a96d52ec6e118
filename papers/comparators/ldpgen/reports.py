"""LDPGen's rounds of reports on one snapshot. A graph is sampled from the last one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub, norm_sub_groups
from core.methods._shared.blocks.whole import Blocks, upper_triangle
from core.methods._shared.degrees.counts import integers
from core.methods._shared.frame.plan import divide
from core.privacy import limits
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.partition import compact, super_nodes
from papers._shared.blocks.reconstruct import Layout, draw_blocks

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.session.private_graph import PrivateCell
    from papers.comparators.ldpgen.params import LDPGenParams

ITERATIONS = 50
STARTS = 3


def fit(cell: PrivateCell, nodes: int, nano_epsilon: int, params: LDPGenParams, rng: Rng) -> Columns:
    """Pay for groups and reports, at ``nano_epsilon`` in all.

    Reports are towards the groups. Columns: ``labels`` int32 (n,) groups 0..k-1; ``weights`` float32 (n *
    k,), the node's non-negative number of edges to every group; ``edges`` float64 (k(k+1)/2,), those of every
    pair of groups. ``rng`` makes choices that are independent of the graph. O(m + reports * n * k^2).
    """
    *shares, last = divide(nano_epsilon, *[1 / params.reports] * (params.reports - 1))
    room = max(1, limits.MAX_VALUES // nodes)
    labels = super_nodes(nodes, 1, min(params.initial_groups, room), rng)
    for number, share in enumerate(shares, start=1):
        labels = group(report(cell, labels, share, f"report {number}"), min(params.groups, room), rng)
    vectors = report(cell, labels, last, f"report {params.reports}")
    count = vectors.shape[1]
    entry = (labels[:, None] * count + np.arange(count)).ravel()
    return {
        "labels": labels.astype(np.int32),
        "weights": norm_sub_groups(vectors.ravel(), entry, count * count).astype(np.float32),
        "edges": totals(vectors, labels),
    }


def report(cell: PrivateCell, labels: np.ndarray, nano_epsilon: int, purpose: str) -> np.ndarray:
    """Pay for every node's noisy edges to the groups.

    They are numbers, int64 (n, k). Costs ``nano_epsilon``.
    """
    count = int(labels.max()) + 1
    noisy = cell.laplace(
        "group_degrees", nano_epsilon=nano_epsilon, purpose=purpose, labels=labels, groups=count
    )
    return noisy.reshape(len(labels), count)


def group(vectors: np.ndarray, most: int, rng: Rng) -> np.ndarray:
    """Cluster noisy vectors by k-means, into ``most`` groups at most.

    Groups are 0..k-1; int64 (n,). O(n k^2).
    """
    from sklearn.cluster import KMeans

    points = vectors.astype(np.float64)
    count = min(most, len(np.unique(points, axis=0)))
    if count == 1:
        return np.zeros(len(points), dtype=np.int64)
    means = KMeans(count, n_init=STARTS, max_iter=ITERATIONS, random_state=int(rng.integers(2**31)))
    return compact(means.fit_predict(points))


def totals(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Estimate non-negative edge counts between groups i <= j.

    They are row by row; float64 (k(k+1)/2,). Both groups report each of them, with a noise that grows with
    the group: the sums are weighed by the other group's size, which is the ratio of their precisions. Inside
    a group every edge is reported twice.
    """
    count = vectors.shape[1]
    sums = np.stack([np.bincount(labels, weights=column, minlength=count) for column in vectors.T], axis=1)
    size = np.bincount(labels, minlength=count)
    row, column = upper_triangle(count)
    mean = (sums[row, column] * size[column] + sums[column, row] * size[row]) / (size[row] + size[column])
    return norm_sub(np.where(row == column, mean / 2, mean))


def draw(columns: Columns, nodes: int, params: LDPGenParams, rng: Rng) -> np.ndarray:
    """Sample each pair of groups its number of distinct pairs.

    Returned are sorted keys ``low * nodes + high``. The end in group i of an edge to group j is sampled by
    the nodes' reported edges to j. The layout holds an entry for every node and group; entries of group i
    towards j are one community, i * k + j. O(n k log(n k) + m log m).
    """
    labels = columns["labels"].astype(np.int64)
    count = len(columns["weights"]) // nodes
    entry = (labels[:, None] * count + np.arange(count)).ravel()
    layout = Layout.of(entry, count * count, columns["weights"])
    layout = replace(layout, order=layout.order // count)
    row, column = (side.astype(np.int64) for side in upper_triangle(count))
    blocks = Blocks(row * count + column, column * count + row, integers(columns["edges"], rng))
    return draw_blocks(layout, layout, blocks, nodes, rng)

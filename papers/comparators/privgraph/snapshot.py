"""One snapshot of PrivGraph. What it pays for, and how a graph is sampled from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub_groups
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.degrees.counts import integers
from core.methods._shared.frame.plan import divide
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.partition import noisy_blocks, private_partition
from papers._shared.blocks.reconstruct import reconstruct

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.session.private_graph import PrivateCell
    from papers.comparators.privgraph.params import PrivGraphParams


def fit(cell: PrivateCell, nodes: int, nano_epsilon: int, params: PrivGraphParams, rng: Rng) -> Columns:
    """Pay for partition, degrees and edge counts.

    Degrees are inside communities, counts between them, at ``nano_epsilon`` in all. Columns: ``labels`` int32
    (n,) communities 0..k-1; ``inside`` float32 (n,) degrees; ``row``, ``column`` int32 and ``edges`` float64,
    the pairs of communities that have edges. None is negative. ``rng`` makes choices that are independent of
    the graph. O(n + m + S^2 + k^2) for S super-nodes.
    """
    initialise, adjust, rest = divide(nano_epsilon, params.initialise_share, params.adjust_share)
    labels = private_partition(
        cell,
        nodes,
        initial_nano_epsilon=initialise,
        adjust_nano_epsilon=adjust,
        super_node_size=params.super_node_size,
        max_super_nodes=params.max_super_nodes,
        rng=rng,
    )
    count = int(labels.max()) + 1
    with cell.parallel(nano_epsilon=rest, labels=labels) as (within, across):
        degrees = within.laplace("degrees", nano_epsilon=rest, purpose="degrees inside communities")
        row, column, edges = noisy_blocks(across, labels, count, rest)
    return {
        "labels": labels.astype(np.int32),
        "inside": norm_sub_groups(degrees, labels, count).astype(np.float32),
        "row": row,
        "column": column,
        "edges": edges,
    }


def draw(columns: Columns, nodes: int, params: PrivGraphParams, rng: Rng) -> np.ndarray:
    """Sample each block its noisy number of distinct pairs.

    Returned are sorted keys ``low * nodes + high``. Ends are sampled by degree inside a community and
    uniformly between two. O(m log m + n log n + k^2).
    """
    labels = columns["labels"].astype(np.int64)
    inside = columns["inside"].astype(np.float64)
    diagonal = np.arange(int(labels.max()) + 1)
    mass = np.concatenate([np.bincount(labels, weights=inside) / 2, columns["edges"]])
    blocks = Blocks(
        np.concatenate([diagonal, columns["row"]]),
        np.concatenate([diagonal, columns["column"]]),
        integers(mass, rng),
    )
    return reconstruct(labels, inside, np.ones(nodes), blocks, rng)

"""A private partition into communities, as in PrivGraph.

Source: Yuan et al., USENIX Security 2023. Nodes are merged at random into super-nodes, the noisy super-graph
is clustered with Louvain, and one pass of the exponential mechanism reassigns every node. Or, not in the
paper: labels from one noisy pass in the order of noisy degrees, as ``dcsbm`` makes them.
"""

from __future__ import annotations

import numpy as np

from core.graphs.views.networkit import one_thread
from core.methods._shared.blocks.estimates import norm_sub
from core.methods._shared.blocks.whole import upper_triangle
from core.privacy.entropy import Generator as Rng
from core.privacy.mechanisms.label_stream import LabelRule
from core.privacy.session.private_graph import PrivateCell

SMALLEST_WEIGHT = 0.5  # what a node counts for whose noisy degree is lower
CORE = 0.2  # the share of nodes, those of largest noisy degree, whose edges among them are read twice


def super_nodes(nodes: int, size: int, most: int, rng: Rng) -> np.ndarray:
    """Assign ``nodes`` at random to super-nodes of equal size.

    There are min(ceil(nodes/size), most); int64 (nodes,). Independent of every edge, hence free.
    """
    count = min(-(-nodes // size), most)
    labels = np.empty(nodes, dtype=np.int64)
    # Sizes differ by one at most, and who is with whom depends on no edge.
    labels[rng.permutation(nodes)] = np.arange(nodes) % count
    return labels


def compact(labels: np.ndarray) -> np.ndarray:
    """Renumber the labels 0..k-1 in ascending order; int64."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def noisy_blocks(
    across: PrivateCell, labels: np.ndarray, count: int, nano_epsilon: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measure edge counts between ``count`` communities.

    They are those of the branch that holds no edge inside any. Row and column int32, row < column, and
    float64 counts by Norm-Sub, positive ones only. O(count^2).
    """
    purpose = "edges between communities"
    matrix = across.laplace(
        "group_matrix", nano_epsilon=nano_epsilon, purpose=purpose, labels=labels, groups=count
    )
    row, column = upper_triangle(count)
    off = row < column  # the diagonal holds no edge of this branch, only noise
    counts = norm_sub(matrix[off])
    kept = counts > 0
    return row[off][kept], column[off][kept], counts[kept]


def louvain(weights: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Find communities of the noisy super-graph; int64 (count,).

    ``weights``: upper triangle with diagonal, flattened, as ``group_matrix`` gives it. NormSub is applied to
    the diagonal and the rest apart, so that the many empty cells do not eat the dense ones.
    """
    row, column = upper_triangle(count)
    diagonal = row == column
    clean = np.empty(len(weights), dtype=np.float32)
    clean[diagonal] = np.rint(norm_sub(weights[diagonal]))
    clean[~diagonal] = np.rint(norm_sub(weights[~diagonal]))
    kept = clean > 0
    if not kept.any():
        return np.arange(count, dtype=np.int64)
    pairs = row[kept].astype(np.uint64), column[kept].astype(np.uint64)
    clean = clean[kept].astype(np.float64)
    # The super-graph has a few thousand nodes at most: more threads only cost synchronisation.
    with one_thread() as nk:
        nk.setSeed(seed, False)
        # A self-loop of weight x stands for x inner edges and counts 2x in the volume, in NetworKit as here.
        graph = nk.GraphFromCoo((clean, pairs), n=count, weighted=True, directed=False)
        method = nk.community.PLM(graph, refine=True, gamma=1.0)
        method.run()
    return compact(np.asarray(method.getPartition().getVector(), dtype=np.int64))


def private_partition(
    cell: PrivateCell,
    nodes: int,
    *,
    initial_nano_epsilon: int,
    adjust_nano_epsilon: int,
    super_node_size: int,
    max_super_nodes: int,
    rng: Rng,
) -> np.ndarray:
    """Label all nodes by community, at initial + adjust nano-epsilon.

    Labels are 0..k-1, int64 (nodes,). Cost: one ``group_matrix`` and one ``exponential_labels``, in sequence.
    O(n + m + S^2) for S super-nodes.
    """
    groups = super_nodes(nodes, super_node_size, max_super_nodes, rng)
    count = int(groups.max()) + 1
    noisy = cell.laplace(
        "group_matrix",
        nano_epsilon=initial_nano_epsilon,
        purpose="partition: super-node weights",
        labels=groups,
        groups=count,
    )
    initial = louvain(noisy, count, int(rng.integers(2**31)))[groups]
    adjusted = cell.exponential_labels(
        nano_epsilon=adjust_nano_epsilon,
        labels=initial,
        order=rng.permutation(nodes),
        purpose="partition: adjustment",
    )
    return compact(adjusted)


def streamed_partition(
    cell: PrivateCell,
    nodes: int,
    *,
    initial_nano_epsilon: int,
    adjust_nano_epsilon: int,
    groups: int,
    rng: Rng,
) -> np.ndarray:
    """Label all nodes by community, at initial + adjust nano-epsilon.

    Labels are 0..k-1, int64 (nodes,). Cost: one ``degrees``, by whose order one ``label_stream`` visits the
    nodes, in sequence. O(m + n k).
    """
    noisy = cell.laplace(
        "degrees", nano_epsilon=initial_nano_epsilon, purpose="partition: order of the nodes"
    )
    weights = np.maximum(noisy, SMALLEST_WEIGHT)
    stream = cell.label_stream(
        nano_epsilon=adjust_nano_epsilon,
        # Ties at random: node numbers would carry the order of the upload into the labels.
        order=np.lexsort((rng.random(nodes), -weights)),
        weights=weights,
        rule=LabelRule(groups, int(CORE * nodes)),
        purpose="partition: labels",
    )
    return compact(stream.labels)

"""Enclosing subgraphs of node pairs, with double-radius labels.

SEAL reads them. Zhang and Chen, "Link prediction based on graph neural networks" (NeurIPS 2018), sections 3
and 4. The pair's own link is never part of its subgraph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.evaluation.view import UndirectedView
from core.kernels.decorator import kernel
from core.privacy.entropy import Generator

# Greater labels all mean "far from both ends", and are cut to this one.
MAX_LABEL = 31


@dataclass(frozen=True)
class Subgraphs:
    """Many small graphs laid end to end.

    Graph g has the rows ``starts[g]`` to ``starts[g + 1]``.

    ``nodes`` are the view's nodes, ``labels`` their double-radius labels; a row's neighbours are
    ``indices[indptr[row]:indptr[row + 1]]``, rows again. Row ``starts[g]`` is the source, the next one the
    target.
    """

    starts: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray

    @property
    def count(self) -> int:
        return len(self.starts) - 1


def enclosing(
    view: UndirectedView, source: np.ndarray, target: np.ndarray, hops: int, most: int, rng: Generator
) -> Subgraphs:
    """Induce subgraphs on the nodes around either end.

    They are within ``hops`` of it, at most ``most`` nodes each. Hop by hop; where a hop does not fit, a
    uniform sample of it does. Labels are Zhang and Chen's: 1 for both ends; 1 + min(a, b) + (d // 2) (d // 2
    + d % 2 - 1) with d = a + b, where a and b are the distances in the subgraph to source and target, each
    without the other end; 0 where an end cannot be reached. A pair costs the degrees of its subgraph's nodes;
    ``most`` nodes and their links are kept of it.
    """
    adjacency = view.adjacency
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    mark = np.zeros(view.node_count, dtype=np.int64)
    nodes, sizes = _collect(indptr, indices, source, target, hops, most, mark, rng)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    flat = nodes[np.arange(most) < sizes[:, None]]
    place = np.full(view.node_count, -1, dtype=np.int64)
    induced = indptr, indices, flat, starts, place
    # Twice the same pass: the first counts, so that the second can fill arrays of the right size.
    rows = _induce(*induced, np.empty(0, dtype=np.int64))
    columns = np.empty(rows[-1], dtype=np.int64)
    _induce(*induced, columns)
    return Subgraphs(starts, flat, _label(rows, columns, starts), rows, columns)


@kernel
def _collect(
    indptr: np.ndarray,
    indices: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    hops: int,
    most: int,
    mark: np.ndarray,
    rng: Generator,
) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.full((len(source), most), -1, dtype=np.int64)
    sizes = np.empty(len(source), dtype=np.int64)
    fresh = np.empty(len(mark), dtype=np.int64)
    for g in range(len(source)):
        nodes[g, 0], nodes[g, 1] = source[g], target[g]
        # A stamp of its own for each graph: marks need no clearing.
        stamp = g + 1
        mark[source[g]] = stamp
        mark[target[g]] = stamp
        begin, size = 0, 2
        for _ in range(hops):
            reached = 0
            for x in nodes[g, begin:size]:
                for y in indices[indptr[x] : indptr[x + 1]]:
                    if mark[y] != stamp:
                        mark[y] = stamp
                        fresh[reached] = y
                        reached += 1
            begin = size
            # Fisher and Yates' shuffle of as many as fit: a uniform sample of the hop.
            for taken in range(min(reached, most - size)):
                other = taken + rng.integers(0, reached - taken)
                fresh[taken], fresh[other] = fresh[other], fresh[taken]
                nodes[g, size] = fresh[taken]
                size += 1
        sizes[g] = size
    return nodes, sizes


@kernel
def _induce(
    indptr: np.ndarray,
    indices: np.ndarray,
    flat: np.ndarray,
    starts: np.ndarray,
    place: np.ndarray,
    columns: np.ndarray,
) -> np.ndarray:
    """Compute the CSR row pointer of all induced subgraphs, and fill ``columns`` unless that is empty.

    ``place`` is -1 before and after.
    """
    rows = np.zeros(len(flat) + 1, dtype=np.int64)
    for g in range(len(starts) - 1):
        low, high = starts[g], starts[g + 1]
        for row in range(low, high):
            place[flat[row]] = row
        for row in range(low, high):
            x = flat[row]
            at = rows[row]
            for y in indices[indptr[x] : indptr[x + 1]]:
                other = place[y]
                if other >= 0 and row + other != 2 * low + 1:  # rows low and low + 1: the pair's own link
                    if len(columns):
                        columns[at] = other
                    at += 1
            rows[row + 1] = at
        for row in range(low, high):
            place[flat[row]] = -1
    return rows


@kernel
def _label(rows: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> np.ndarray:
    total = starts[-1]
    labels = np.zeros(total, dtype=np.int64)
    near = np.empty((2, total), dtype=np.int64)
    queue = np.empty(total, dtype=np.int64)
    for g in range(len(starts) - 1):
        low, high = starts[g], starts[g + 1]
        for end in range(2):
            _distances(rows, columns, low, high, low + end, low + 1 - end, near[end], queue)
        labels[low] = 1
        labels[low + 1] = 1
        for row in range(low + 2, high):
            a, b = near[0, row], near[1, row]
            if a >= 0 and b >= 0:
                half, odd = (a + b) // 2, (a + b) % 2
                labels[row] = min(1 + min(a, b) + half * (half + odd - 1), MAX_LABEL)
    return labels


@kernel
def _distances(
    rows: np.ndarray,
    columns: np.ndarray,
    low: int,
    high: int,
    start: int,
    barred: int,
    out: np.ndarray,
    queue: np.ndarray,
) -> None:
    """Search distances from ``start`` in one subgraph without the node ``barred``; -1: unreached."""
    out[low:high] = -1
    out[start] = 0
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        row = queue[head]
        head += 1
        for other in columns[rows[row] : rows[row + 1]]:
            if other != barred and out[other] < 0:
                out[other] = out[row] + 1
                queue[tail] = other
                tail += 1

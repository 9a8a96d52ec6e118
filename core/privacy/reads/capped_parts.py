"""Edges that count under a cap, of a graph in parts. The read, and its proof: :mod:`.node_values`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from core.graphs.stored.parted import PartedCell, PartedGraph
from core.privacy import entropy, queries

PRIORITIES = 2**63
FILE_ENDS = 2**22
"""Ends of edges in one file of :func:`mixed_in_parts`, about: 24 bytes each, sorted in memory."""


def mixed_in_parts(
    graph: PartedGraph, relation: str, groups: np.ndarray, count: int, cap: int, rng: entropy.Generator
) -> np.ndarray:
    """Count capped edges by groups, under priorities from ``rng``; int64 (count, count).

    It is what :func:`~core.privacy.reads.node_values.mixed` counts under the same priorities. Three passes:
    how many edges every node has; where the cap is in the order of those with more, in files beside the
    parts; and the edges that count. O(m log m) time; memory of the nodes, one group and one file.
    """
    declared, state = graph.schema.edge_type(relation), rng.bit_generator.state
    cells = [graph.cell(relation, step) for step in graph.schema.steps_of(relation)]
    ends = np.zeros(len(groups), np.int64)
    for cell in cells:
        for group in cell.groups():
            queries.tally(ends, group.source)
            queries.tally(ends, group.target)
    # Only nodes with more edges than the cap need an order; their ends are spread over files, nodes in a row.
    begins = np.cumsum(np.where(ends > cap, ends, 0))
    last = np.full((2, len(groups)), np.iinfo(np.int64).max)  # priority and place of the last that counts
    with TemporaryDirectory(dir=graph.folder) as scratch:
        paths = [Path(scratch) / str(file) for file in range(1 + int(begins.max(initial=0)) // FILE_ENDS)]
        for source, target, order in _ordered(cells, rng):
            nodes = np.stack([source, target], axis=1).ravel()
            # Ends stand in pairs: entry i belongs to edge i // 2.
            full = np.flatnonzero(ends[nodes] > cap)
            entries = np.stack([nodes[full], order[:, full // 2][0], order[:, full // 2][1]], axis=1)
            file = begins[nodes[full]] // FILE_ENDS
            for number in np.unique(file):
                with paths[number].open("ab") as out:
                    entries[file == number].tofile(out)
        for path in filter(Path.exists, paths):
            node, priority, place = np.fromfile(path, np.int64).reshape(-1, 3).T
            sort = np.lexsort((place, priority, node))
            # Every node in a file has more than ``cap`` ends:
            # its cap-th in the order is the last that counts.
            at = np.flatnonzero(np.diff(node[sort], prepend=-1)) + cap - 1
            last[:, node[sort][at]] = priority[sort][at], place[sort][at]
    # Set back to where the first walk began: the second draws the same priorities.
    square, rng.bit_generator.state = np.zeros((count, count), np.int64), state
    for source, target, order in _ordered(cells, rng):
        kept = np.ones(len(source), bool)
        for end in (source, target):
            # By priority, then by place: ties fall as they do in memory.
            kept &= (order[0] < last[0][end]) | ((order[0] == last[0][end]) & (order[1] <= last[1][end]))
        square += by_groups(groups[source[kept]], groups[target[kept]], count, declared.directed)
    return square


def _ordered(
    cells: Sequence[PartedCell], rng: entropy.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the edges of each group, with their priorities and places among all: (2, edges)."""
    place = 0
    for cell in cells:
        for group in cell.groups():
            priority = rng.integers(0, PRIORITIES, group.count, dtype=np.int64)
            yield group.source, group.target, np.stack([priority, place + np.arange(group.count)])
            place += group.count


def by_groups(one: np.ndarray, other: np.ndarray, count: int, directed: bool) -> np.ndarray:
    """Count pairs of groups; int64 (count, count). Those with -1 count nowhere."""
    held = (one >= 0) & (other >= 0)
    one, other = one[held], other[held]
    if not directed:
        one, other = np.minimum(one, other), np.maximum(one, other)
    return np.bincount(one * count + other, minlength=count * count).reshape(count, count)

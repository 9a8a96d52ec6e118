"""A graph laid out for searches. Components stand in a row, the largest first, hubs first inside each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.evaluation.utility import components
from core.evaluation.utility.paths import _kernels
from core.evaluation.view import UndirectedView


@dataclass(frozen=True)
class Layout:
    """The new numbers of nodes.

    ``place[v]`` is node v's new number; component c holds the numbers bounds[c]..bounds[c + 1].
    """

    place: np.ndarray
    bounds: np.ndarray
    start: np.ndarray
    columns: np.ndarray

    @property
    def node_count(self) -> int:
        return len(self.place)

    @property
    def sizes(self) -> np.ndarray:
        """Nodes of every component, int64, falling."""
        return np.diff(self.bounds)


def laid_out(view: UndirectedView) -> Layout:
    """Lay out a view; O(m + n log n)."""
    n = view.node_count
    labels = view.once(components.labels)
    sizes = np.bincount(labels)
    rank = np.empty(len(sizes), dtype=np.int64)
    largest_first = np.argsort(-sizes, kind="stable")
    rank[largest_first] = np.arange(len(sizes))
    order = np.lexsort((-view.degrees, rank[labels]))
    place = np.empty(n, dtype=np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    bounds = np.concatenate([[0], np.cumsum(sizes[largest_first])]).astype(np.int64)
    start, columns = _kernels.csr(n, view.u, view.v, place)
    return Layout(place, bounds, start, columns)


class Search:
    """Batches of breadth-first searches on one layout. It holds 204 bytes of scratch a node."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._spread = _kernels.spread
        self.batch = _kernels.SOURCES
        self.work = 0  # edge visits, so far
        self._words = np.empty((3, layout.node_count, _kernels.WORDS), dtype=np.uint64)
        self._lists = np.empty((3, layout.node_count), dtype=np.int32)
        self.counts = np.zeros(layout.node_count + 1, dtype=np.int64)  # a distance is below n

    def run(
        self, sources: np.ndarray, bits: np.ndarray, per_source: bool = False
    ) -> tuple[int, np.ndarray, np.ndarray]:
        """Search from sources.

        Returned are the largest distance, and per bit the sum of distances and the nodes reached.

        ``sources`` (new numbers, rising) start with ``bits`` in 0..511; two of one component never share a
        bit. Both arrays are empty unless ``per_source``. Pairs at every distance are added to ``counts``.
        """
        layout = self._layout
        part = np.searchsorted(layout.bounds, sources, side="right") - 1
        held, which = np.unique(part, return_inverse=True)
        full = np.zeros((len(held), self._words.shape[2]), dtype=np.uint64)
        np.bitwise_or.at(full, (which, bits // 64), np.uint64(1) << (bits % 64).astype(np.uint64))
        sums, reached = (np.zeros(self.batch if per_source else 0, dtype=np.int64) for _ in range(2))
        graph = layout.start, layout.columns, layout.bounds[held], layout.bounds[held + 1], full
        scratch = self._words, self._lists
        distance, visited = self._spread(*graph, sources, bits, *scratch, self.counts, sums, reached)
        self.work += visited
        return distance, sums, reached

    def batches(self, sources: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Split ``sources`` (rising) into batches with their bits. Components share bits, so that few do."""
        part = np.searchsorted(self._layout.bounds, sources, side="right") - 1
        first = np.searchsorted(sources, self._layout.bounds[:-1])
        # The number of a source in its own component: components search at once, and share bits.
        rank = np.arange(len(sources)) - first[part]
        for low in range(0, int(rank.max(initial=-1)) + 1, self.batch):
            chosen = (rank >= low) & (rank < low + self.batch)
            yield sources[chosen], rank[chosen] - low

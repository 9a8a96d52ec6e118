"""One snapshot of a typed temporal graph as one graph. It has the step's timed edges and all untimed ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType

TypePair = tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """The place of each node type in the global numbering.

    Types come one after the other, in declared order.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, graph: Graph) -> Layout:
        return cls(tuple(graph.nodes), tuple(table.count for table in graph.nodes.values()))

    @property
    def node_count(self) -> int:
        return sum(self.counts)

    @cached_property
    def starts(self) -> np.ndarray:
        """Return the first global index of every type, int64. At the end is the number of nodes."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    def parts(self) -> Iterable[tuple[str, slice]]:
        """Yield non-empty node types with their global slices. These are of the global numbering."""
        for name, low, high in zip(self.names, self.starts[:-1], self.starts[1:], strict=True):
            if high > low:
                yield name, slice(int(low), int(high))

    def blocks(self, source: np.ndarray, target: np.ndarray) -> dict[TypePair, tuple[np.ndarray, np.ndarray]]:
        """Group global pairs by the types of their ends. They become indices in types. O(m log types)."""
        kinds = len(self.names)
        own = [np.searchsorted(self.starts[1:], ends, side="right") for ends in (source, target)]
        # A key of 16 bits sorts in linear time.
        code = (own[0] * kinds + own[1]).astype(np.int16 if kinds * kinds <= 2**15 else np.int64)
        order = np.argsort(code, kind="stable")
        present, first = np.unique(code[order], return_index=True)
        bounds = np.append(first, len(code))
        by_types = {}
        for kind, low, high in zip(present, bounds[:-1], bounds[1:], strict=True):
            a, b = divmod(int(kind), kinds)
            chosen = order[low:high]
            by_types[a, b] = (source[chosen] - self.starts[a], target[chosen] - self.starts[b])
        return by_types


@dataclass(frozen=True)
class Layer:
    """One step of one graph.

    ``source`` and ``target`` are its distinct arcs in global indices, int64. An arc runs as its relation
    stores it; an undirected relation within one node type gives both directions. ``view`` is the simple
    undirected graph of the same pairs, over all nodes of the universe.
    """

    layout: Layout
    source: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, graph: Graph, relations: Iterable[EdgeType], step: int | None) -> Layer:
        """Collect the timed edges of ``step`` and all untimed edges.

        They are those of ``relations``. O(m log m).
        """
        layout = Layout.of(graph)
        start = dict(zip(layout.names, layout.starts, strict=False))
        n = max(layout.node_count, 1)
        keys = [np.empty(0, dtype=np.int64)]
        for edge_type in relations:
            cell = graph.cell(edge_type.name, step if edge_type.temporal else None)
            source = cell.source.astype(np.int64) + start[edge_type.source]
            target = cell.target.astype(np.int64) + start[edge_type.target]
            keys.append(source * n + target)
            if edge_type.homogeneous and not edge_type.directed:
                keys.append(target * n + source)
        distinct = np.unique(np.concatenate(keys))
        return cls(layout, distinct // n, distinct % n)

    @cached_property
    def view(self) -> UndirectedView:
        """Simple undirected graph of the step."""
        return UndirectedView.of_pairs(self.layout.node_count, self.source, self.target)

    @cached_property
    def arcs(self) -> dict[TypePair, tuple[np.ndarray, np.ndarray]]:
        """Arcs by (source type, target type)."""
        return self.layout.blocks(self.source, self.target)

    @cached_property
    def edges(self) -> dict[TypePair, tuple[np.ndarray, np.ndarray]]:
        """Return undirected edges by (lower type, higher type).

        Types stand one after the other, so u <= v.
        """
        return self.layout.blocks(self.view.u, self.view.v)

    @cached_property
    def typed_degrees(self) -> dict[TypePair, np.ndarray]:
        """Count every node's neighbours by type.

        ``[a, b]``: how many neighbours of type b every node of type a has, float64.
        """
        counts = self.layout.counts
        degrees: dict[TypePair, np.ndarray] = {}
        for (a, b), (u, v) in self.edges.items():
            for key, ends in (((a, b), u), ((b, a), v)):
                met = np.bincount(ends, minlength=counts[key[0]]).astype(np.float64)
                degrees[key] = degrees[key] + met if key in degrees else met
        return degrees

"""A cell seen as one simple undirected graph. The structural metrics are defined on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.graphs.views.networkit import networkit

T = TypeVar("T")


class Sized(Protocol):
    """What is known of an undirected graph without its edges. They need not be there."""

    @property
    def node_count(self) -> int: ...

    @property
    def edge_count(self) -> int: ...

    @property
    def stored(self) -> int: ...

    @property
    def slots(self) -> int: ...

    @property
    def degrees(self) -> np.ndarray: ...


@dataclass(frozen=True)
class DegreesView:
    """A graph known by its degrees only.

    ``degrees`` is (n,) int64, of both sides end to end between two node types. ``mutual``: of a directed
    relation inside one type ends are counted, as :class:`UndirectedView` would count pairs.
    """

    degrees: np.ndarray
    slots: int
    mutual: bool = False

    @classmethod
    def of(cls, relation: EdgeType, sides: Sequence[np.ndarray]) -> DegreesView:
        """View the degrees of a relation's sides, or of its only one."""
        sources, targets = len(sides[0]), len(sides[-1])
        if not relation.homogeneous:
            return cls(np.concatenate(sides), sources * targets)
        if relation.directed:
            return cls(sides[0] + sides[1], sources * (sources - 1), True)
        return cls(sides[0], sources * (sources - 1) // 2)

    @property
    def node_count(self) -> int:
        return len(self.degrees)

    @property
    def edge_count(self) -> int:
        return int(self.degrees.sum()) // 2

    @property
    def stored(self) -> int:
        return self.edge_count


@dataclass(frozen=True)
class UndirectedView:
    """A simple undirected graph over nodes 0..node_count-1.

    Every pair (u, v) stands once, ``u < v``.

    ``bipartite`` says that the first ``source_count`` nodes and the rest are two sides without inner edges.
    ``stored`` is the number of edges as the relation counts them (both directions of a directed one),
    ``slots`` how many it could hold, ``sides`` the degree vectors that it has.
    """

    node_count: int
    u: np.ndarray
    v: np.ndarray
    bipartite: bool
    source_count: int
    stored: int
    slots: int
    sides: dict[str, np.ndarray]
    _found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, cell: Cell) -> UndirectedView:
        """View a cell as an undirected graph.

        Directions are dropped, and both sides of a bipartite relation laid end to end. A pair joined in both
        directions becomes one edge. O(m), O(m log m) for a directed relation.
        """
        # Ends are stored in 32 bits where they fit, in which the keys below would overflow.
        source = cell.source.astype(np.int64)
        target = cell.target.astype(np.int64)
        n = cell.source_count
        rest = (cell.count, slots(cell), sides(cell))
        if not cell.edge_type.homogeneous:
            return cls(n + cell.target_count, source, target + n, True, n, *rest)
        if not cell.edge_type.directed:
            return cls(n, source, target, False, n, *rest)
        # A pair joined both ways becomes one edge.
        keys = np.unique(np.minimum(source, target) * n + np.maximum(source, target))
        return cls(n, keys // n, keys % n, False, n, *rest)

    @classmethod
    def of_pairs(cls, node_count: int, u: np.ndarray, v: np.ndarray) -> UndirectedView:
        """Build the undirected graph of (u, v) pairs.

        It has ``node_count`` nodes; loops and repeats are dropped.
        """
        low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v).astype(np.int64)
        keys = np.unique((low * node_count + high)[low != high])
        u, v = keys // max(node_count, 1), keys % max(node_count, 1)
        degrees = np.bincount(u, minlength=node_count) + np.bincount(v, minlength=node_count)
        room = node_count * (node_count - 1) // 2
        return cls(node_count, u, v, False, node_count, len(u), room, {"degree": degrees})

    @property
    def edge_count(self) -> int:
        return len(self.u)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Degree of every node of the universe, int64."""
        n = self.node_count
        return np.bincount(self.u, minlength=n) + np.bincount(self.v, minlength=n)

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Symmetric CSR adjacency of ones, float64, columns sorted. O(n + m)."""
        rows = np.concatenate([self.u, self.v])
        columns = np.concatenate([self.v, self.u])
        shape = (self.node_count, self.node_count)
        matrix = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
        matrix.sort_indices()
        return matrix

    @cached_property
    def networkit(self) -> Any:
        """NetworKit graph of the same edges. O(n + m)."""
        nk = networkit()
        pairs = (np.ascontiguousarray(self.u), np.ascontiguousarray(self.v))
        return nk.GraphFromCoo(pairs, n=self.node_count)

    def once(self, compute: Callable[[UndirectedView], T]) -> T:
        """Compute ``compute(self)`` at the first call only. Families share triangles and partitions."""
        if compute not in self._found:
            self._found[compute] = compute(self)
        found: T = self._found[compute]
        return found


def slots(cell: Cell) -> int:
    """Count the edges that the cell could hold.

    That is n(n-1)/2, n(n-1) when directed, or n_source * n_target.
    """
    n = cell.source_count
    if not cell.edge_type.homogeneous:
        return n * cell.target_count
    return n * (n - 1) if cell.edge_type.directed else n * (n - 1) // 2


def sides(cell: Cell) -> dict[str, np.ndarray]:
    """Compute the degree vectors of a relation's sides.

    They are int64, one entry per node of the side's universe. Undirected within one node type: ``degree``.
    Directed within one type: ``out`` and ``in``. Between two types: ``source`` and ``target``. O(n + m).
    """
    source = np.bincount(cell.source, minlength=cell.source_count)
    target = np.bincount(cell.target, minlength=cell.target_count)
    names = names_of_sides(cell.edge_type)
    return dict(zip(names, (source, target) if len(names) > 1 else (source + target,), strict=True))


def names_of_sides(relation: EdgeType) -> tuple[str, ...]:
    """Name the sides of a relation that have degrees."""
    if not relation.homogeneous:
        return ("source", "target")
    return ("out", "in") if relation.directed else ("degree",)

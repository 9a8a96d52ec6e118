"""A cell seen as one simple undirected graph: what the structural metrics are defined on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.graphs.graph import Cell


@dataclass(frozen=True)
class UndirectedView:
    """A simple undirected graph over nodes 0..node_count-1; every pair (u, v) stands once, ``u < v``.

    ``bipartite`` says that the first ``source_count`` nodes and the rest are two sides without inner edges.
    """

    node_count: int
    u: np.ndarray
    v: np.ndarray
    bipartite: bool = False
    source_count: int = 0

    @classmethod
    def of(cls, cell: Cell) -> UndirectedView:
        """The view of a cell: directions dropped, both sides of a bipartite relation laid end to end.

        A pair joined in both directions becomes one edge. O(m), O(m log m) for a directed relation.
        """
        source = cell.source.astype(np.int64)
        target = cell.target.astype(np.int64)
        if not cell.edge_type.homogeneous:
            total = cell.source_count + cell.target_count
            return cls(total, source, target + cell.source_count, True, cell.source_count)
        n = cell.source_count
        if not cell.edge_type.directed:
            return cls(n, source, target, False, n)
        keys = np.unique(np.minimum(source, target) * n + np.maximum(source, target))
        return cls(n, keys // n, keys % n, False, n)

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
        """Symmetric CSR adjacency of ones, float64. O(n + m)."""
        rows = np.concatenate([self.u, self.v])
        columns = np.concatenate([self.v, self.u])
        shape = (self.node_count, self.node_count)
        return sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()

    @cached_property
    def networkit(self) -> Any:
        """The same graph as a NetworKit graph. O(n + m)."""
        import networkit as nk

        pairs = (np.ascontiguousarray(self.u), np.ascontiguousarray(self.v))
        return nk.GraphFromCoo(pairs, n=self.node_count)

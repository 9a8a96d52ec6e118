"""The columns that a graph is made of. There are node tables, edge tables with their values, and the cell
that a query sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from core.graphs.columns.arrays import integers_of
from core.graphs.schema import EdgeType

GROUP = 1 << 20  # edges that are looked at together, at most


@dataclass(frozen=True)
class NodeTable:
    """The universe of one node type.

    ``ids`` None means the integers 0..count-1. ``attributes`` are columns of length ``count``;
    a vector attribute is a (count, d) float32 array.
    """

    count: int
    ids: pa.Array | None = None
    attributes: Mapping[str, np.ndarray | pa.Array] = field(default_factory=dict)

    def id_array(self) -> pa.Array:
        """Return the node ids as strings, in index order; O(count)."""
        if self.ids is not None:
            return self.ids.cast(pa.string())
        return pa.array(np.arange(self.count)).cast(pa.string())

    def id_order(self) -> np.ndarray:
        """Return the places of the nodes sorted by id. Integers sort by value where all are, else by their
        bytes.

        It hangs on the ids alone. The order in which nodes were listed may be that in which edges first name
        them: it must reach no method, and no release. O(count log count).
        """
        if self.ids is None:
            return np.arange(self.count)
        ids = self.id_array()
        order = pc.sort_indices(ids).to_numpy().astype(np.int64)
        values, valid, _ = integers_of(pa.chunked_array([ids]))
        by_number: np.ndarray = (
            order[np.argsort(values[order], kind="stable")] if bool(np.all(valid)) else order
        )
        return by_number

    def taken(self, order: np.ndarray) -> NodeTable:
        """Return the nodes in another order, ids and attributes with them."""
        columns = {
            name: column[order] if isinstance(column, np.ndarray) else column.take(pa.array(order))
            for name, column in self.attributes.items()
        }
        return NodeTable(self.count, None if self.ids is None else self.ids.take(pa.array(order)), columns)


@dataclass(frozen=True)
class EdgeValues:
    """What edges carry: columns of equal length, one row for each record.

    Codes of categories, integers and seconds of a day are int32, numbers float64; weights that a method
    publishes are float32, under ``weight``. ``edge`` is the place of the edge that a record belongs to,
    ascending, where edges may have several; None: one record for each edge, in their order.
    """

    columns: Mapping[str, np.ndarray]
    edge: np.ndarray | None = None

    @property
    def count(self) -> int:
        return len(next(iter(self.columns.values())))

    def of_edges(self, kept: np.ndarray, edges: int) -> EdgeValues:
        """Keep the records of some of the ``edges``. These are a mask over them, or places that ascend."""
        if self.edge is None:
            return EdgeValues({name: column[kept] for name, column in self.columns.items()})
        # Edges that are left out close the gaps: each kept edge's new place is how many kept ones stand
        # before it.
        mask = np.zeros(edges, dtype=bool)
        mask[kept] = True
        place = np.cumsum(mask) - 1
        rows = mask[self.edge]
        columns = {name: column[rows] for name, column in self.columns.items()}
        return EdgeValues(columns, place[self.edge[rows]])


@dataclass(frozen=True)
class EdgeTable:
    """Canonical edges of one type. They have int32 or int64 columns of equal length; ``step`` None without
    time.

    ``values`` are what they carry, None where nothing is declared or read. No query of edges sees them.
    """

    source: np.ndarray
    target: np.ndarray
    step: np.ndarray | None = None
    values: EdgeValues | None = None

    @property
    def count(self) -> int:
        return len(self.source)

    def bare(self) -> EdgeTable:
        """Return the same edges, which carry nothing."""
        return self if self.values is None else EdgeTable(self.source, self.target, self.step)


class Edges(Protocol):
    """The edges of one cell, in memory or not. They are for whoever goes over them once, group by group."""

    def groups(self) -> Iterator[Cell]:
        """Yield every edge in one of the groups. Each is a cell of its own over the same universes."""
        ...


@dataclass(frozen=True)
class Cell:
    """The edges of one type in one step: what a query sees. ``step`` is None for an untimed type."""

    edge_type: EdgeType
    step: int | None
    source_count: int
    target_count: int
    source: np.ndarray
    target: np.ndarray

    @property
    def count(self) -> int:
        return len(self.source)

    def groups(self) -> Iterator[Cell]:
        """Yield the edges in groups. All come at once, or GROUP at a time where there are more.

        What is made of a group stays small beside the graph so.
        """
        if self.count <= GROUP:
            yield self
            return
        for first in range(0, self.count, GROUP):
            some = slice(first, first + GROUP)
            yield replace(self, source=self.source[some], target=self.target[some])

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """CSR adjacency of ones, int8; symmetric when undirected and homogeneous. O(n + m)."""
        # An edge stands once in a canonical cell, so that no sum of ones exceeds int8.
        ones = np.ones(self.count, dtype=np.int8)
        shape = (self.source_count, self.target_count)
        forward = sp.coo_array((ones, (self.source, self.target)), shape=shape)
        if self.edge_type.homogeneous and not self.edge_type.directed:
            backward = sp.coo_array((ones, (self.target, self.source)), shape=shape)
            return (forward + backward).tocsr()
        return forward.tocsr()

"""One immutable columnar graph. It has typed nodes, typed edges, optional integer steps, optional values of
edges.

A graph is canonical by construction: ends are indices into their node type's universe, undirected edges
between nodes of one type are stored once with ``source <= target``, each (source, target, step) stands once,
no self-loops, sorted by (step, source, target). :meth:`Graph.build` makes any columns canonical.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from core.graphs.columns.canonical import canonical_edges, canonical_nodes
from core.graphs.columns.tables import Cell, EdgeTable, EdgeValues, NodeTable
from core.graphs.schema import GraphSchema
from core.graphs.schema.edge_attributes import WEIGHT

__all__ = ["PRESENT_FROM", "Cell", "EdgeTable", "EdgeValues", "Graph", "NodeTable"]


PRESENT_FROM = 0.5
"""Where weights are published, an edge counts as one from here on for what is measured of the graph."""


@dataclass(frozen=True)
class Graph:
    """An immutable graph that satisfies its schema."""

    schema: GraphSchema
    nodes: Mapping[str, NodeTable]
    edges: Mapping[str, EdgeTable]

    @property
    def weights(self) -> Mapping[str, np.ndarray]:
        """Published weights of a relation's edges. There is one float32 in (0, 1] for each edge, in the
        edges' order, where a method publishes them; none of a graph that was uploaded: its ``weight``, if
        any, is declared.
        """
        held = {name: table.values for name, table in self.edges.items()}
        return {
            name: values.columns[WEIGHT]
            for name, values in held.items()
            if values is not None and WEIGHT in values.columns and not self.schema.edge_type(name).attributes
        }

    @classmethod
    def build(
        cls, schema: GraphSchema, nodes: Mapping[str, NodeTable], edges: Mapping[str, EdgeTable]
    ) -> Graph:
        """Build a canonical, read-only graph: edges oriented, merged, sorted, free of self-loops.

        Rows of one edge are merged, and so are their values, as the schema declares. Raises ValueError when a
        type, a count, an attribute, an index, a step or a value lies outside the schema. A node type that
        declares its count may be left out of ``nodes``, and values out of ``edges``. O(m log m).
        """
        nodes = canonical_nodes(schema, nodes)
        tables = {}
        for edge_type in schema.edge_types:
            table = edges.get(edge_type.name)
            if table is None:
                none = np.empty(0, dtype=np.int64)
                table = EdgeTable(none, none, none if edge_type.temporal else None)
            tables[edge_type.name] = canonical_edges(schema, edge_type, nodes, table)
        unknown = set(edges) - set(tables)
        if unknown:
            raise ValueError(f"edges of undeclared types: {sorted(unknown)}")
        return cls(schema, MappingProxyType(nodes), MappingProxyType(tables))

    @classmethod
    def of_canonical(
        cls, schema: GraphSchema, nodes: Mapping[str, NodeTable], edges: Mapping[str, EdgeTable]
    ) -> Graph:
        """Build the graph of tables that :func:`merge_edges` made: one of each edge type, kept as it is."""
        return cls(schema, MappingProxyType(canonical_nodes(schema, nodes)), MappingProxyType(dict(edges)))

    def weighted(self, weights: Mapping[str, np.ndarray]) -> Graph:
        """Attach weights. Raises ValueError where a relation has another number of edges, or attributes."""
        edges = dict(self.edges)
        for name, values in weights.items():
            table = edges[name]
            if values.shape != (table.count,) or values.dtype != np.float32:
                raise ValueError(f"weights of {name!r} are no float32 for each of its edges")
            if self.schema.edge_type(name).attributes:
                raise ValueError(f"edges of {name!r} carry attributes of their own")
            edges[name] = replace(table, values=EdgeValues({WEIGHT: values}))
        return replace(self, edges=MappingProxyType(edges))

    def present(self) -> Graph:
        """Drop the weights, and of a relation with weights the edges below PRESENT_FROM."""
        weights = self.weights
        edges = {name: table.bare() if name in weights else table for name, table in self.edges.items()}
        kept = {name: values >= PRESENT_FROM for name, values in weights.items()}
        return replace(self, edges=MappingProxyType(edges)).only(kept)

    def only(self, rows: Mapping[str, np.ndarray]) -> Graph:
        """Keep only these rows of the named relations: sorted places, or a mask.

        Raises ValueError for a graph with weights, which belong to all its edges.
        """
        if self.weights:
            raise ValueError("a graph with weights keeps all its edges")
        edges = dict(self.edges)
        for name, kept in rows.items():
            table = edges[name]
            step = None if table.step is None else table.step[kept]
            values = None if table.values is None else table.values.of_edges(kept, table.count)
            edges[name] = EdgeTable(table.source[kept], table.target[kept], step, values)
        return replace(self, edges=MappingProxyType(edges))

    def equals(self, other: Graph) -> bool:
        """Tell whether two graphs are the same. Compared are schema, nodes (ids, attributes, their order) and
        edges (with their values); O(n + m).
        """
        return (
            self.schema == other.schema and _same(self.nodes, other.nodes) and _same(self.edges, other.edges)
        )

    def cell(self, edge_type: str, step: int | None) -> Cell:
        """Cut out the edges of one type in one step. O(log m), no copy."""
        declared = self.schema.edge_type(edge_type)
        table = self.edges[edge_type]
        if declared.temporal != (step is not None):
            raise KeyError(
                f"edge type {edge_type!r} {'needs' if declared.temporal else 'has'} no step {step}"
            )
        part = slice(None)
        if step is not None:
            if not 0 <= step < self.schema.steps:
                raise KeyError(f"step {step} lies outside the time grid of {self.schema.steps}")
            assert table.step is not None
            # Canonical edges are sorted by step first.
            low, high = np.searchsorted(table.step, [step, step + 1])
            part = slice(int(low), int(high))
        return Cell(
            declared,
            step,
            self.nodes[declared.source].count,
            self.nodes[declared.target].count,
            table.source[part],
            table.target[part],
        )

    def cells(self) -> list[Cell]:
        """List every cell of the schema, empty ones included, in declared order."""
        return [self.cell(t.name, s) for t in self.schema.edge_types for s in self.schema.steps_of(t.name)]


def _same(one: object, other: object) -> bool:
    """Tell whether two columns, tables, or tables by name hold the same; a missing number equals itself."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, NodeTable | EdgeTable | EdgeValues):
        return _same(vars(one), vars(other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        # Only floats have a NaN, which is to equal itself here.
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, pa.Array) and isinstance(other, pa.Array):
        equal: bool = one.equals(other)
        return equal
    return type(one) is type(other) and one == other

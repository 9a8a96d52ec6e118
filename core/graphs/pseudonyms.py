"""Fresh names and a fresh order for the nodes of a graph, so that neither carries what the original held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.graph import EdgeTable, Graph, NodeTable

MIN_DIGITS = 6


class Permuter(Protocol):
    """The part of ``numpy.random.Generator`` that is used here."""

    def permutation(self, x: int, /) -> np.ndarray: ...


def pseudonymise(
    graph: Graph, rng: Permuter, kept: Mapping[str, np.ndarray] | None = None
) -> tuple[Graph, dict[str, np.ndarray]]:
    """Put the nodes into a uniformly random order, with ids ``type-000001``, ``type-000002``, ...

    Returns the graph and, for each node type, an int64 array with ``permutations[type][new_index] ==
    old_index``: whoever holds it can undo the renaming, so it is private. Attributes move with their nodes.
    ``kept`` is such an order that an earlier release of the same nodes has: its names stay. O(n + m log m).
    """
    permutations: dict[str, np.ndarray] = {}
    inverse: dict[str, np.ndarray] = {}
    nodes: dict[str, NodeTable] = {}
    for name, table in graph.nodes.items():
        drawn = rng.permutation(table.count) if kept is None else kept[name]
        order = np.asarray(drawn, dtype=np.int64)
        back = np.empty(table.count, dtype=np.int64)
        back[order] = np.arange(table.count)
        permutations[name], inverse[name] = order, back
        nodes[name] = NodeTable(
            table.count,
            pseudonyms(name, table.count),
            {key: _taken(column, order) for key, column in table.attributes.items()},
        )
    edges = {}
    for edge_type in graph.schema.edge_types:
        table_of = graph.edges[edge_type.name]
        edges[edge_type.name] = EdgeTable(
            inverse[edge_type.source][table_of.source],
            inverse[edge_type.target][table_of.target],
            table_of.step,
            table_of.values,
        )
    return Graph.build(graph.schema, nodes, edges), permutations


def pseudonyms(node_type: str, count: int) -> pa.Array:
    """Make the ids ``<type>-000001`` to ``<type>-<count>``, zero-padded to equal length. O(count)."""
    digits = max(MIN_DIGITS, len(str(count)))
    numbers = pc.utf8_lpad(pa.array(np.arange(1, count + 1)).cast(pa.string()), digits, padding="0")
    return pc.binary_join_element_wise(f"{node_type}-", numbers, "")


def _taken(column: np.ndarray | pa.Array, order: np.ndarray) -> np.ndarray | pa.Array:
    return column[order] if isinstance(column, np.ndarray) else column.take(pa.array(order))

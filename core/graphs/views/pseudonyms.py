"""Fresh names and a fresh order for nodes. Neither carries what the original held."""

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
    orders = {
        name: np.asarray(rng.permutation(table.count) if kept is None else kept[name], dtype=np.int64)
        for name, table in graph.nodes.items()
    }
    moved = reordered(graph, orders)
    nodes = {
        name: NodeTable(table.count, pseudonyms(name, table.count), table.attributes)
        for name, table in moved.nodes.items()
    }
    return Graph.build(graph.schema, nodes, moved.edges), orders


def sorted_by_id(graph: Graph) -> tuple[Graph, dict[str, np.ndarray]]:
    """Sort the nodes by their ids. Returned are the graph, and the permutations as :func:`pseudonymise`.

    O(n log n + m log m).
    """
    orders = {name: table.id_order() for name, table in graph.nodes.items()}
    return reordered(graph, orders), orders


def in_id_order(graph: Graph) -> Graph:
    """Return the graph with its nodes by id. So it was stored unless before that rule."""
    orders = {name: table.id_order() for name, table in graph.nodes.items()}
    sorted_already = all((order[1:] > order[:-1]).all() for order in orders.values())
    return graph if sorted_already else reordered(graph, orders)


def reordered(graph: Graph, orders: Mapping[str, np.ndarray]) -> Graph:
    """Reorder the nodes of each type. Edges and attributes move with them. O(n + m log m)."""
    inverse = {}
    for name, order in orders.items():
        inverse[name] = np.empty(len(order), dtype=np.int64)
        inverse[name][order] = np.arange(len(order))
    edges = {}
    for edge_type in graph.schema.edge_types:
        table = graph.edges[edge_type.name]
        edges[edge_type.name] = EdgeTable(
            inverse[edge_type.source][table.source],
            inverse[edge_type.target][table.target],
            table.step,
            table.values,
        )
    nodes = {name: table.taken(orders[name]) for name, table in graph.nodes.items()}
    # Built anew, edges are sorted by their new ends: nothing is left of their old order.
    return Graph.build(graph.schema, nodes, edges)


def pseudonyms(node_type: str, count: int) -> pa.Array:
    """Make the ids ``<type>-000001`` to ``<type>-<count>``, zero-padded to equal length. O(count)."""
    digits = max(MIN_DIGITS, len(str(count)))
    numbers = pc.utf8_lpad(pa.array(np.arange(1, count + 1)).cast(pa.string()), digits, padding="0")
    return pc.binary_join_element_wise(f"{node_type}-", numbers, "")

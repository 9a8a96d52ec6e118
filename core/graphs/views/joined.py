"""Join the graphs of a collection to one. They stand side by side, for what is read and sampled of all of
them together.

Nodes of a graph come after those of the graphs before it, in the declared order, and so do its edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.columns.tables import EdgeTable, EdgeValues
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import EVERY, GraphSchema


def joined(graph: Graph, names: Sequence[str]) -> Graph:
    """Join some graphs of a collection. They stand side by side, with what their edges and nodes carry.

    ``names``: of relations, in the declared order. O(n + m).
    """
    counts = [graph.nodes[name].count for name in names]
    first = np.cumsum([0, *counts])
    tables = [graph.edges[name] for name in names]
    source, target = (
        # ``first`` has one more: the sum, at which no graph begins.
        np.concatenate([getattr(table, side) + start for table, start in zip(tables, first, strict=False)])
        for side in ("source", "target")
    )
    table = EdgeTable(source, target, None, _values(tables))
    kind, relation = graph.schema.node_type_or_every(EVERY), graph.schema.edge_type_or_every(EVERY)
    held = [graph.nodes[name].attributes for name in names]
    attributes = {
        name: _one_column([each[name] for each in held])
        for name in (held[0] if held else ())
        if all(name in each for each in held)
    }
    nodes = NodeTable(int(first[-1]), None, attributes)
    schema = GraphSchema(node_types=(kind,), edge_types=(relation,))
    return Graph.build(schema, {EVERY: nodes}, {EVERY: table})


def _one_column(parts: Sequence[Any]) -> Any:
    if all(isinstance(each, np.ndarray) for each in parts):
        return np.concatenate(parts)
    columns = [pa.array(each) if isinstance(each, np.ndarray) else each for each in parts]
    return pa.chunked_array(columns).combine_chunks()


def parted(values: EdgeValues, tables: Mapping[str, EdgeTable]) -> dict[str, EdgeValues]:
    """Split joined values by graph. Each graph's edges get what the joined ones carry; ``tables`` in the
    order of joining."""
    last = np.cumsum([table.count for table in tables.values()])
    found = {}
    for (name, table), end in zip(tables.items(), last.tolist(), strict=True):
        start = end - table.count
        if values.edge is None:
            rows, edge = slice(start, end), None
        else:
            # Records stand in the order of their edges.
            rows = slice(*np.searchsorted(values.edge, [start, end]))
            edge = values.edge[rows] - start
        found[name] = EdgeValues({key: column[rows] for key, column in values.columns.items()}, edge)
    return found


def _values(tables: Sequence[EdgeTable]) -> EdgeValues | None:
    """What all edges carry; None where some carry nothing, but were to."""
    held = [each.values for each in tables if each.values is not None]
    if not held or any(each.values is None and each.count for each in tables):
        return None
    columns = {name: np.concatenate([each.columns[name] for each in held]) for name in held[0].columns}
    if held[0].edge is None:
        return EdgeValues(columns)
    before = np.cumsum([0, *(each.count for each in tables)])
    edge = [
        each.values.edge + start
        for each, start in zip(tables, before, strict=False)
        if each.values is not None and each.values.edge is not None
    ]
    return EdgeValues(columns, np.concatenate(edge))

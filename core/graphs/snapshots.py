"""Static graphs from a temporal one: one step, or the union over steps.

Untimed relations belong to no step and are part of every snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import GraphSchema


def static_schema(schema: GraphSchema) -> GraphSchema:
    """The schema without time: same node types, no relation temporal; ``once`` has no meaning left."""
    edge_types = tuple(t.model_copy(update={"temporal": False, "once": False}) for t in schema.edge_types)
    return schema.model_copy(update={"edge_types": edge_types, "time": None})


def snapshot(graph: Graph, step: int) -> Graph:
    """The static graph of one step, over the full node universe. KeyError outside the grid. O(m)."""
    if not 0 <= step < graph.schema.steps:
        raise KeyError(f"step {step} lies outside the time grid of {graph.schema.steps}")
    edges = {}
    for edge_type in graph.schema.edge_types:
        cell = graph.cell(edge_type.name, step if edge_type.temporal else None)
        edges[edge_type.name] = EdgeTable(cell.source, cell.target)
    return Graph.build(static_schema(graph.schema), graph.nodes, edges)


def union(graph: Graph, steps: Iterable[int] | None = None) -> Graph:
    """The static graph of every edge that occurs in one of ``steps`` (all when None). O(m log m)."""
    chosen = None if steps is None else np.array(sorted(set(steps)), dtype=np.int64)
    if chosen is not None and len(chosen) and not (chosen[0] >= 0 and chosen[-1] < graph.schema.steps):
        raise KeyError(f"steps leave the time grid of {graph.schema.steps}")
    edges = {}
    for name, table in graph.edges.items():
        source, target = table.source, table.target
        if chosen is not None and table.step is not None:
            kept = np.isin(table.step, chosen)
            source, target = source[kept], target[kept]
        edges[name] = EdgeTable(source, target)
    return Graph.build(static_schema(graph.schema), graph.nodes, edges)

"""A relation over all time as one static graph. Attacks on links are about it."""

from __future__ import annotations

import numpy as np

from core.evaluation.view import UndirectedView
from core.graphs.graph import Cell, Graph
from core.graphs.schema import EdgeType

MOST_OF_COLLECTION = 16
"""So many graphs of a collection are attacked, and predicted in; which ones follows from public counts."""


def protected_relations(original: Graph, synthetic: Graph) -> list[EdgeType]:
    """List the protected relations of both graphs.

    They are in declared order, those that are not public; of a collection its largest. A collection's graphs
    are alike: those of most nodes stand for all, so that time stays within bounds.
    """
    protected = [t for t in original.schema.edge_types if t.name in synthetic.edges and not t.public]
    if original.schema.collection is None:
        return protected
    largest = sorted(protected, key=lambda t: -original.nodes[t.source].count)[:MOST_OF_COLLECTION]
    return [t for t in protected if t in largest]


def static_cell(graph: Graph, edge_type: EdgeType) -> Cell:
    """Unite the relation's steps: every pair once, sorted. O(m log m) for a temporal relation."""
    table = graph.edges[edge_type.name]
    counts = graph.nodes[edge_type.source].count, graph.nodes[edge_type.target].count
    source, target = table.source, table.target
    if table.step is not None:
        width = max(counts[1], 1)
        keys = np.unique(source.astype(np.int64) * width + target)
        source, target = keys // width, keys % width
    return Cell(edge_type, None, *counts, source, target)


def static_view(graph: Graph, edge_type: EdgeType) -> UndirectedView:
    """Unite the relation's steps, without directions."""
    return UndirectedView.of(static_cell(graph, edge_type))

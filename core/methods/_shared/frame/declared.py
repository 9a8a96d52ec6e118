"""Sampled graphs that keep declared facts.

These are ``functional``, ``once`` and ``edge_bound``. What is sampled from noisy numbers breaks declared
facts by chance. Edges in surplus are left out by a uniformly random choice. Post-processing: read are the
sampled edges and the public schema, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.relations import pair_keys
from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.entropy import Generator as Rng


def drawn_graph(
    schema: GraphSchema, nodes: Mapping[str, int], edges: Mapping[str, EdgeTable], rng: Rng
) -> Graph:
    """Build the canonical graph of ``edges`` over these universes.

    It is as far as declared facts allow. Nodes have no ids. ``rng`` is used only where a relation declares a
    fact. O(m log m).
    """
    graph = Graph.build(schema, {name: NodeTable(size) for name, size in nodes.items()}, edges)
    declared = [each for each in schema.edge_types if each.functional or each.once or each.edge_bound]
    return graph.only({each.name: _kept(each, graph.edges[each.name], rng) for each in declared})


def _kept(relation: EdgeType, table: EdgeTable, rng: Rng) -> np.ndarray:
    """Choose the rows of a canonical table that stay, sorted: in a random order, those that come first."""
    # Uniform, so that whichever comes first below is a random choice among those in conflict.
    rows = rng.permutation(table.count)
    if relation.functional:  # one target over all steps, as the declaration is checked at ingest
        _, first, source = np.unique(table.source[rows], return_index=True, return_inverse=True)
        target = table.target[rows]
        rows = rows[target == target[first][source]]
    if relation.once:
        _, first = np.unique(pair_keys(relation, table.source[rows], table.target[rows]), return_index=True)
        rows = rows[np.sort(first)]
    if relation.edge_bound is not None:
        # Last, as the bound is on what remains: a surplus counted before would cost a step edges for nothing.
        step = np.zeros(len(rows), dtype=np.int64) if table.step is None else table.step[rows]
        order = np.argsort(step, kind="stable")
        sizes = np.bincount(step)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = rows[order[place < relation.edge_bound]]
    return np.sort(rows)

"""Graphs that attacks are tried on: clustered ones, and random ones of the same degrees."""

from __future__ import annotations

import networkx as nx
import numpy as np

from core.evaluation.view import UndirectedView
from core.graphs.graph import Cell, EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType

Pairs = tuple[np.ndarray, np.ndarray]


def clustered(communities: int = 25, size: int = 16, inside: float = 0.6, across: float = 0.003) -> Pairs:
    """Sorted links of a planted partition; communities lie end to end."""
    graph = nx.planted_partition_graph(communities, size, inside, across, seed=5)
    pairs = np.array(sorted(graph.edges), dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


def clustered_bipartite(
    blocks: int = 20, size: int = 12, inside: float = 0.6, across: float = 0.003
) -> Pairs:
    """Links between two sides of ``blocks * size`` nodes, most within a block."""
    rng = np.random.default_rng(6)
    block = np.arange(blocks * size) // size
    share = np.where(block[:, None] == block[None, :], inside, across)
    source, target = np.nonzero(rng.random(share.shape) < share)
    return source, target


def rewired(pairs: Pairs, seed: int = 1, bipartite: bool = False) -> Pairs:
    """A random graph of the same degrees: ten tries a link to exchange two links' ends."""
    rng = np.random.default_rng(seed)
    source, target = (ends.tolist() for ends in pairs)

    def key(a: int, b: int) -> tuple[int, int]:
        return (a, b) if bipartite or a < b else (b, a)

    present = {key(a, b) for a, b in zip(source, target, strict=True)}
    for i, j, turn in rng.integers(0, len(source), (10 * len(source), 3)).tolist():
        a, b, c, d = source[i], target[i], source[j], target[j]
        if turn % 2 and not bipartite:
            c, d = d, c
        one, two = key(a, d), key(c, b)
        loops = not bipartite and (a == d or c == b)
        if loops or one == two or one in present or two in present:
            continue
        present -= {key(a, b), key(c, d)}
        present |= {one, two}
        (source[i], target[i]), (source[j], target[j]) = one, two
    found = np.array(sorted(present), dtype=np.int64)
    return found[:, 0], found[:, 1]


def view_of(node_count: int, pairs: Pairs) -> UndirectedView:
    return UndirectedView.of_pairs(node_count, *pairs)


def bipartite_view(sources: int, targets: int, pairs: Pairs) -> UndirectedView:
    relation = EdgeType(source="person", target="group")
    return UndirectedView.of(Cell(relation, None, sources, targets, *pairs))


def graph_of(node_count: int, pairs: Pairs) -> Graph:
    """The static undirected graph over 0..node_count-1."""
    schema = GraphSchema(node_types=(NodeType(count=node_count),))
    return Graph.build(schema, {"node": NodeTable(node_count)}, {"edge": EdgeTable(*pairs)})

"""Generated graphs for benchmarks: power-law degrees inside planted communities, in any size."""

from __future__ import annotations

import numpy as np

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType


def community_graph(
    nodes: int,
    edges: int,
    *,
    communities: int | None = None,
    inside: float = 0.7,
    exponent: float = 2.5,
    seed: int = 1,
) -> Graph:
    """A simple undirected graph: about ``edges`` edges, a share ``inside`` of them within communities.

    Degrees follow a power law with ``exponent``; communities (sqrt(nodes)/4 by default) have uneven sizes.
    The same seed gives the same graph. O(edges log edges).
    """
    rng = np.random.default_rng(seed)
    count = communities or max(2, int(np.sqrt(nodes) / 4))
    label = np.sort(rng.choice(count, size=nodes, p=rng.dirichlet(np.full(count, 2.0))))
    weight = np.minimum((1 - rng.random(nodes)) ** (-1 / (exponent - 1)), nodes**0.5)
    cumulative = np.concatenate([[0.0], np.cumsum(weight)])
    start = np.searchsorted(label, np.arange(count + 1))
    keys = np.empty(0, dtype=np.int64)
    for _ in range(20):
        if len(keys) >= edges:
            break
        missing = int(1.1 * (edges - len(keys))) + 10  # repeats are expected; the surplus is dropped
        source = _pick(cumulative, np.zeros(missing), np.full(missing, cumulative[-1]), rng)
        own = label[source]
        near = rng.random(missing) < inside
        low = np.where(near, cumulative[start[own]], 0.0)
        high = np.where(near, cumulative[start[own + 1]], cumulative[-1])
        target = _pick(cumulative, low, high, rng)
        fresh = (np.minimum(source, target) * np.int64(nodes) + np.maximum(source, target))[source != target]
        keys = np.unique(np.concatenate([keys, fresh]))
    keys = rng.permutation(keys)[:edges]
    # Node numbers must not give the communities away.
    shuffle = rng.permutation(nodes).astype(np.int32)
    table = EdgeTable(shuffle[keys // nodes], shuffle[keys % nodes])
    return static_graph(nodes, table)


def collaboration_graph(
    nodes: int, papers: int, *, largest: int = 150, exponent: float = 2.6, seed: int = 1
) -> Graph:
    """Link those who wrote a paper together: dense cliques, some very large, as CA-HepPh has.

    A paper has 2 to ``largest`` authors, by a power law with ``exponent``; three of four of its authors are
    of one field, and who wrote much writes more. The same seed gives the same graph. O(edges log edges).
    """
    rng = np.random.default_rng(seed)
    field = rng.integers(0, max(1, nodes // 150), nodes)
    size = np.minimum(1 + (1 - rng.random(papers)) ** (-1 / (exponent - 1)), largest).astype(int)
    weight = (1 - rng.random(nodes)) ** -0.4
    keys: list[np.ndarray] = []
    for count in size:
        first = rng.integers(nodes)
        own = np.where(field == field[first], weight, weight * (field == rng.integers(field.max() + 1)) / 3)
        able = np.flatnonzero(own)
        authors = rng.choice(able, min(count, len(able)), replace=False, p=own[able] / own[able].sum())
        low, high = np.triu_indices(len(authors), 1)
        a, b = np.minimum(authors[low], authors[high]), np.maximum(authors[low], authors[high])
        keys.append(a * np.int64(nodes) + b)
    unique = np.unique(np.concatenate(keys))
    return static_graph(nodes, EdgeTable(unique // nodes, unique % nodes))


def static_graph(nodes: int, table: EdgeTable) -> Graph:
    """The canonical static graph of one undirected relation ``edge`` over nodes 0..nodes-1."""
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": table})


def _pick(cumulative: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    place = np.searchsorted(cumulative, low + rng.random(len(low)) * (high - low), side="right") - 1
    return np.clip(place, 0, len(cumulative) - 2)

"""To NetworkX, imported inside the function: storing a graph needs none of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import STEP, EdgeType
from core.graphs.views.value_tables import edges_of, python_values


def node_keys(graph: Graph) -> dict[str, list[str]]:
    """Name all nodes uniquely. They are named by the id, or ``type/id`` where there are several node
    types."""
    several = len(graph.nodes) > 1
    keys = {}
    for name, table in graph.nodes.items():
        ids, kind = table.id_array().to_pylist(), graph.schema.node_type(name).in_files
        keys[name] = [f"{kind}/{each}" for each in ids] if several else ids
    return keys


def to_networkx(graph: Graph) -> nx.Graph:
    """Convert the graph to NetworkX, every node and attribute included.

    Nodes are named as in :func:`node_keys`; with several node types they carry ``type`` and ``node_id``.
    Edges carry ``time``, the first of their ``step``, where the relation is temporal, ``type`` where there
    are several edge types, what they carry by its names, and ``weight`` where the graph has weights.
    Directed when any relation is directed or joins two node types (the orientation then says which end is
    which); a multigraph when a pair may occur more than once. O(n + m) Python objects.
    """
    schema = graph.schema
    directed = any(t.directed or not t.homogeneous for t in schema.edge_types)
    multiple = schema.temporal or len(schema.edge_types) > 1 or not all(t.merged for t in schema.edge_types)
    made: nx.Graph = {
        (False, False): nx.Graph,
        (False, True): nx.MultiGraph,
        (True, False): nx.DiGraph,
        (True, True): nx.MultiDiGraph,
    }[directed, multiple]()
    keys = node_keys(graph)
    for name, table in graph.nodes.items():
        data = _node_data(schema.node_type(name).in_files, table, len(graph.nodes) > 1)
        made.add_nodes_from(zip(keys[name], data, strict=True))
    for edge_type in schema.edge_types:
        made.add_edges_from(_edge_data(graph, edge_type, keys))
    return made


def _node_data(name: str, table: NodeTable, several: bool) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = [{} for _ in range(table.count)]
    if several:
        for item, each in zip(data, table.id_array().to_pylist(), strict=True):
            item.update(type=name, node_id=each)
    for key, column in table.attributes.items():
        for item, value in zip(data, column.tolist(), strict=True):
            if value is not None and value == value:  # NaN is a missing number
                item[key] = value
    return data


def _edge_data(
    graph: Graph, edge_type: EdgeType, keys: Mapping[str, list[str]]
) -> list[tuple[str, str, dict[str, Any]]]:
    table = graph.edges[edge_type.name]
    data = python_values(edge_type, table)
    rows = edges_of(table, slice(None))
    if table.step is not None:
        assert graph.schema.time is not None  # a temporal schema has a grid
        for item, step in zip(data, table.step[rows].tolist(), strict=True):
            item.update({"time": graph.schema.time.times_of(step), STEP: step})
    if len(graph.schema.edge_types) > 1:
        for item in data:
            item["type"] = edge_type.in_files
    sources, targets = keys[edge_type.source], keys[edge_type.target]
    ends = zip(table.source[rows].tolist(), table.target[rows].tolist(), strict=True)
    return [(sources[s], targets[t], item) for (s, t), item in zip(ends, data, strict=True)]

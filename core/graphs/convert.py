"""To and from NetworkX and PyTorch Geometric.

Both libraries are imported inside the functions: neither is needed to store or to ingest a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data, HeteroData


def node_keys(graph: Graph) -> dict[str, list[str]]:
    """Unique names of all nodes: the id, or ``type/id`` where there are several node types."""
    several = len(graph.nodes) > 1
    keys = {}
    for name, table in graph.nodes.items():
        ids = table.id_array().to_pylist()
        keys[name] = [f"{name}/{each}" for each in ids] if several else ids
    return keys


def to_networkx(graph: Graph, *, step_name: str = "step") -> nx.Graph:
    """The graph in NetworkX, every node and attribute included.

    Nodes are named as in :func:`node_keys`; with several node types they carry ``type`` and ``node_id``.
    Edges carry ``step`` where the relation is temporal, ``type`` where there are several edge types, and
    ``weight`` where the graph has weights.
    Directed when any relation is directed or joins two node types (the orientation then says which end is
    which); a multigraph when a pair may occur more than once. O(n + m) Python objects.
    """
    import networkx as nx

    schema = graph.schema
    directed = any(t.directed or not t.homogeneous for t in schema.edge_types)
    multiple = schema.temporal or len(schema.edge_types) > 1
    made: nx.Graph = {
        (False, False): nx.Graph,
        (False, True): nx.MultiGraph,
        (True, False): nx.DiGraph,
        (True, True): nx.MultiDiGraph,
    }[directed, multiple]()
    keys = node_keys(graph)
    for name, table in graph.nodes.items():
        made.add_nodes_from(zip(keys[name], _node_data(name, table, len(graph.nodes) > 1), strict=True))
    for edge_type in schema.edge_types:
        made.add_edges_from(_edge_data(graph, edge_type, keys, step_name))
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
    graph: Graph, edge_type: EdgeType, keys: Mapping[str, list[str]], step_name: str
) -> list[tuple[str, str, dict[str, Any]]]:
    table = graph.edges[edge_type.name]
    several = {"type": edge_type.name} if len(graph.schema.edge_types) > 1 else {}
    sources, targets = keys[edge_type.source], keys[edge_type.target]
    ends = zip(table.source.tolist(), table.target.tolist(), strict=True)
    if table.step is None:
        found = [(sources[s], targets[t], dict(several)) for s, t in ends]
    else:
        steps = table.step.tolist()
        found = [
            (sources[s], targets[t], {step_name: step, **several})
            for (s, t), step in zip(ends, steps, strict=True)
        ]
    if edge_type.name in graph.weights:
        for (_, _, data), weight in zip(found, graph.weights[edge_type.name].tolist(), strict=True):
            data["weight"] = weight
    return found


def from_networkx(made: nx.Graph, schema: GraphSchema, *, step_name: str = "step") -> Graph:
    """The graph that a NetworkX graph holds, under ``schema``; inverse of :func:`to_networkx`.

    Node ids become strings. Edges of temporal relations must carry ``step`` (a step of the grid, not a time).
    Raises IngestRejected with up to 20 findings where nodes or edges break the schema.
    """
    from core.graphs.assemble import assemble
    from core.graphs.networkx_tables import networkx_tables

    nodes, edges = networkx_tables(made, time_name=step_name)
    stepped = schema
    if schema.time is not None:
        grid = schema.time.model_copy(update={"start": 0, "width": 1})
        stepped = schema.model_copy(update={"time": grid})
    graph = assemble(stepped, nodes, edges)
    return Graph.build(schema, graph.nodes, graph.edges)


def to_pyg(graph: Graph) -> Data | HeteroData:
    """The graph in PyTorch Geometric: ``Data`` with one node and one edge type, else ``HeteroData``.

    ``edge_index`` is int64 (2, m); undirected relations between nodes of one type stand in both directions.
    ``step`` (int64, m) stands beside it where the relation is temporal. ``node_id`` lists the ids unless they
    are 0..n-1. Numeric and vector attributes are tensors of their own dtype; others are codes (int64, -1 for
    null) with their values under ``<name>_values``.
    """
    import torch
    from torch_geometric.data import Data, HeteroData

    schema = graph.schema
    single = len(schema.node_types) == 1 and len(schema.edge_types) == 1
    made: Any = Data() if single else HeteroData()
    for name, table in graph.nodes.items():
        store = made if single else made[name]
        store.num_nodes = table.count
        if table.ids is not None:
            store.node_id = table.ids.to_pylist()
        for key, column in table.attributes.items():
            if isinstance(column, np.ndarray):
                store[key] = torch.from_numpy(column.copy())
            else:
                codes = column.dictionary_encode()
                store[key] = torch.from_numpy(codes.indices.fill_null(-1).to_numpy().astype(np.int64))
                store[f"{key}_values"] = codes.dictionary.to_pylist()
    for edge_type in schema.edge_types:
        store = made if single else made[edge_type.source, edge_type.name, edge_type.target]
        table_of = graph.edges[edge_type.name]
        ends = np.stack([table_of.source, table_of.target]).astype(np.int64)
        both = edge_type.homogeneous and not edge_type.directed
        store.edge_index = torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1) if both else ends)
        if table_of.step is not None:
            step = table_of.step.astype(np.int64)
            store.step = torch.from_numpy(np.concatenate([step, step]) if both else step)
    return made


def from_pyg(made: Data | HeteroData, schema: GraphSchema) -> Graph:
    """The graph that PyTorch Geometric data hold, under ``schema``; inverse of :func:`to_pyg`.

    Attributes are read as the schema declares them. Raises ValueError where data and schema disagree.
    """
    single = len(schema.node_types) == 1 and len(schema.edge_types) == 1
    data: Any = made
    nodes = {}
    for node_type in schema.node_types:
        store = data if single else data[node_type.name]
        ids = pa.array(store["node_id"], type=pa.string()) if "node_id" in store else None
        attributes: dict[str, np.ndarray | pa.Array] = {}
        for attribute in node_type.attributes:
            if attribute.name in store:
                values = store[attribute.name].detach().cpu().numpy().copy()
                names = store.get(f"{attribute.name}_values")
                attributes[attribute.name] = values if names is None else _decoded(values, names)
        nodes[node_type.name] = NodeTable(int(store.num_nodes), ids, attributes)
    edges = {}
    for edge_type in schema.edge_types:
        store = data if single else data[edge_type.source, edge_type.name, edge_type.target]
        ends = store["edge_index"].cpu().numpy()
        step = store["step"].cpu().numpy() if edge_type.temporal else None
        edges[edge_type.name] = EdgeTable(ends[0], ends[1], step)
    return Graph.build(schema, nodes, edges)


def _decoded(codes: np.ndarray, values: list[Any]) -> pa.Array:
    return pa.array(values, type=None if values else pa.string()).take(pa.array(codes, mask=codes < 0))

"""A graph as matrices, tensors and the arguments of an igraph graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import STEP, EdgeType
from core.graphs.views.convert import node_keys
from core.graphs.views.value_tables import edges_of, python_values
from core.late import late

to_pyg = late("core.graphs.views.pyg:to_pyg")  # by libraries that whoever wants it installs


def relation_of(graph: Graph, name: str | None) -> EdgeType:
    """Find the relation of that name, or the only one. InvalidInput (``relation``) otherwise."""
    names = [each.name for each in graph.schema.edge_types]
    if name is None and len(names) == 1:
        name = names[0]
    if name not in names:
        raise InvalidInput(f"name one of the relations {', '.join(names)}", field="relation")
    return graph.schema.edge_type(name)


def to_scipy(graph: Graph, relation: str | None = None, step: int | None = None) -> sp.csr_array:
    """Build the adjacency matrix of one relation. It is (n, n), or (n, m) between two node types; of one
    ``step`` or of all.

    Ones, or where edges carry one number and no more that number, summed over steps and records; both
    triangles of an undirected relation. Row i is node i of the type's table. O(n + m).
    """
    kind = relation_of(graph, relation)
    table = graph.edges[kind.name]
    rows = edges_of(table, slice(None))
    source, target = table.source[rows].astype(np.int64), table.target[rows].astype(np.int64)
    columns = [] if table.values is None else list(table.values.columns.values())
    numeric = len(columns) == 1 and all(each.categories is None for each in kind.attributes)
    held = columns[0].astype(np.float64) if numeric else np.ones(len(source), dtype=np.int8)
    if step is not None:
        if table.step is None or not 0 <= step < graph.schema.steps:
            raise InvalidInput("the relation has no such step", field="step")
        of_step = table.step[rows] == step
        source, target, held = source[of_step], target[of_step], held[of_step]
    if kind.homogeneous and not kind.directed:
        source, target, held = (
            np.concatenate([source, target]),
            np.concatenate([target, source]),
            np.concatenate([held, held]),
        )
    shape = (graph.nodes[kind.source].count, graph.nodes[kind.target].count)
    made = sp.coo_array((held, (source, target)), shape=shape).tocsr()
    if not numeric:
        made.data = np.ones_like(made.data)  # an edge of several steps is one entry
    return made


def igraph_arguments(graph: Graph) -> dict[str, Any]:
    """Compute the arguments of ``igraph.Graph``. They are for 0.10 and later: ``n``, ``edges``, ``directed``,
    ``vertex_attrs`` and ``edge_attrs``.

    Named and typed as in :func:`core.graphs.views.convert.to_networkx`; a missing value is None.
    """
    schema, several = graph.schema, len(graph.nodes) > 1
    if schema.collection is not None:
        raise NotAccepted("a collection is many graphs; take to_pyg, which gives a list", field="graph")
    first: dict[str, int] = {}
    vertices: dict[str, list[Any]] = {"name": []}
    for kind, names in node_keys(graph).items():
        first[kind] = len(vertices["name"])
        vertices["name"] += names
    names = list(dict.fromkeys(name for table in graph.nodes.values() for name in table.attributes))
    for name in names:
        vertices[name] = [value for table in graph.nodes.values() for value in _plain(table, name)]
    if several:
        shown = {kind.name: kind.in_files for kind in schema.node_types}
        vertices["type"] = [shown[kind] for kind, table in graph.nodes.items() for _ in range(table.count)]
        vertices["node_id"] = [
            each for table in graph.nodes.values() for each in table.id_array().to_pylist()
        ]
    edges: list[tuple[int, int]] = []
    attributes: list[dict[str, Any]] = []
    for relation in schema.edge_types:
        table = graph.edges[relation.name]
        rows = edges_of(table, slice(None))
        sources = table.source[rows].astype(np.int64) + first[relation.source]
        targets = table.target[rows].astype(np.int64) + first[relation.target]
        edges += zip(sources.tolist(), targets.tolist(), strict=True)
        data = python_values(relation, table)
        if table.step is not None:
            assert schema.time is not None  # a temporal schema has a grid
            for item, step in zip(data, table.step[rows].tolist(), strict=True):
                item.update({"time": schema.time.times_of(step), STEP: step})
        if len(schema.edge_types) > 1:
            for item in data:
                item["type"] = relation.in_files
        attributes += data
    keys = list(dict.fromkeys(name for item in attributes for name in item))
    return {
        "n": len(vertices["name"]),
        "edges": edges,
        "directed": any(each.directed or not each.homogeneous for each in schema.edge_types),
        "vertex_attrs": vertices,
        "edge_attrs": {name: [item.get(name) for item in attributes] for name in keys},
    }


def _plain(table: NodeTable, name: str) -> list[Any]:
    column = table.attributes.get(name)
    if column is None:
        return [None] * table.count
    return [None if value is None or value != value else value for value in column.tolist()]


def to_igraph(graph: Graph) -> Any:
    """Convert the graph to igraph, which whoever wants it installs."""
    try:
        import igraph
    except ImportError as error:
        raise InvalidInput("igraph is not installed here; pip install igraph", field="to_igraph") from error
    return igraph.Graph(**igraph_arguments(graph))

"""A graph as PyTorch Geometric has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch_geometric.data import Data, HeteroData, TemporalData

from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import STEP, EdgeType
from core.graphs.views.value_tables import edges_of

CATEGORIES = "categories"
"""Under this name tensors say what the codes of a category mean."""


def to_pyg(graph: Graph) -> Any:
    """Convert the graph to PyTorch Geometric.

    A ``Data`` of one node type and one relation without time; a ``TemporalData`` where that one has time; a
    list of ``Data`` of a collection, with the class in ``y``; else a ``HeteroData``. Both directions of an
    undirected edge stand in ``edge_index``, (2, 2m) int64; ``TemporalData`` has each edge once. Attributes
    stand under their names, a vector (n, d) and a number (n,) float32, a category (n,) int64 codes, -1 where
    missing, which ``categories`` explains; so does what edges carry, and ``time``, the first of the ``step``.
    """
    schema = graph.schema
    if schema.collection is not None:
        classes = sorted({each.label for each in schema.collection.graphs if each.label is not None})
        graphs = []
        for each in schema.collection.graphs:
            relation = schema.edge_type(each.type_name)
            made = Data(num_nodes=graph.nodes[each.type_name].count)
            _fill(made, _of_nodes(graph.nodes[each.type_name]), _of_edges(graph, relation))
            if each.label is not None:
                made.y, made.classes = _tensor(np.array([classes.index(each.label)])), classes
            graphs.append(made)
        return graphs
    if len(graph.nodes) == len(schema.edge_types) == 1:
        (relation,), (table,) = schema.edge_types, graph.nodes.values()
        if relation.temporal:
            carried, _ = _of_edges(graph, relation, both=False)
            ends = carried.pop("edge_index")
            made = TemporalData(src=_tensor(ends[0]), dst=_tensor(ends[1]), t=_tensor(carried.pop("time")))
            for name, column in carried.items():
                made[name] = _tensor(column)
            return made
        made = Data(num_nodes=table.count)
        _fill(made, _of_nodes(table), _of_edges(graph, relation))
        return made
    made = HeteroData()
    for name, table in graph.nodes.items():
        made[name].num_nodes = table.count
        _fill(made[name], _of_nodes(table))
    for relation in schema.edge_types:
        _fill(made[relation.source, relation.name, relation.target], _of_edges(graph, relation))
    return made


Columns = tuple[dict[str, np.ndarray], dict[str, list[str]]]


def _fill(store: Any, *parts: Columns) -> None:
    """Set tensors under their names, and what codes mean."""
    known: dict[str, list[str]] = {}
    for columns, categories in parts:
        for name, column in columns.items():
            store[name] = _tensor(column)
        known |= categories
    if known:
        store[CATEGORIES] = known


def _tensor(column: np.ndarray) -> Any:
    kind = np.float32 if column.dtype.kind == "f" else np.int64
    return torch.from_numpy(np.array(column, dtype=kind))


def _of_nodes(table: NodeTable) -> Columns:
    columns, known = {}, {}
    for name, column in table.attributes.items():
        if isinstance(column, np.ndarray):
            columns[name] = column
            continue
        names = sorted(column.cast(pa.string()).drop_null().unique().to_pylist())
        codes = pc.index_in(column.cast(pa.string()), value_set=pa.array(names, pa.string()))
        columns[name] = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)
        known[name] = names
    return columns, known


def _of_edges(graph: Graph, relation: EdgeType, *, both: bool = True) -> Columns:
    table = graph.edges[relation.name]
    rows = edges_of(table, slice(None))
    columns: dict[str, np.ndarray] = {"source": table.source[rows], "target": table.target[rows]}
    if table.step is not None:
        assert graph.schema.time is not None  # a temporal schema has a grid
        steps = table.step[rows].astype(np.int64)
        columns |= {"time": graph.schema.time.times_of(steps), STEP: steps}
    if table.values is not None:
        columns |= table.values.columns
    if both and relation.homogeneous and not relation.directed:
        turned = columns | {"source": columns["target"], "target": columns["source"]}
        columns = {name: np.concatenate([column, turned[name]]) for name, column in columns.items()}
    ends = np.stack([columns.pop("source"), columns.pop("target")]).astype(np.int64)
    known = {
        a.name: list(a.categories) for a in relation.attributes if a.categories and table.values is not None
    }
    return {"edge_index": ends, **columns}, known

"""The tables of an archive for DGL, and what describes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import NotAccepted
from core.graphs.formats import _archives
from core.graphs.formats._tables import write_text
from core.graphs.formats.dgl import refuses
from core.graphs.graph import Graph
from core.graphs.schema import GRAPH_ID, STEP, EdgeType, GraphSchema
from core.graphs.views.value_tables import edges_of


def write(graph: Graph, path: Path) -> None:
    """Write the tables and what describes them."""
    if reason := refuses(graph.schema):
        raise NotAccepted(reason, field="format")
    with _archives.archived(path) as folder:
        meta: dict[str, Any] = {"version": "1.0.0", "dataset_name": "graphveil", "separator": ","}
        codes: dict[str, Any] = {"nodes": {}, "edges": {}}
        if graph.schema.collection:
            _write(iter(_node_tables(graph, codes)), folder / "nodes.csv")
            _write(_edges_of(graph, graph.schema.edge_types), folder / "edges.csv")
            meta |= {"node_data": [{"file_name": "nodes.csv"}], "edge_data": [{"file_name": "edges.csv"}]}
            _write(iter([_graphs(graph.schema, codes)]), folder / "graphs.csv")
            meta["graph_data"] = {"file_name": "graphs.csv"}
        else:
            meta |= _typed(graph, folder, codes)
        (folder / "meta.yaml").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
        (folder / "categories.json").write_text(json.dumps(codes, indent=2) + "\n", encoding="utf-8")
        _write(_ids(graph), folder / "ids.csv")


def _typed(graph: Graph, folder: Path, codes: dict[str, Any]) -> dict[str, Any]:
    """Write a table for each node type and relation; what ``meta.yaml`` says of them."""
    nodes, edges = [], []
    for kind, table in zip(graph.nodes, _node_tables(graph, codes), strict=True):
        nodes.append({"file_name": f"nodes-{kind}.csv", "ntype": kind})
        _write(iter([table]), folder / f"nodes-{kind}.csv")
    for relation in graph.schema.edge_types:
        edges.append(
            {
                "file_name": f"edges-{relation.name}.csv",
                "etype": [relation.source, relation.name, relation.target],
            }
        )
        _write(_edges_of(graph, [relation]), folder / f"edges-{relation.name}.csv")
        for attribute in relation.attributes:
            if attribute.categories is not None:
                codes["edges"].setdefault(relation.name, {})[attribute.name] = list(attribute.categories)
    return {"node_data": nodes, "edge_data": edges}


def _graph_places(schema: GraphSchema) -> dict[str, int]:
    """Number the graphs of a collection, by their node types; empty without one."""
    return {kind: place for place, kind in enumerate(schema.graph_ids())}


def _node_tables(graph: Graph, codes: dict[str, Any]) -> list[pa.Table]:
    """Make the columns of every node type; ``codes`` learns what its categories are."""
    places, made = _graph_places(graph.schema), []
    shared = _categories(graph) if places else None
    for kind, table in graph.nodes.items():
        columns: dict[str, Any] = {"node_id": np.arange(table.count)}
        if places:
            columns[GRAPH_ID] = np.full(table.count, places[kind])
        known = shared if shared is not None else _categories(graph, kind)
        for each, column in sorted(table.attributes.items()):
            if not isinstance(column, np.ndarray):
                found = pc.index_in(column.cast(pa.string()), value_set=pa.array(known[each], pa.string()))
                columns[each] = pc.fill_null(found, -1)
            elif column.ndim == 1:
                columns[each] = pa.array(column, mask=np.isnan(column))
            else:
                columns[each] = [",".join(map(str, row)) for row in column.tolist()]
        if known:
            codes["nodes"]["all" if places else kind] = known
        made.append(pa.table(columns))
    return made


def _categories(graph: Graph, kind: str | None = None) -> dict[str, list[str]]:
    """List the values of every category attribute, of one node type or of all: declared, or as found."""
    found: dict[str, list[str]] = {}
    for node_type in graph.schema.node_types:
        if kind is None or node_type.name == kind:
            for attribute in node_type.attributes:
                column = graph.nodes[node_type.name].attributes.get(attribute.name)
                if column is None or isinstance(column, np.ndarray):
                    continue
                declared = attribute.categories or column.cast("string").drop_null().unique().to_pylist()
                known = dict.fromkeys([*found.get(attribute.name, ()), *declared])
                found[attribute.name] = list(known) if attribute.categories else sorted(known)
    return found


def _edges_of(graph: Graph, relations: Iterable[EdgeType]) -> Iterator[pa.Table]:
    places = _graph_places(graph.schema)
    for relation in relations:
        table = graph.edges[relation.name]
        rows = edges_of(table, slice(None))
        columns: dict[str, np.ndarray] = {"src_id": table.source[rows], "dst_id": table.target[rows]}
        if places:
            columns[GRAPH_ID] = np.full(len(columns["src_id"]), places[relation.name])
        if table.step is not None:
            assert graph.schema.time is not None  # a temporal schema has a grid
            steps = table.step[rows].astype(np.int64)
            columns |= {"time": graph.schema.time.times_of(steps), STEP: steps}
        if table.values is not None:
            columns |= table.values.columns
        # DGL's graphs are directed: an undirected edge stands there both ways.
        if relation.homogeneous and not relation.directed:
            turned = columns | {"src_id": columns["dst_id"], "dst_id": columns["src_id"]}
            columns = {each: np.concatenate([column, turned[each]]) for each, column in columns.items()}
        yield pa.table(columns)


def _graphs(schema: GraphSchema, codes: dict[str, Any]) -> pa.Table:
    """List the graphs of a collection, with their classes as numbers."""
    assert schema.collection is not None
    labels = [graph.label for graph in schema.collection.graphs]
    columns = {GRAPH_ID: list(range(len(labels)))}
    classes = sorted({label for label in labels if label is not None})
    if classes:
        columns["label"] = [classes.index(label) for label in labels if label is not None]
    codes["graphs"] = {"label": classes, GRAPH_ID: list(schema.graph_ids().values())}
    return pa.table(columns)


def _ids(graph: Graph) -> Iterator[pa.Table]:
    """Say the id of every numbered node."""
    graph_ids = graph.schema.graph_ids()
    for kind, table in graph.nodes.items():
        owner = {GRAPH_ID: graph_ids[kind]} if graph_ids else {"type": kind}
        columns = {each: pa.repeat(value, table.count) for each, value in owner.items()}
        yield pa.table({**columns, "node_id": np.arange(table.count), "id": table.id_array()})


def _write(tables: Iterator[pa.Table], path: Path) -> None:
    write_text(tables, path, ",")

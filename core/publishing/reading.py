"""A release as a graph again. It has its nodes with ids and attributes, its edges with what they carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import InvalidInput
from core.graphs.columns.arrays import numbers_of_rows
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import AttributeKind, EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import WEIGHT
from core.graphs.uploads.rows import Fault
from core.graphs.uploads.value_columns import read_values


def read_release(folder: Path) -> Graph:
    """Read ``schema.json``, ``nodes.parquet`` and ``edges.parquet`` of a release. O(n + m log m).

    A snapshot of a live stream has one step, 0 whatever its number. Raises InvalidInput where a file is
    missing or contradicts the schema.
    """
    try:
        schema = GraphSchema.model_validate_json((folder / "schema.json").read_bytes())
        listed = pq.read_table(folder / "nodes.parquet")
        rows = pq.read_table(folder / "edges.parquet")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the folder holds no release ({error})", field="folder") from error
    nodes = {kind.name: _nodes(kind, listed) for kind in schema.node_types}
    edges: dict[str, EdgeTable] = {}
    weights: dict[str, np.ndarray] = {}
    for relation in schema.edge_types:
        own = rows.filter(pc.equal(rows["type"], relation.name))
        ends = [
            _places(own[column], nodes[kind])
            for column, kind in (("source", relation.source), ("target", relation.target))
        ]
        step = _steps(own, schema) if relation.temporal else None
        edges[relation.name] = EdgeTable(ends[0], ends[1], step, _values(relation, own))
        if (
            WEIGHT in own.column_names
            and not relation.attributes
            and own[WEIGHT].null_count == 0
            and len(own)
        ):
            # The graph will sort its edges so: weights follow them.
            order = np.lexsort((np.maximum(*ends), np.minimum(*ends)))
            weights[relation.name] = own[WEIGHT].to_numpy().astype(np.float32)[order]
    graph = Graph.build(schema, nodes, edges)
    return graph.weighted(weights) if weights else graph


def _steps(rows: pa.Table, schema: GraphSchema) -> np.ndarray:
    steps = rows["step"].to_numpy()
    return np.zeros_like(steps) if schema.steps == 1 else steps


def _nodes(kind: NodeType, listed: pa.Table) -> NodeTable:
    rows = listed.filter(pc.equal(listed["type"], kind.name))
    attributes: dict[str, np.ndarray | pa.Array] = {}
    for attribute in kind.attributes:
        own = f"{kind.name}.{attribute.name}"
        name = own if own in rows.column_names else attribute.name
        if name in rows.column_names:
            attributes[attribute.name] = _column(rows[name].combine_chunks(), attribute.kind)
    return NodeTable(rows.num_rows, rows["id"].combine_chunks(), attributes)


def _column(column: pa.Array, kind: AttributeKind) -> np.ndarray | pa.Array:
    if kind is AttributeKind.VECTOR:
        return numbers_of_rows(column)
    if kind is AttributeKind.NUMBER:
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return column.cast(pa.string())


def _places(names: pa.ChunkedArray, table: NodeTable) -> np.ndarray:
    places = pc.index_in(names, value_set=table.id_array())
    if places.null_count:
        raise InvalidInput("an edge of the release names a node that it does not list", field="folder")
    indices: np.ndarray = places.to_numpy().astype(np.int64)
    return indices


def _values(relation: EdgeType, rows: pa.Table) -> EdgeValues | None:
    names = [attribute.name for attribute in relation.attributes]
    if not names:
        return None
    faults: list[Fault] = []
    read = read_values(relation, rows, np.arange(rows.num_rows), None, faults)
    if faults:
        raise InvalidInput("an edge of the release carries what its schema does not declare", field="folder")
    return EdgeValues(dict(zip(names, read.columns, strict=True)))


def table(path: Path) -> pa.Table:
    """Read a table of a release."""
    return pq.read_table(path)


def frame(path: Path) -> Any:
    """Read a table of a release as a Polars frame."""
    return pl.read_parquet(path)

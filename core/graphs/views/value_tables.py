"""Edge values in their declaration's words. They come as columns of tables, or as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.columns.tables import EdgeTable
from core.graphs.columns.value_arrays import ARROW, arrow_values
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import WEIGHT, EdgeAttribute, EdgeAttributeKind


def value_fields(graph: Graph) -> list[pa.Field]:
    """List the columns of edge values. Each attribute that some edges of the graph carry has one, in the
    declared order; then comes ``weight``, where a method publishes weights.
    """
    fields: dict[str, pa.DataType] = {}
    for edge_type in graph.schema.edge_types:
        if graph.edges[edge_type.name].values is not None:
            fields.update({a.name: ARROW[a.kind] for a in edge_type.attributes})
    if graph.weights:
        fields.setdefault(WEIGHT, pa.float32())
    return [pa.field(name, kind) for name, kind in fields.items()]


def record_count(table: EdgeTable) -> int:
    """Count the rows that write the table. There is one for each record, or edge that carries nothing."""
    return table.count if table.values is None else table.values.count


def edges_of(table: EdgeTable, records: slice) -> slice | np.ndarray:
    """Find the edge of each of those records."""
    return records if table.values is None or table.values.edge is None else table.values.edge[records]


def value_columns(
    edge_type: EdgeType, table: EdgeTable, records: slice, fields: Sequence[pa.Field]
) -> list[pa.Array]:
    """Make the columns of ``fields``. They are null where these edges carry nothing of that name."""
    declared = {attribute.name: attribute for attribute in edge_type.attributes}
    columns = []
    for field in fields:
        column = None if table.values is None else table.values.columns.get(field.name)
        if column is None:
            columns.append(pa.nulls(len(range(record_count(table))[records]), field.type))
        else:
            own = declared.get(field.name)
            some = column[records]
            columns.append(pa.array(some).cast(field.type) if own is None else arrow_values(own, some))
    return columns


def python_values(edge_type: EdgeType, table: EdgeTable) -> list[dict[str, Any]]:
    """List what each record carries. Categories and times of day are texts, numbers are numbers."""
    values = table.values
    if values is None:
        return [{} for _ in range(table.count)]
    declared: Mapping[str, EdgeAttribute] = {a.name: a for a in edge_type.attributes}
    columns = {name: _plain(declared.get(name), column) for name, column in values.columns.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(attribute: EdgeAttribute | None, column: np.ndarray) -> list[Any]:
    held: list[Any] = column.tolist()
    if attribute is not None and attribute.categories is not None:
        return [attribute.categories[code] for code in held]
    if attribute is not None and attribute.kind is EdgeAttributeKind.TIME_OF_DAY:
        return [str(timedelta(seconds=each)).rjust(8, "0") for each in held]
    return held

"""A graph as tables of names: what an export writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from core.graphs.formats._formulas import escaped
from core.graphs.graph import Graph
from core.graphs.schema import GRAPH_ID, STEP, GraphSchema
from core.graphs.uploads.files import VECTOR_SEPARATOR
from core.graphs.views.value_tables import edges_of, record_count, value_columns, value_fields

ROWS = 1 << 20


def edge_fields(schema: GraphSchema) -> list[pa.Field]:
    """List the structural columns of edges. These are ``source``, ``target``, then ``time``, its ``step`` and
    ``type`` where the schema needs them.

    In a collection ``graph_id``, ``source`` and ``target``: what an upload of it has.
    """
    fields = [pa.field("source", pa.string()), pa.field("target", pa.string())]
    if schema.collection is not None:
        return [pa.field(GRAPH_ID, pa.string()), *fields]
    if schema.temporal:
        fields += [pa.field(name, pa.int64()) for name in ("time", STEP)]
    if len(schema.edge_types) > 1:
        fields.append(pa.field("type", pa.string()))
    return fields


def edge_tables(
    graph: Graph, keys: Mapping[str, pa.Array] | None = None, relations: Collection[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the edges by the names of their ends. They come in canonical order, a bounded number of rows
    each; then what they carry, and their ``weight`` where the graph has weights: null in a relation without.

    ``keys`` name the nodes of each type otherwise than by their ids; ``relations`` are all unless given. At
    least one table comes, so that a graph without edges still says its columns.
    """
    carried = value_fields(graph)
    fields = pa.schema([*edge_fields(graph.schema), *carried])
    names = keys or {name: table.id_array() for name, table in graph.nodes.items()}
    yield fields.empty_table()
    graph_ids = graph.schema.graph_ids()
    for edge_type in graph.schema.edge_types:
        if relations is not None and edge_type.name not in relations:
            continue
        table = graph.edges[edge_type.name]
        for start in range(0, record_count(table), ROWS):
            records = slice(start, start + ROWS)
            rows = edges_of(table, records)
            source = names[edge_type.source].take(pa.array(table.source[rows]))
            target = names[edge_type.target].take(pa.array(table.target[rows]))
            columns = [source, target]
            if graph.schema.temporal:
                step = table.step
                none = pa.nulls(len(source), pa.int64())
                assert graph.schema.time is not None  # a temporal schema has a grid
                steps = None if step is None else step[rows].astype(np.int64)
                times = None if steps is None else graph.schema.time.times_of(steps)
                columns += [none if each is None else pa.array(each) for each in (times, steps)]
            if graph_ids:
                columns.insert(0, pa.repeat(graph_ids[edge_type.name], len(source)))
            elif len(graph.schema.edge_types) > 1:
                columns.append(pa.repeat(edge_type.in_files, len(source)))
            columns += value_columns(edge_type, table, records, carried)
            yield pa.Table.from_arrays(columns, schema=fields)


def node_tables(graph: Graph) -> Iterator[pa.Table]:
    """Yield the nodes of each type. They have ``id``, ``type`` where there are several, and the attributes as
    text.

    In a collection ``graph_id`` and ``id`` come first: what an upload of it has.
    """
    kinds = graph.schema.node_types
    graph_ids = graph.schema.graph_ids()
    names = list(dict.fromkeys(attribute.name for kind in kinds for attribute in kind.attributes))
    for kind in kinds:
        table = graph.nodes[kind.name]
        columns = {"id": table.id_array()}
        if graph_ids:
            columns = {GRAPH_ID: pa.repeat(graph_ids[kind.name], table.count), **columns}
        elif len(kinds) > 1:
            columns["type"] = pa.repeat(kind.in_files, table.count)
        for name in names:
            column = table.attributes.get(name)
            columns[name] = pa.nulls(table.count, pa.string()) if column is None else _texts(column)
        yield pa.table(columns)


def _texts(column: np.ndarray | pa.Array) -> pa.Array:
    """Write the attribute as text: of a vector its numbers, of a missing number nothing."""
    if not isinstance(column, np.ndarray):
        return column.cast(pa.string())
    if column.ndim == 1:
        return pa.array(column, mask=np.isnan(column)).cast(pa.string())
    return pa.array([VECTOR_SEPARATOR.join(map(str, row)) for row in column.tolist()], type=pa.string())


def write_edges(graph: Graph, path: Path, delimiter: str) -> None:
    """Write an edge list with a header line. Isolated nodes are not in it: :func:`write_nodes` says them."""
    write_text(edge_tables(graph), path, delimiter)


def write_nodes(graph: Graph, path: Path, delimiter: str) -> None:
    """Write a node list with a header line. Every node is on it, as an upload of it has."""
    write_text(node_tables(graph), path, delimiter)


def write_text(tables: Iterator[pa.Table], path: Path, delimiter: str) -> None:
    """Write one line a row, with a header."""
    with path.open("wb") as file:
        header = True
        for table in tables:
            if header:
                file.write(delimiter.join(table.column_names).encode() + b"\n")
                header = False
            write_rows(table, file, delimiter)


def write_rows(table: pa.Table, file: IO[bytes], delimiter: str) -> None:
    """Write one line a row."""
    options = pacsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="needed")
    pacsv.write_csv(escaped(_plain(table)), file, options)


def _plain(table: pa.Table) -> pa.Table:
    """Write dictionaries and times of day as the texts that they stand for."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) or pa.types.is_time(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return table


def typed_node_tables(graph: Graph) -> dict[str, pa.Table]:
    """Make a table of each node type. It has ``graph_id`` in a collection, ``id``, then the attributes as
    they are.

    Numbers are float64, null where missing; vectors lists of float32; categories strings.
    """
    graph_ids = graph.schema.graph_ids()
    tables = {}
    for kind, table in graph.nodes.items():
        columns = {GRAPH_ID: pa.repeat(graph_ids[kind], table.count)} if graph_ids else {}
        columns["id"] = table.id_array()
        for name, column in sorted(table.attributes.items()):
            columns[name] = _typed(column)
        tables[kind] = pa.table(columns)
    return tables


def _typed(column: np.ndarray | pa.Array) -> pa.Array:
    if not isinstance(column, np.ndarray):
        return column.cast(pa.string())
    if column.ndim == 1:
        return pa.array(column, mask=np.isnan(column))
    flat = pa.array(np.ascontiguousarray(column).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, column.shape[1])

"""The stored form of a graph. It is a folder of ``schema.json``, ``nodes.parquet`` and ``edges.parquet``, and
where edges carry values ``values.parquet`` (:mod:`core.graphs.stored.values`).

``nodes.parquet`` has the columns ``type``, ``id`` and one for each attribute; ``edges.parquet`` has ``type``,
``source`` and ``target`` (indices into the node types) and ``step`` (null without time). No row group mixes
two types, so that one type is read alone. What Parquet cannot say (an attribute was a NumPy array, ids are
the integers 0..n-1) stands in the file metadata under ``graphveil``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.graphs.stored.values import VALUES, read_values, write_values

ROW_GROUP_ROWS = 1 << 20
COMPRESSION = "zstd"
_KEY = b"graphveil"
_ID_TYPES = {str(t): t for t in (pa.string(), pa.large_string(), pa.int32(), pa.int64())}


def write_graph(graph: Graph, folder: Path) -> None:
    """Write the graph to ``folder``; :func:`read_graph` gives back an equal one. O(n + m).

    The folder is made when missing. A half-written folder has no ``schema.json``: it is written last.
    """
    write_universe(graph, folder)
    write_edges(graph, folder)


def read_graph(folder: Path, *, protected_values: bool = True) -> Graph:
    """Read a graph that :func:`write_graph` stored. ValueError where a file contradicts the schema.

    Without ``protected_values`` only edges of public relations come with what they carry.
    """
    schema = read_schema(folder)
    nodes = _read_nodes(folder / "nodes.parquet")
    edges = _read_edges(schema, folder / "edges.parquet")
    wanted = [t for t in schema.edge_types if t.attributes and (t.public or protected_values)]
    values = read_values(folder / VALUES, wanted) if wanted else {}
    valued = {name: replace(edges[name], values=each) for name, each in values.items()}
    return Graph.build(schema, nodes, edges | valued)


def write_edges(graph: Graph, folder: Path) -> None:
    """Write all but the nodes to ``folder``; with them it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    write_values(graph, folder / VALUES)
    _write_edges(graph, folder / "edges.parquet")
    (folder / "schema.json").write_text(graph.schema.model_dump_json(indent=2) + "\n", encoding="utf-8")


def write_universe(graph: Graph, folder: Path) -> None:
    """Write only the nodes of the graph; :func:`read_universe` gives back equal ones. O(n)."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_nodes(graph, folder / "nodes.parquet")


def read_universe(folder: Path) -> dict[str, NodeTable]:
    """Read the nodes of a stored graph. Its other files need not be there."""
    return _read_nodes(folder / "nodes.parquet")


def read_schema(folder: Path) -> GraphSchema:
    """Read the schema of a stored graph, without its data."""
    return GraphSchema.model_validate_json((folder / "schema.json").read_bytes())


def _slices(count: int) -> Iterator[slice]:
    for start in range(0, count, ROW_GROUP_ROWS):
        yield slice(start, min(start + ROW_GROUP_ROWS, count))


def _write_nodes(graph: Graph, path: Path) -> None:
    columns, notes = _attribute_columns(graph)
    fields = [pa.field("type", pa.dictionary(pa.int16(), pa.string())), pa.field("id", pa.large_string())]
    fields += [pa.field(name, kind) for name, kind in columns.items()]
    schema = pa.schema(fields, metadata={_KEY: json.dumps(notes)})
    type_names = pa.array(list(graph.nodes), type=pa.string())
    # Ids are all different: a list of them would be made in vain. Nobody looks for a range of them either.
    options: dict[str, Any] = {"use_dictionary": ["type", *columns], "write_statistics": False}
    with pq.ParquetWriter(path, schema, compression=COMPRESSION, **options) as writer:
        for code, (name, table) in enumerate(graph.nodes.items()):
            stored = {note["column"]: key for key, note in notes[name]["attributes"].items()}
            for rows in _slices(table.count):
                size = rows.stop - rows.start
                data: list[pa.Array] = [_constant(code, size, type_names), _ids(table, rows)]
                for column, kind in columns.items():
                    attribute = table.attributes[stored[column]] if column in stored else None
                    data.append(pa.nulls(size, kind) if attribute is None else _to_arrow(attribute[rows]))
                writer.write_table(pa.Table.from_arrays(data, schema=schema), row_group_size=ROW_GROUP_ROWS)


def _ids(table: NodeTable, rows: slice) -> pa.Array:
    if table.ids is None:
        return pa.array(np.arange(rows.start, rows.stop)).cast(pa.large_string())
    return table.ids[rows].cast(pa.large_string())


def _constant(code: int, size: int, names: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.full(size, code, dtype=np.int16)), names)


def _attribute_columns(graph: Graph) -> tuple[dict[str, pa.DataType], dict[str, Any]]:
    """Plan one column for each attribute name; ``type.name`` where node types disagree on what it holds."""
    kinds: dict[str, set[str]] = {}
    for table in graph.nodes.values():
        for name, column in table.attributes.items():
            kinds.setdefault(name, set()).add(str(_to_arrow(column[:0]).type))
    columns: dict[str, pa.DataType] = {}
    notes: dict[str, Any] = {}
    for type_name, table in graph.nodes.items():
        described = {}
        for name, column in table.attributes.items():
            stored = name if len(kinds[name]) == 1 else f"{type_name}.{name}"
            columns[stored] = _to_arrow(column[:0]).type
            numpy = None
            if isinstance(column, np.ndarray):
                numpy = {"dtype": column.dtype.str, "dimensions": column.ndim}
            described[name] = {"column": stored, "numpy": numpy}
        ids = None if table.ids is None else str(table.ids.type)
        if ids is not None and ids not in _ID_TYPES:
            raise ValueError(f"node ids of type {ids} cannot be stored; use one of {sorted(_ID_TYPES)}")
        notes[type_name] = {"count": table.count, "ids": ids, "attributes": described}
    return columns, notes


def _to_arrow(column: np.ndarray | pa.Array) -> pa.Array:
    if not isinstance(column, np.ndarray):
        return column
    if column.ndim == 1:
        return pa.array(column)
    flat = pa.array(np.ascontiguousarray(column).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, column.shape[1])


def _read_nodes(path: Path) -> dict[str, NodeTable]:
    with pq.ParquetFile(path) as file:
        notes = json.loads(file.schema_arrow.metadata[_KEY])
        groups = _groups(file, {name: note["count"] for name, note in notes.items()})
        nodes = {}
        for name, note in notes.items():
            wanted = ["id", *(stored["column"] for stored in note["attributes"].values())]
            table = file.read_row_groups(groups[name], columns=wanted)
            ids = None if note["ids"] is None else _one(table["id"]).cast(_ID_TYPES[note["ids"]])
            attributes = {
                key: _from_arrow(_one(table[stored["column"]]), stored["numpy"])
                for key, stored in note["attributes"].items()
            }
            nodes[name] = NodeTable(note["count"], ids, attributes)
    return nodes


def _groups(file: pq.ParquetFile, counts: Mapping[str, int]) -> dict[str, list[int]]:
    """Find row groups of each type, from the counts: types follow one another and share no row group."""
    groups: dict[str, list[int]] = {}
    position = 0
    for name, count in counts.items():
        groups[name] = []
        while count > 0:
            if position >= file.metadata.num_row_groups:
                raise ValueError("the stored file holds fewer rows than it says")
            groups[name].append(position)
            count -= file.metadata.row_group(position).num_rows
            position += 1
        if count < 0:
            raise ValueError("a row group of the stored file mixes two types")
    if position != file.metadata.num_row_groups:
        raise ValueError("the stored file holds more rows than it says")
    return groups


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)


def _from_arrow(column: pa.Array, numpy: dict[str, Any] | None) -> np.ndarray | pa.Array:
    if numpy is None:
        return column
    if numpy["dimensions"] == 1:
        return column.to_numpy(zero_copy_only=False).astype(numpy["dtype"], copy=False)
    flat = column.flatten().to_numpy(zero_copy_only=False).astype(numpy["dtype"], copy=False)
    return flat.reshape(len(column), column.type.list_size)


def _write_edges(graph: Graph, path: Path) -> None:
    tables = graph.edges
    wide = any(np.int64 in (t.source.dtype, t.target.dtype) for t in tables.values())
    index = pa.int64() if wide else pa.int32()
    counts = {name: table.count for name, table in tables.items()}
    fields = [("type", pa.dictionary(pa.int16(), pa.string())), ("source", index), ("target", index)]
    schema = pa.schema([*fields, ("step", pa.int32())], metadata={_KEY: json.dumps(counts)})
    type_names = pa.array(list(tables), type=pa.string())
    packed = dict.fromkeys(("source", "target", "step"), "DELTA_BINARY_PACKED")
    options: dict[str, Any] = {
        "use_dictionary": ["type"],
        "column_encoding": packed,
        "write_statistics": False,
        # The differences between sorted sources are nearly all 0 or 1; those of targets are mostly chance.
        "compression": dict.fromkeys(("type", "source", "step"), COMPRESSION) | {"target": "none"},
    }
    with pq.ParquetWriter(path, schema, **options) as writer:
        for code, table in enumerate(tables.values()):
            for rows in _slices(table.count):
                size = rows.stop - rows.start
                data = [
                    _constant(code, size, type_names),
                    pa.array(table.source[rows]).cast(index),
                    pa.array(table.target[rows]).cast(index),
                    pa.nulls(size, pa.int32()) if table.step is None else pa.array(table.step[rows]),
                ]
                writer.write_table(pa.Table.from_arrays(data, schema=schema), row_group_size=ROW_GROUP_ROWS)


def _read_edges(schema: GraphSchema, path: Path) -> dict[str, EdgeTable]:
    edges = {}
    with pq.ParquetFile(path) as file:
        counts = json.loads(file.schema_arrow.metadata[_KEY])
        groups = _groups(file, counts)
        for name in counts:
            temporal = schema.edge_type(name).temporal
            wanted = ["source", "target", *(["step"] if temporal else [])]
            columns = _columns(file, groups[name], wanted, counts[name])
            edges[name] = EdgeTable(columns[0], columns[1], columns[2] if temporal else None)
    return edges


def _columns(file: pq.ParquetFile, groups: list[int], wanted: list[str], count: int) -> list[np.ndarray]:
    """Read integer columns, one row group after another into arrays of their own; read-only."""
    kinds = [file.schema_arrow.field(name).type.to_pandas_dtype() for name in wanted]
    columns = [np.empty(count, dtype=kind) for kind in kinds]
    done = 0
    for group in groups:
        table = file.read_row_group(group, columns=wanted)
        for name, column in zip(wanted, columns, strict=True):
            column[done : done + table.num_rows] = table[name].to_numpy()
        done += table.num_rows
    for column in columns:
        column.flags.writeable = False
    return columns

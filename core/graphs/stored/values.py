"""What the edges of a stored graph carry: ``values.parquet``, next to its edges.

One row for each record: ``type``, ``edge`` (which of the type's edges it belongs to; null where there is one
record for each edge, in their order) and a column for each attribute, null where the type has none of that
name. No row group mixes two types. A graph whose edges carry nothing has no such file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.columns.tables import EdgeValues
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import EdgeAttributeKind

VALUES = "values.parquet"
ROW_GROUP_ROWS = 1 << 20
_KEY = b"graphveil"


def write_values(graph: Graph, path: Path) -> None:
    """Write what the edges carry as declared; no file where they carry nothing. O(records)."""
    tables = {
        t: values for t in graph.schema.edge_types if t.attributes and (values := graph.edges[t.name].values)
    }
    if not tables:
        return
    kinds = {a.name: a.kind for t in tables for a in t.attributes}
    fields = [pa.field("type", pa.dictionary(pa.int16(), pa.string())), pa.field("edge", pa.int64())]
    fields += [
        pa.field(name, pa.float64() if kind is EdgeAttributeKind.NUMBER else pa.int32())
        for name, kind in kinds.items()
    ]
    counts = {t.name: values.count for t, values in tables.items()}
    schema = pa.schema(fields, metadata={_KEY: json.dumps(counts)})
    types = pa.array([t.name for t in tables], type=pa.string())
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=["type"]) as writer:
        for code, values in enumerate(tables.values()):
            for start in range(0, values.count, ROW_GROUP_ROWS):
                rows = slice(start, min(start + ROW_GROUP_ROWS, values.count))
                size = rows.stop - rows.start
                codes = pa.array(np.full(size, code, dtype=np.int16))
                edge = pa.nulls(size, pa.int64()) if values.edge is None else pa.array(values.edge[rows])
                columns = [pa.DictionaryArray.from_arrays(codes, types), edge]
                for field in fields[2:]:
                    column = values.columns.get(field.name)
                    columns.append(pa.nulls(size, field.type) if column is None else pa.array(column[rows]))
                writer.write_table(
                    pa.Table.from_arrays(columns, schema=schema), row_group_size=ROW_GROUP_ROWS
                )


def read_values(path: Path, edge_types: Sequence[EdgeType]) -> dict[str, EdgeValues]:
    """Read the values of edge types that have some. Nothing of the others is read."""
    if not path.exists():
        return {}
    found = {}
    with pq.ParquetFile(path) as file:
        counts: dict[str, int] = json.loads(file.schema_arrow.metadata[_KEY])
        group = 0
        for name, count in counts.items():
            # Every type begins a row group of its own.
            groups = -(-count // ROW_GROUP_ROWS)
            edge_type = next((t for t in edge_types if t.name == name), None)
            if edge_type is not None:
                names = [attribute.name for attribute in edge_type.attributes]
                table = file.read_row_groups(list(range(group, group + groups)), columns=["edge", *names])
                columns = {each: table[each].to_numpy() for each in names}
                edge = None if edge_type.merged else table["edge"].to_numpy()
                found[name] = EdgeValues(columns, edge)
            group += groups
    return found

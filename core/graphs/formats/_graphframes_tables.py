"""The tables of an archive for GraphFrames."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import NotAccepted
from core.graphs.formats import _archives
from core.graphs.formats._tables import edge_tables, typed_node_tables
from core.graphs.formats.graphframes import refuses
from core.graphs.graph import Graph
from core.graphs.views.convert import node_keys


def write(graph: Graph, path: Path) -> None:
    """Write both tables, one row group a million rows."""
    if reason := refuses(graph.schema):
        raise NotAccepted(reason, field="format")
    keys = {kind: pa.array(names, type=pa.string()) for kind, names in node_keys(graph).items()}
    several = len(graph.nodes) > 1
    rows = []
    for kind, table in typed_node_tables(graph).items():
        if several:
            table = table.rename_columns({"id": "node_id"}).add_column(0, "id", keys[kind])
            shown = graph.schema.node_type(kind).in_files
            table = table.add_column(1, "type", pa.repeat(shown, table.num_rows))
        rows.append(table)
    with _archives.archived(path) as folder:
        vertices = pa.concat_tables(rows, promote_options="permissive")
        pq.write_table(vertices, folder / "vertices.parquet", compression="zstd", row_group_size=1 << 20)
        tables = edge_tables(graph, keys)
        first = next(tables)
        names = {"source": "src", "target": "dst"}
        fields = first.rename_columns([names.get(each, each) for each in first.column_names]).schema
        with pq.ParquetWriter(folder / "edges.parquet", fields, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table.rename_columns(fields.names))

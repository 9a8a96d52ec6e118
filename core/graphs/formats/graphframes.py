"""GraphFrames on Spark: ``vertices.parquet`` and ``edges.parquet``, in one archive. Written only.

Vertices have ``id``, which names a node among all: its own id, or ``type/id`` where there are several node
types, and then ``type`` and ``node_id`` too. Edges have ``src`` and ``dst``, then ``time``, ``type`` and what
they carry. An undirected edge stands once, as everywhere in a release; ``graph_id`` names the graph of a
collection.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import NotAccepted
from core.graphs.formats import _archives
from core.graphs.schema import GraphSchema
from core.graphs.uploads.batches import Part, refuses_names

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "graphframes"
media_type = _archives.MEDIA_TYPE
extensions = ("graphframes.zip",)
parts: frozenset[Part] = frozenset()


def refuses(schema: GraphSchema) -> str | None:
    """Say which attribute's name GraphFrames uses itself, or None."""
    return refuses_names(schema, name, frozenset(), frozenset({"src", "dst"}))


def write(graph: Graph, path: Path) -> None:
    """Write both tables, one row group a million rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from core.graphs.formats._tables import edge_tables, typed_node_tables
    from core.graphs.views.convert import node_keys

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

"""GraphFrames on Spark: ``vertices.parquet`` and ``edges.parquet``, in one archive. Written only.

Vertices have ``id``, which names a node among all: its own id, or ``type/id`` where there are several node
types, and then ``type`` and ``node_id`` too. Edges have ``src`` and ``dst``, then ``time``, ``type`` and what
they carry. An undirected edge stands once, as everywhere in a release; ``graph_id`` names the graph of a
collection.
"""

from __future__ import annotations

from core.graphs.formats import _archives
from core.graphs.schema import GraphSchema
from core.graphs.uploads.batches import Part, refuses_names
from core.late import late

name = "graphframes"
media_type = _archives.MEDIA_TYPE
extensions = ("graphframes.zip",)
parts: frozenset[Part] = frozenset()


def refuses(schema: GraphSchema) -> str | None:
    """Say which attribute's name GraphFrames uses itself, or None."""
    return refuses_names(schema, name, frozenset(), frozenset({"src", "dst"}))


write = late("core.graphs.formats._graphframes_tables:write")

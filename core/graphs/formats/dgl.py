"""An archived folder for ``dgl.data.CSVDataset``. It has ``meta.yaml`` and its tables. Written only.

Nodes are numbered from 0 in every type (of a collection: in every graph); ``ids.csv`` has their ids. An
undirected edge within one node type stands in both directions, as DGL wants it. Categories are numbers, -1
where missing, and ``categories.json`` says which; times of day are seconds. A collection's graphs are DGL's
graphs, with their classes as ``label`` in ``graphs.csv``. DGL itself reads no relation without edges.
"""

from __future__ import annotations

from core.graphs.formats import _archives
from core.graphs.schema import GRAPH_ID, STEP, GraphSchema
from core.graphs.uploads.batches import Part, refuses_names
from core.late import late

name = "dgl"
media_type = _archives.MEDIA_TYPE
extensions = ("dgl.zip",)
parts: frozenset[Part] = frozenset()


def refuses(schema: GraphSchema) -> str | None:
    """Say which attribute's name the tables use themselves, or None."""
    own = frozenset({"src_id", "dst_id", GRAPH_ID, "time", STEP})
    return refuses_names(schema, name, own | {"node_id"}, own)


write = late("core.graphs.formats._dgl_tables:write")

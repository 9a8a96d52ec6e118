"""METIS's graphs as text. They have a line of sizes, then for each vertex, by number from 1, a line of its
neighbours."""

from __future__ import annotations

from core.graphs.formats import _matrices
from core.graphs.schema import GraphSchema
from core.graphs.schema.edge_attributes import EdgeAttribute, EdgeAttributeKind
from core.graphs.uploads.batches import Part
from core.late import late

name = "metis"
media_type = "text/x-metis"
extensions = ("metis", "graph")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = _matrices.MatrixOptions
read = late("core.graphs.formats._metis_lines:read")
write = late("core.graphs.formats._metis_lines:write")


def refuses(schema: GraphSchema) -> str | None:
    """Say why the schema cannot be written, or None."""
    if len(schema.node_types) > 1 or len(schema.edge_types) > 1 or schema.temporal:
        return "metis holds one static relation within one node type; take csv, parquet or graphml"
    relation = schema.edge_types[0]
    if relation.directed or schema.node_types[0].attributes:
        return "metis holds no direction and no attributes of nodes; take csv, parquet or graphml"
    held = relation.attributes
    if held and (len(held) > 1 or not relation.merged or not _whole(held[0])):
        return "metis holds one number without fraction or sign for each edge; take csv, parquet or graphml"
    return None


def _whole(attribute: EdgeAttribute) -> bool:
    return attribute.kind == EdgeAttributeKind.INTEGER and (attribute.bounds or (-1,))[0] >= 0

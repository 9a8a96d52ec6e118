"""GML, with the node list inside."""

from __future__ import annotations

import re

from core.graphs.schema import GraphSchema
from core.graphs.uploads.batches import DocumentOptions, Part
from core.late import late

name = "gml"
media_type = "text/x-gml"
extensions = ("gml", "gml.gz")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
read = late("core.graphs.formats._gml_document:read")
write = late("core.graphs.formats._gml_document:write")

_KEY = re.compile(r"[A-Za-z][0-9A-Za-z_]*")
_RESERVED = frozenset({"label"})


def refuses(schema: GraphSchema) -> str | None:
    """Say why the schema cannot be written as GML. It allows letters, digits and underscores in attribute
    names."""
    names = [attribute.name for each in schema.node_types for attribute in each.attributes]
    names += [attribute.name for each in schema.edge_types for attribute in each.attributes]
    for name in names:
        if not _KEY.fullmatch(name) or name in _RESERVED:
            return f"gml cannot name the attribute {name!r}; rename it or take graphml"
    return None

"""GEXF for Gephi, the whole graph. It is dynamic where it has snapshots; written as 1.2, read as 1.1 to 1.3
too.

An edge of a temporal relation that carries nothing stands once, with a spell for each run of snapshots that
has it; one that carries something stands once a record, from its snapshot to its snapshot. Ends of a spell
belong to it.
"""

from __future__ import annotations

from core.graphs.schema import GraphSchema
from core.graphs.uploads.batches import DocumentOptions, Part, refuses_names
from core.late import late

name = "gexf"
media_type = "application/gexf+xml"
extensions = ("gexf",)
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
read = late("core.graphs.formats._gexf_document:read")
write = late("core.graphs.formats._gexf_document:write")

_OF_ALL = frozenset({"label", "start", "end", "spells", "viz"})
_OF_NODES = _OF_ALL | {"pid", "parents"}
_OF_EDGES = _OF_ALL | {"relation", "networkx_key"}


def refuses(schema: GraphSchema) -> str | None:
    """Say which attribute's name GEXF uses itself, or None."""
    return refuses_names(schema, name, _OF_NODES, _OF_EDGES)

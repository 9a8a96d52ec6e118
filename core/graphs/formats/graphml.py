"""GraphML, with the node list inside."""

from __future__ import annotations

from core.graphs.uploads.batches import DocumentOptions, Part, refuses_none
from core.late import late

name = "graphml"
media_type = "application/graphml+xml"
extensions = ("graphml", "graphml.gz")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
refuses = refuses_none
read = late("core.graphs.formats._graphml_document:read")
write = late("core.graphs.formats._graphml_document:write")

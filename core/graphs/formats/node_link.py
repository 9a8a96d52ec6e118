"""Node-link JSON (as d3 and NetworkX use it), with the node list inside."""

from __future__ import annotations

from core.graphs.uploads.batches import DocumentOptions, Part, refuses_none
from core.late import late

name = "node_link"
media_type = "application/json"
extensions = ("json", "json.gz")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
refuses = refuses_none
read = late("core.graphs.formats._node_link_document:read")
write = late("core.graphs.formats._node_link_document:write")

"""CSV as Neo4j's ``apoc.export.csv`` writes it. It has nodes, then relationships, in one table of all
columns."""

from __future__ import annotations

from core.graphs.uploads.batches import DocumentOptions, Part, refuses_none
from core.late import late

name = "apoc_csv"
media_type = "text/csv"
extensions = ("apoc.csv",)
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
refuses = refuses_none
read = late("core.graphs.formats._apoc_rows:read")
write = late("core.graphs.formats._apoc_rows:write")

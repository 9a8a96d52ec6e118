"""Edge lists and node lists as comma-separated text; the delimiter can be declared."""

from __future__ import annotations

from core.graphs.uploads.batches import DelimitedOptions, Part, refuses_none
from core.late import late

name = "csv"
media_type = "text/csv"
extensions = ("csv", "csv.gz", "xlsx")
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges", "nodes"})
OptionsModel = DelimitedOptions
refuses = refuses_none
read = late("core.graphs.formats._delimited:read_delimited")
write = late("core.graphs.formats._tables:write_edges", delimiter=",")
write_nodes = late("core.graphs.formats._tables:write_nodes", delimiter=",")

"""Edge lists and node lists as Parquet."""

from __future__ import annotations

from core.graphs.uploads.batches import ColumnOptions, Part, refuses_none
from core.late import late

name = "parquet"
media_type = "application/vnd.apache.parquet"
extensions = ("parquet",)
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges", "nodes"})
OptionsModel = ColumnOptions
refuses = refuses_none
read = late("core.graphs.formats._parquet_rows:read")
write = late("core.graphs.formats._parquet_rows:write")

"""Edge lists and node lists as tab-separated text."""

from __future__ import annotations

from typing import ClassVar

from core.graphs.uploads.batches import DelimitedOptions, Part, refuses_none
from core.late import late


class TabOptions(DelimitedOptions):
    """As for csv, with a tab between fields."""

    usual: ClassVar[str] = "\t"


name = "tsv"
media_type = "text/tab-separated-values"
extensions = ("tsv", "tsv.gz")
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges", "nodes"})
OptionsModel = TabOptions
refuses = refuses_none
read = late("core.graphs.formats._delimited:read_delimited")
write = late("core.graphs.formats._tables:write_edges", delimiter="\t")
write_nodes = late("core.graphs.formats._tables:write_nodes", delimiter="\t")

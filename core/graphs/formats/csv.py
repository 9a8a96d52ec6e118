"""Edge lists and node lists as comma-separated text; the delimiter can be declared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.uploads.batches import DelimitedOptions, Part, RawGraph, ReadRequest, refuses_none

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "csv"
media_type = "text/csv"
extensions = ("csv", "csv.gz", "xlsx")
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges", "nodes"})
OptionsModel = DelimitedOptions
refuses = refuses_none


def read(request: ReadRequest) -> RawGraph:
    """Read the rows of a delimited file. IngestRejected where it cannot be split into the wanted columns."""
    from core.graphs.formats._delimited import read_delimited

    return read_delimited(request)


def write(graph: Graph, path: Path) -> None:
    """Write an edge list with a header line. Isolated nodes are not in it: :func:`write_nodes` says them."""
    from core.graphs.formats._tables import edge_tables, write_text

    write_text(edge_tables(graph), path, ",")


def write_nodes(graph: Graph, path: Path) -> None:
    """Write a node list with a header line. Every node is on it, as an upload of it has."""
    from core.graphs.formats._tables import node_tables, write_text

    write_text(node_tables(graph), path, ",")

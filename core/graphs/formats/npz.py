"""NPZ as ``scipy.sparse.save_npz`` writes it: the adjacency matrix of one static relation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.formats import _matrices
from core.graphs.formats._base import Part, RawGraph, ReadRequest
from core.graphs.schema import GraphSchema

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "npz"
media_type = "application/zip"
extensions = ("npz",)
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = _matrices.MatrixOptions


def read(request: ReadRequest) -> RawGraph:
    """Entries that are not zero, as edges between node numbers from 0; IngestRejected on a damaged file."""
    from core.graphs.formats._npz_entries import entries_of

    return _matrices.raw_graph(entries_of(request), request)


def write(graph: Graph, path: Path) -> None:
    """A CSR matrix of ones or weights; symmetric when the relation is. Row i is node i of the node table."""
    import scipy.sparse as sp

    matrix = _matrices.matrix_of(graph)
    with path.open("wb") as file:
        sp.save_npz(file, matrix)


def refuses(schema: GraphSchema) -> str | None:
    """Why the schema cannot be written as one matrix, or None."""
    return _matrices.refuses(schema)

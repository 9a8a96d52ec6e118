"""NPZ as ``scipy.sparse.save_npz`` writes it. It has the adjacency matrix of one static relation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.formats import _matrices
from core.graphs.uploads.batches import Part, RawGraph, ReadRequest

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "npz"
media_type = "application/zip"
extensions = ("npz",)
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = _matrices.MatrixOptions
refuses = _matrices.refuses


def read(request: ReadRequest) -> RawGraph:
    """Read entries that are not zero as edges. Nodes are numbers from 0; IngestRejected where damaged."""
    from core.graphs.formats._npz_entries import entries_of

    return _matrices.raw_graph(entries_of(request), request)


def write(graph: Graph, path: Path) -> None:
    """Write a CSR matrix of ones or weights; symmetric when the relation is. Row i is node i of the table."""
    import scipy.sparse as sp

    matrix = _matrices.matrix_of(graph)
    with path.open("wb") as file:
        sp.save_npz(file, matrix)

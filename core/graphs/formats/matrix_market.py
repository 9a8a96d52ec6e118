"""MatrixMarket coordinate files (NIST): the adjacency matrix of one static relation."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.findings import reject
from core.graphs.formats import _matrices
from core.graphs.formats._base import Part, RawGraph, ReadRequest, read_document
from core.graphs.schema import GraphSchema

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "matrix_market"
media_type = "text/x-matrix-market"
extensions = ("mtx", "mtx.gz")
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = _matrices.MatrixOptions


def read(request: ReadRequest) -> RawGraph:
    """Entries that are not zero, as edges between node numbers from 0; IngestRejected on a damaged file."""
    import scipy.io
    import scipy.sparse as sp

    data = read_document(request)
    try:
        matrix = scipy.io.mmread(io.BytesIO(data), spmatrix=False)
    except _matrices.READ_ERRORS as error:
        reject(request.file, f"the file is no MatrixMarket matrix ({error}); write it again")
    if not sp.issparse(matrix):
        reject(request.file, "the matrix is dense (array); write it in coordinate form", line=1)
    return _matrices.raw_graph(matrix, request)


def write(graph: Graph, path: Path) -> None:
    """A pattern matrix, or one of weights; symmetric when the relation is. Row i is node i of the table."""
    import scipy.io

    matrix = _matrices.matrix_of(graph)
    edge_type = graph.schema.edge_types[0]
    undirected = edge_type.homogeneous and not edge_type.directed
    with path.open("wb") as file:
        symmetry = "symmetric" if undirected else "general"
        scipy.io.mmwrite(file, matrix, field="real" if graph.weights else "pattern", symmetry=symmetry)


def refuses(schema: GraphSchema) -> str | None:
    """Why the schema cannot be written as one matrix, or None."""
    return _matrices.refuses(schema)

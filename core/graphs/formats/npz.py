"""NPZ as ``scipy.sparse.save_npz`` writes it: the adjacency matrix of one static relation."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.findings import reject
from core.graphs.formats import _matrices
from core.graphs.formats._base import Part, RawGraph, ReadRequest
from core.graphs.schema import GraphSchema

if TYPE_CHECKING:
    import scipy.sparse as sp

    from core.graphs.graph import Graph

name = "npz"
media_type = "application/zip"
extensions = ("npz",)
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = _matrices.MatrixOptions


def read(request: ReadRequest) -> RawGraph:
    """Entries that are not zero, as edges between node numbers from 0; IngestRejected on a damaged file."""
    import scipy.sparse as sp

    try:
        with zipfile.ZipFile(request.path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > request.limits.max_document_bytes:
            limit = request.limits.max_document_bytes
            reject(request.file, f"the file exceeds {limit} bytes when unpacked; use parquet")
        matrix = sp.load_npz(request.path)  # refuses pickled objects
        _check_indices(matrix)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, *_matrices.READ_ERRORS) as error:
        message = f"the file is no sparse matrix of scipy ({error}); write it with scipy.sparse.save_npz"
        reject(request.file, message)
    return _matrices.raw_graph(matrix, request)


def _check_indices(matrix: sp.sparray | sp.spmatrix) -> None:
    # Conversion walks the index arrays in compiled code: they must be in range before it does.
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    elif matrix.format not in ("coo", "dia"):
        raise ValueError(f"sparse layout {matrix.format!r} is not read; save it as csr")


def write(graph: Graph, path: Path) -> None:
    """A CSR matrix of ones or weights; symmetric when the relation is. Row i is node i of the node table."""
    import scipy.sparse as sp

    matrix = _matrices.matrix_of(graph)
    with path.open("wb") as file:
        sp.save_npz(file, matrix)


def refuses(schema: GraphSchema) -> str | None:
    """Why the schema cannot be written as one matrix, or None."""
    return _matrices.refuses(schema)

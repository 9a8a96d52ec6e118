"""Sparse matrices as graphs: one static relation, nodes named by row and column number, from 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.errors import NotAccepted
from core.graphs.findings import reject
from core.graphs.formats._base import Batch, Options, RawGraph, ReadRequest, columnar
from core.graphs.schema import GraphSchema

if TYPE_CHECKING:
    import scipy.sparse as sp

    from core.graphs.graph import Graph

# What a scipy reader raises on a file that is damaged or means something else.
READ_ERRORS = (ValueError, OSError, KeyError, TypeError, IndexError, EOFError, OverflowError, MemoryError)


class MatrixOptions(Options):
    """Nothing to declare: a stored entry that is not zero is an edge."""


def raw_graph(matrix: sp.sparray | sp.spmatrix, request: ReadRequest) -> RawGraph:
    """The non-zero entries as edges. Both triangles of a symmetric matrix come; ingest merges them."""
    return RawGraph(edges=_batches(matrix, request))


def _batches(matrix: sp.sparray | sp.spmatrix, request: ReadRequest) -> Iterator[Batch]:
    import numpy as np
    import pyarrow as pa

    if "time" in request.required or "type" in request.required:
        reject(request.file, "a matrix carries neither time nor type; use csv or parquet for this schema")
    entries = matrix.tocoo()
    present = entries.data != 0
    rows, columns = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    table = pa.table({"source": rows[present].astype(np.int64), "target": columns[present].astype(np.int64)})
    yield columnar(table, bytes_done=request.path.stat().st_size)


def matrix_of(graph: Graph) -> sp.csr_array:
    """The adjacency of the only relation, int8, or its weights, float32; NotAccepted when the schema says
    more than a matrix."""
    import scipy.sparse as sp

    reason = refuses(graph.schema)
    if reason:
        raise NotAccepted(reason, field="format")
    relation = graph.schema.edge_types[0]
    weights, cell = graph.weights.get(relation.name), graph.cell(relation.name, None)
    if weights is None:
        return cell.adjacency
    shape = (cell.source_count, cell.target_count)
    forward = sp.coo_array((weights, (cell.source, cell.target)), shape=shape)
    if relation.homogeneous and not relation.directed:
        return (forward + sp.coo_array((weights, (cell.target, cell.source)), shape=shape)).tocsr()
    return forward.tocsr()


def refuses(schema: GraphSchema) -> str | None:
    """Why the schema cannot be written as one matrix, or None."""
    if len(schema.edge_types) != 1:
        return "a matrix holds one edge type; take csv, parquet or graphml"
    if schema.temporal:
        return "a matrix carries no time; take csv, parquet or graphml"
    return None

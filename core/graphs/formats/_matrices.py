"""Sparse matrices as graphs: one static relation, nodes named by row and column number, from 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import NotAccepted
from core.graphs.findings import reject
from core.graphs.formats._base import Batch, Options, RawGraph, ReadRequest, columnar
from core.graphs.schema import GraphSchema

if TYPE_CHECKING:
    import numpy as np
    import scipy.sparse as sp

    from core.graphs.graph import Graph


class MatrixOptions(Options):
    """Nothing to declare: a stored entry that is not zero is an edge."""


@dataclass(frozen=True)
class Entries:
    """What a matrix stores: for each entry its row and column (int64, from 0) and its value."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def raw_graph(entries: Entries, request: ReadRequest) -> RawGraph:
    """Turn the non-zero entries into edges. Both triangles of a symmetric matrix come; ingest merges them."""
    return RawGraph(edges=_batches(entries, request))


def _batches(entries: Entries, request: ReadRequest) -> Iterator[Batch]:
    import numpy as np
    import pyarrow as pa

    if "time" in request.required or "type" in request.required:
        reject(request.file, "a matrix carries neither time nor type; use csv or parquet for this schema")
    present = entries.values != 0
    ends = {"source": entries.rows, "target": entries.columns}
    table = pa.table({name: each[present].astype(np.int64) for name, each in ends.items()})
    yield columnar(table, bytes_done=request.path.stat().st_size)


def matrix_of(graph: Graph) -> sp.csr_array:
    """Build the relation's adjacency, int8, or its weights, float32; NotAccepted by :func:`refuses`."""
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
    """Say why the schema cannot be written as one matrix, or None."""
    if len(schema.edge_types) != 1:
        return "a matrix holds one edge type; take csv, parquet or graphml"
    if schema.temporal:
        return "a matrix carries no time; take csv, parquet or graphml"
    return None

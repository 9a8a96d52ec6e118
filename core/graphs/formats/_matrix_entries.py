"""Entries of sparse matrices as edges, and relations as sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from core.errors import NotAccepted
from core.graphs.formats._matrices import MatrixOptions, refuses
from core.graphs.graph import Graph
from core.graphs.schema.edge_attributes import WEIGHT
from core.graphs.uploads.batches import END_TYPES, Batch, RawGraph, ReadRequest
from core.graphs.uploads.findings import reject
from core.graphs.uploads.tables import columnar


@dataclass(frozen=True)
class Entries:
    """What a matrix of ``shape`` stores. It has for each entry its row and column (int64, from 0) and its
    value."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    @property
    def square(self) -> bool:
        """Whether rows and columns may be one sort of nodes."""
        return self.shape[0] == self.shape[1]


def raw_graph(entries: Entries, request: ReadRequest) -> RawGraph:
    """Turn the non-zero entries into edges. Both triangles of a symmetric matrix come; ingest merges them.

    Where entries are values, every stored one is an edge, and of an undirected relation one triangle comes.
    Rows and columns of a matrix that is not square are two sorts of nodes.
    """
    if request.homogeneous and not entries.square:
        rows, columns = entries.shape
        reject(
            request.file,
            f"the matrix has {rows} rows and {columns} columns, which are two sorts of nodes, but the schema "
            "has edges within one: declare two node types and a relation between them, or write a square "
            "matrix",
        )
    name = _value_name(request, entries)
    directed = None
    # With values, what is not symmetric has a direction: an edge without one has one value.
    split = name is not None and request.proposes and not _symmetric(entries)
    if request.proposes and entries.square and (split or not _mirrored(entries)):
        directed = True if split else None
        request.remark(
            "The matrix is not symmetric, and nobody said whether its edges have a direction: they are "
            f"proposed {'with' if directed else 'without'} one. Declare the relation otherwise where that is "
            "wrong."
        )
    return RawGraph(edges=_batches(entries, request, name), directed=directed)


def _batches(entries: Entries, request: ReadRequest, name: str | None) -> Iterator[Batch]:
    if "time" in request.required or "type" in request.required:
        reject(request.file, "a matrix carries neither time nor type; use csv or parquet for this schema")
    columns = {"source": entries.rows.astype(np.int64), "target": entries.columns.astype(np.int64)}
    if name is None:
        present = entries.values != 0
        table = pa.table({each: column[present] for each, column in columns.items()})
    else:
        table = pa.table(columns | {name: _numbers(request, name, entries.values)})
        if request.undirected:
            if not _symmetric(entries):
                message = (
                    "the matrix is not symmetric, but its relation is undirected; write one triangle of it"
                )
                reject(request.file, message)
            # Of two triangles one will do; where the file has the lower one alone, that is kept.
            if (entries.rows < entries.columns).any():
                table = table.filter(pa.array(entries.rows <= entries.columns))
    if request.proposes and not entries.square:
        for end, sort in zip(END_TYPES, ("row", "column"), strict=True):
            table = table.append_column(end, pa.repeat(sort, table.num_rows))
    yield columnar(table, bytes_done=request.path.stat().st_size)


def _value_name(request: ReadRequest, entries: Entries) -> str | None:
    """Name the attribute that the entries hold; None where they only say which edges there are.

    Numbers that differ are proposed as weights.
    """
    assert isinstance(request.options, MatrixOptions)
    named, declared = request.options.value, request.values
    if not declared and request.options.extra_columns == "ignore":
        return None
    if request.any_columns:
        numbers = entries.values.dtype.kind in "iuf" and len(entries.values)
        differ = numbers and bool((entries.values != entries.values[0]).any())
        return named or (WEIGHT if differ else None)
    if not declared and named is None:
        return None
    if named is None and len(declared) == 1:
        return declared[0]
    if named is None or (named,) != declared:
        known = ", ".join(declared) or "nothing"
        message = f"a matrix holds one value for each edge, but edges carry {known}; use csv or parquet"
        reject(request.file, message)
    return named


def _numbers(request: ReadRequest, name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "iuf":
        message = f"the matrix holds no real numbers, but edges carry {name!r}; write it with its values"
        reject(request.file, message)
    # Unsigned numbers of 64 bits may pass what int64 holds.
    if values.dtype.kind == "f" or (values.dtype.kind == "u" and values.dtype.itemsize == 8):
        return values.astype(np.float64)
    return values.astype(np.int64)


def _mirrored(entries: Entries) -> bool:
    """Tell whether every entry that is not zero has one across the diagonal. O(m log m)."""
    present = entries.values != 0
    rows, columns = entries.rows[present], entries.columns[present]
    order, turned = np.lexsort((columns, rows)), np.lexsort((rows, columns))
    same = np.array_equal(rows[order], columns[turned]) and np.array_equal(columns[order], rows[turned])
    return bool(same)


def _symmetric(entries: Entries) -> bool:
    """Tell whether one triangle is empty or both hold the same; the diagonal does not count. O(m log m)."""
    parts = []
    for low, high in ((entries.rows, entries.columns), (entries.columns, entries.rows)):
        half = low < high
        low, high, held = low[half], high[half], entries.values[half]
        order = np.lexsort([held, high, low])
        parts.append([column[order] for column in (low, high, held)])
    upper, lower = parts
    if not len(upper[0]) or not len(lower[0]):
        return True
    # NaN on both sides of the diagonal is one value.
    return all(np.array_equal(one, other, equal_nan=True) for one, other in zip(upper, lower, strict=True))


def matrix_of(graph: Graph) -> sp.csr_array:
    """Build the relation's adjacency as a matrix. Entries are int8, or its weights or values; NotAccepted by
    :func:`refuses`.

    A value of zero is stored too. O(n + m).
    """
    reason = refuses(graph.schema)
    if reason:
        raise NotAccepted(reason, field="format")
    relation = graph.schema.edge_types[0]
    values, cell = graph.edges[relation.name].values, graph.cell(relation.name, None)
    if values is None:
        return cell.adjacency
    shape = (cell.source_count, cell.target_count)
    (held,) = values.columns.values()
    ends = (cell.source, cell.target)
    if relation.homogeneous and not relation.directed:
        held = np.concatenate([held, held])
        ends = (np.concatenate([cell.source, cell.target]), np.concatenate([cell.target, cell.source]))
    return sp.coo_array((held, ends), shape=shape).tocsr()

"""Edge lists and node lists as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.findings import reject, shown
from core.graphs.formats._base import Batch, Options, Part, RawGraph, ReadRequest, columnar
from core.graphs.schema import GRAPH_ID, GraphSchema

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from core.graphs.graph import Graph

name = "parquet"
media_type = "application/vnd.apache.parquet"
extensions = ("parquet",)
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges", "nodes"})
OptionsModel = Options

_BATCH_ROWS = 1 << 20


def read(request: ReadRequest) -> RawGraph:
    """The rows in batches; IngestRejected where columns are missing, unknown or of a wrong kind."""
    batches = _batches(request)
    return RawGraph(nodes=batches) if request.part == "nodes" else RawGraph(edges=batches)


def _batches(request: ReadRequest) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(request.path) as file:
            columns = _columns(request, file.schema_arrow)
            size = sum(
                file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)
            )
            if size > request.limits.max_bytes:
                reject(request.file, f"the file exceeds {request.limits.max_bytes} bytes when unpacked")
            yield from _rows(request, file, columns)
    except (pa.ArrowException, OSError) as error:
        reject(request.file, f"the file is no readable Parquet file ({error}); write it again")


def _rows(request: ReadRequest, file: pq.ParquetFile, columns: list[str]) -> Iterator[Batch]:
    import pyarrow as pa

    row, rows = 1, max(file.metadata.num_rows, 1)
    size = request.path.stat().st_size
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
        row += batch.num_rows
        yield columnar(pa.Table.from_batches([batch]), row - batch.num_rows, size * (row - 1) // rows)
    if row == 1:
        yield columnar(file.schema_arrow.empty_table().select(columns))


def _columns(request: ReadRequest, schema: pa.Schema) -> list[str]:
    names = list(schema.names)
    for number, column in enumerate(names, start=1):
        if names.count(column) > 1:
            reject(request.file, f"two columns are named {shown(column)}; rename one", column=number)
        if column in request.wanted:
            problem = _kind_problem(column, schema.field(column).type)
            if problem:
                reject(request.file, problem, column=number)
        elif request.refuses_column(column):
            reject(request.file, request.unknown_column(column), column=number)
    for column in request.required:
        if column not in names:
            reject(request.file, f"the column {column!r} is missing; add it")
    return [column for column in names if column in request.wanted or request.any_columns]


def _kind_problem(column: str, kind: pa.DataType) -> str | None:
    import pyarrow as pa

    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value)
    if column in ("source", "target", "id", GRAPH_ID) and not (text or pa.types.is_integer(value)):
        return f"the column {column!r} is {kind}; cast it to string or integer"
    if column == "time" and not pa.types.is_integer(value):
        return f"the column 'time' is {kind}; cast it to integers in one unit"
    if column == "type" and not text:
        return f"the column 'type' is {kind}; cast it to string"
    return None


def write(graph: Graph, path: Path) -> None:
    """An edge list by node ids, with time as the step. Isolated nodes are not in it."""
    import pyarrow.parquet as pq

    from core.graphs.formats._tables import edge_tables

    tables = edge_tables(graph)
    first = next(tables)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


def refuses(schema: GraphSchema) -> str | None:
    """None: any schema can be written."""
    return None

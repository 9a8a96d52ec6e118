"""Edge lists and node lists as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.findings import reject, shown
from core.graphs.formats._base import Batch, Options, Part, RawGraph, ReadRequest, columnar, refuses_none
from core.graphs.formats._headers import known_names
from core.graphs.schema import GRAPH_ID

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
refuses = refuses_none

_BATCH_ROWS = 1 << 20


def read(request: ReadRequest) -> RawGraph:
    """Read the rows in batches; IngestRejected where columns are missing, unknown or of a wrong kind."""
    batches = _batches(request)
    return RawGraph(nodes=batches) if request.part == "nodes" else RawGraph(edges=batches)


def _batches(request: ReadRequest) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(request.path) as file:
            schema = file.schema_arrow
            names = known_names(schema.names, request.part, request.wanted)
            columns = _columns(request, names, [field.type for field in schema])
            size = sum(
                file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)
            )
            if size > request.limits.max_bytes:
                reject(request.file, f"the file exceeds {request.limits.max_bytes} bytes when unpacked")
            yield from _rows(request, file, dict(zip(names, schema.names, strict=True)), columns)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reject(request.file, f"the file is no readable Parquet file ({error}); write it again")


def _rows(
    request: ReadRequest, file: pq.ParquetFile, stored: dict[str, str], columns: list[str]
) -> Iterator[Batch]:
    """Read the ``columns`` in batches; ``stored`` says under which names the file has them."""
    import pyarrow as pa

    row, rows = 1, max(file.metadata.num_rows, 1)
    size = request.path.stat().st_size
    kept = [stored[column] for column in columns]
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=kept):
        batch.validate(full=True)  # a dictionary's index may point past its end
        row += batch.num_rows
        table = pa.Table.from_batches([batch]).select(kept).rename_columns(columns)
        yield columnar(table, row - batch.num_rows, size * (row - 1) // rows)
    if row == 1:
        yield columnar(file.schema_arrow.empty_table().select(kept).rename_columns(columns))


def _columns(request: ReadRequest, names: list[str], kinds: list[pa.DataType]) -> list[str]:
    for number, (column, kind) in enumerate(zip(names, kinds, strict=True), start=1):
        if names.count(column) > 1:
            reject(request.file, f"two columns are named {shown(column)}; rename one", column=number)
        if column in request.wanted:
            problem = _kind_problem(request, column, kind)
            if problem:
                reject(request.file, problem, column=number)
        elif request.refuses_column(column):
            reject(request.file, request.unknown_column(column), column=number)
    for column in request.required:
        if column not in names:
            reject(request.file, f"the column {column!r} is missing; add it")
    return [column for column in names if column in request.wanted or request.any_columns]


def _kind_problem(request: ReadRequest, column: str, kind: pa.DataType) -> str | None:
    import pyarrow as pa

    from core.graphs.columns import is_text, is_time
    from core.graphs.value_columns import readable

    if column in request.values:
        mend = "cast it to strings, integers, numbers or times"
        return None if readable(kind) else f"the column {column!r} is {kind}; {mend}"
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = is_text(value)
    if column in ("source", "target", "id", GRAPH_ID) and not (text or pa.types.is_integer(value)):
        return f"the column {column!r} is {kind}; cast it to string or integer"
    if column == "time" and not is_time(value) and not text:
        return f"the column 'time' is {kind}; cast it to integers, timestamps or dates"
    if column == "type" and not text:
        return f"the column 'type' is {kind}; cast it to string"
    return None


def write(graph: Graph, path: Path) -> None:
    """Write an edge list by node ids, with time as the step. Isolated nodes are not in it."""
    import pyarrow.parquet as pq

    from core.graphs.formats._tables import edge_tables

    tables = edge_tables(graph)
    first = next(tables)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)

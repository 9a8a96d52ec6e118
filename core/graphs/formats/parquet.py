"""Edge lists and node lists as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.findings import reject, shown
from core.graphs.formats._base import (
    Batch,
    Options,
    Part,
    RawGraph,
    ReadRequest,
    columnar,
    refuses_none,
    unpacked_limit,
)
from core.graphs.formats._headers import known_names
from core.graphs.schema import GRAPH_ID

if TYPE_CHECKING:
    import numpy as np
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
_PIECE_BYTES = 1 << 28
"""Of texts in one table, which has room for 2 GiB of them in a column."""


def read(request: ReadRequest) -> RawGraph:
    """Read the rows in batches; IngestRejected where columns are missing, unknown or of a wrong kind."""
    batches = _batches(request)
    return RawGraph(nodes=batches) if request.part == "nodes" else RawGraph(edges=batches)


def _batches(request: ReadRequest) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(request.path)
        texts = _texts(schema)
        with pq.ParquetFile(request.path, read_dictionary=texts) as file:
            names = known_names(schema.names, request.part, request.wanted)
            columns = _columns(request, names, [field.type for field in schema])
            size = sum(
                file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)
            )
            limit = unpacked_limit(request, request.limits.max_bytes)
            if max(size, _fixed_bytes(file)) > limit:
                reject(request.file, f"the file exceeds {limit} bytes when unpacked")
            stored = dict(zip(names, schema.names, strict=True))
            empty = schema.empty_table().select([stored[name] for name in columns])
            yield from _rows(request, file, empty, columns, frozenset(texts))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reject(request.file, f"the file is no readable Parquet file ({error}); write it again")


def _rows(
    request: ReadRequest, file: pq.ParquetFile, empty: pa.Table, columns: list[str], texts: frozenset[str]
) -> Iterator[Batch]:
    """Read the columns of ``empty`` in batches, under the names ``columns``; ``texts`` are read by index."""
    import pyarrow as pa

    row, rows, unpacked = 1, max(file.metadata.num_rows, 1), 0
    size, limit = request.path.stat().st_size, unpacked_limit(request, request.limits.max_bytes)
    kept = empty.column_names
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=kept):
        batch.validate(full=True)  # a dictionary's index may point past its end
        width = _row_bytes(batch)
        unpacked += int(width.sum())
        if unpacked > limit:
            reject(request.file, f"the file exceeds {limit} bytes when unpacked")
        for first, last in _pieces(width):
            piece = pa.Table.from_batches([batch.slice(first, last - first)])
            table = _plain(piece, texts).select(kept).rename_columns(columns)
            yield columnar(table, row + first, size * (row + last - 1) // rows)
        row += batch.num_rows
    if row == 1:
        yield columnar(empty.rename_columns(columns))


def _texts(schema: pa.Schema) -> list[str]:
    """List the columns of texts, which are read as a dictionary and its indices: a text is there once.

    One long text in a million rows takes a few bytes of a file, and gigabytes where each row has its own.
    """
    import pyarrow as pa

    from core.graphs.columns import is_text

    return [field.name for field in schema if is_text(field.type) or pa.types.is_binary(field.type)]


def _fixed_bytes(file: pq.ParquetFile) -> int:
    """Sum what the values of fixed width take once decoded, by the file's own words: 8 bytes each at most.

    A list that repeats one value, or a column of one number, is encoded in next to nothing.
    """
    found = file.metadata
    columns = [
        found.row_group(group).column(place)
        for group in range(found.num_row_groups)
        for place in range(found.num_columns)
    ]
    return sum(8 * column.num_values for column in columns if column.physical_type != "BYTE_ARRAY")


def _row_bytes(batch: pa.RecordBatch) -> np.ndarray:
    """Compute how many bytes of texts each row holds once its indices are replaced; int64 (rows,)."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = np.zeros(batch.num_rows, dtype=np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).fill_null(0)
            found += lengths.take(column.indices).fill_null(0).to_numpy(zero_copy_only=False)
    return found


def _pieces(width: np.ndarray) -> Iterator[tuple[int, int]]:
    """Divide rows so that each piece has few bytes of texts, one row at least; a text is below that."""
    import numpy as np

    ends, first = np.cumsum(width), 0
    while first < len(width) or first == 0:
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _PIECE_BYTES, "right")))
        yield first, min(last, len(width))
        first = last


def _plain(table: pa.Table, texts: frozenset[str]) -> pa.Table:
    """Replace indices by their texts in the columns that were not dictionaries when they were written."""
    for place, field in enumerate(table.schema):
        if field.name in texts:
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


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

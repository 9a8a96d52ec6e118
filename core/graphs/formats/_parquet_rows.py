"""Parquet's rows, read in batches and written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.graphs.columns.arrays import is_text, is_time
from core.graphs.formats._tables import edge_tables
from core.graphs.graph import Graph
from core.graphs.reading.columnar import look_at
from core.graphs.reading.magic import MARKED, otherwise
from core.graphs.reading.mapping import LEFT, REPEATED, Columns, Mapping
from core.graphs.reading.model import Role
from core.graphs.reading.words import meant
from core.graphs.schema import GRAPH_ID
from core.graphs.schema.structure import columns_apart
from core.graphs.uploads.batches import (
    Batch,
    ColumnOptions,
    RawGraph,
    ReadRequest,
    unpacked_limit,
)
from core.graphs.uploads.findings import reject, shown
from core.graphs.uploads.tables import columnar
from core.graphs.uploads.value_columns import readable

_BATCH_ROWS = 1 << 20
_LOOKED_AT, _MOST_LOOKED_AT = 500, 8 << 20
"""So many first rows are looked at for what to suggest, and so many bytes of their texts."""
_WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}


def read(request: ReadRequest) -> RawGraph:
    """Read the rows in batches. IngestRejected where columns are missing, unknown or of a wrong kind."""
    batches = _batches(request)
    return RawGraph(nodes=batches) if request.part == "nodes" else RawGraph(edges=batches)


def _batches(request: ReadRequest) -> Iterator[Batch]:
    try:
        with pq.ParquetFile(request.path) as file:
            schema = file.schema_arrow
            places, names = _called(request, schema.names)
            names = columns_apart(names, request.part, request.wanted, request.remark)
            _check_sizes(request, file.metadata)
            columns = _columns(request, file, places, names)
            stored = {name: schema.names[place] for place, name in zip(places, names, strict=True)}
            kinds = {column: schema.field(stored[column]).type for column in columns}
        # Texts as dictionaries: what a value unpacks to is known before it is unpacked.
        texts = [stored[column] for column, kind in kinds.items() if _is_text(kind)]
        with pq.ParquetFile(request.path, read_dictionary=texts) as file:
            yield from _rows(request, file, stored, kinds)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        with request.path.open("rb") as raw:
            message = otherwise(raw.read(MARKED), "parquet")
        reject(request.file, message or f"the file is no readable Parquet file ({error}); write it again")


def _check_sizes(request: ReadRequest, metadata: pq.FileMetaData) -> None:
    """Returns where the metadata admit every column, before any is read. IngestRejected otherwise.

    Numbers take their width for each value, however they are written; texts at least their pages. What
    dictionaries unpack to is counted as they are read. Prefixes that values share would unpack before anybody
    could count, so they are refused.
    """
    limit = unpacked_limit(request, request.limits.max_bytes)
    size = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for number in range(row_group.num_columns):
            column = row_group.column(number)
            if "DELTA_BYTE_ARRAY" in column.encodings:
                mend = "write it with dictionaries, or plain"
                reject(request.file, f"a column is written as DELTA_BYTE_ARRAY; {mend}", column=number + 1)
            width = _WIDTHS.get(column.physical_type, 0)
            size += max(column.total_uncompressed_size, column.num_values * width)
    if size > limit:
        _too_large(request, limit)


def _too_large(request: ReadRequest, limit: int) -> NoReturn:
    reject(request.file, f"the file exceeds {limit} bytes when unpacked")


def _is_text(kind: pa.DataType) -> bool:
    """Tell whether the column is of texts or bytes, which a dictionary can hold once for many rows."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(value) for test in tests)


def _rows(
    request: ReadRequest, file: pq.ParquetFile, stored: dict[str, str], kinds: dict[str, pa.DataType]
) -> Iterator[Batch]:
    """Read the columns of these ``kinds`` in batches; ``stored`` says under which names the file has them.

    Texts come as dictionaries, and are counted by their indices before they are unpacked, some at a time.
    """
    row, rows = 1, max(file.metadata.num_rows, 1)
    size, limit, unpacked = request.path.stat().st_size, unpacked_limit(request, request.limits.max_bytes), 0
    kept = [stored[column] for column in kinds]
    plain = pa.schema([pa.field(column, kind) for column, kind in kinds.items()])
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=kept):
        batch.validate(full=True)  # a dictionary's index may point past its end
        table = pa.Table.from_batches([batch]).select(kept).rename_columns(list(kinds))
        lengths = _row_bytes(request, table, row)
        unpacked += int(lengths.sum())
        if unpacked > limit:
            _too_large(request, limit)
        for part in _parts(table, lengths, request.limits.chunk_bytes):
            row += part.num_rows
            yield columnar(_unpacked(part, plain), row - part.num_rows, size * (row - 1) // rows)
    # Without a row the columns are said all the same.
    if row == 1:
        yield columnar(plain.empty_table())


def _row_bytes(request: ReadRequest, table: pa.Table, first_row: int) -> np.ndarray:
    """Count what the texts of each row unpack to. IngestRejected where one is longer than a line may be."""
    sums = np.zeros(table.num_rows, dtype=np.int64)
    for number, column in enumerate(table.columns, start=1):
        if not pa.types.is_dictionary(column.type) or not _is_text(column.type):
            continue
        begin = 0
        for chunk in column.chunks:
            each = pc.fill_null(pc.binary_length(chunk.dictionary).cast(pa.int64()), 0)
            taken = pc.fill_null(each.take(chunk.indices), 0).to_numpy(zero_copy_only=False)
            longest = int(taken.max(initial=0))
            if longest > request.limits.max_line_bytes:
                line = first_row + begin + int(taken.argmax())
                most = request.limits.max_line_bytes
                reject(request.file, f"a value is longer than {most} bytes", line=line, column=number)
            sums[begin : begin + len(chunk)] += taken
            begin += len(chunk)
    return sums


def _parts(table: pa.Table, lengths: np.ndarray, most_bytes: int) -> Iterator[pa.Table]:
    """Cut the table so that the texts of each part unpack to about ``most_bytes`` at most."""
    if not lengths.any():
        yield table
        return
    # A part ends where the bytes before a row pass a multiple of ``most_bytes``.
    numbers = (np.cumsum(lengths) - lengths) // most_bytes
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), table.num_rows]
    for begin, end in pairwise(cuts):
        yield table.slice(begin, end - begin)


def _unpacked(table: pa.Table, plain: pa.Schema) -> pa.Table:
    """Make the columns what the file declares them to be."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, plain, strict=True)
    ]
    return pa.table(columns, schema=plain)


def _called(request: ReadRequest, names: list[str]) -> tuple[list[int], list[str]]:
    """Return the places of the columns that are read, from 0, and what each is called."""
    assert isinstance(request.options, ColumnOptions)
    said: Columns = request.options.columns or ()
    if not said:
        return list(range(len(names))), meant(names, request.part, request.wanted)
    called: dict[int, str] = {}
    for role, column in said:
        place = column - 1 if isinstance(column, int) else names.index(column) if column in names else -1
        if not 0 <= place < len(names):
            there = ", ".join(map(shown, names))
            reject(request.file, f"columns name {shown(str(column))}, which is no column; there are {there}")
        if role in called.values() and role not in REPEATED:
            reject(request.file, f"two columns are {shown(role)}; join them first, or leave one alone")
        called[place] = role
    kept = [place for place in range(len(names)) if called.get(place) != LEFT]
    own = {place: names[place] if called.get(place, "value") in REPEATED else called[place] for place in kept}
    return kept, list(own.values())


def _columns(request: ReadRequest, file: pq.ParquetFile, places: list[int], names: list[str]) -> list[str]:
    """Return the names of the columns that are read. IngestRejected for one that is wrong, or missing."""
    for place, column in zip(places, names, strict=True):
        if names.count(column) > 1:
            mend = "rename one, or leave one alone with columns"
            reject(request.file, f"two columns are named {shown(column)}; {mend}", column=place + 1)
        if column in request.wanted:
            problem = _kind_problem(request, column, file.schema_arrow.field(place).type)
            if problem:
                reject(request.file, problem, column=place + 1)
        elif request.refuses_column(column):
            reject(request.file, request.unknown_column(column), column=place + 1)
    for column in request.required:
        if column not in names:
            reject(request.file, f"the column {column!r} is missing; {_suggested(request, file)}")
    return [column for column in names if column in request.wanted or request.any_columns]


def _suggested(request: ReadRequest, file: pq.ParquetFile) -> str:
    """Say how a column that is missing can be named: of edges by what is in the first rows, for a curator."""
    plain = "add it, or say which it is: columns=source=caller,target=callee"
    schema = file.schema_arrow
    if request.part != "edges" or len(set(schema.names)) < len(schema.names) or not file.metadata.num_rows:
        return plain
    texts = [each.name for each in schema if _is_text(each.type)]
    with pq.ParquetFile(request.path, read_dictionary=texts) as again:
        first = pa.Table.from_batches([next(again.iter_batches(batch_size=_LOOKED_AT))])
    if int(_row_bytes(request, first, 1).sum()) > _MOST_LOOKED_AT:
        return plain
    found = look_at(_unpacked(first, schema), schema.names)
    if found is None or found.reading.column(Role.TARGET) is None:
        return plain
    columns = tuple((each.called, each.name or each.place) for each in found.reading.columns)
    return f"by what is in the columns, it may be read with {Mapping(columns=columns)}; send what is right"


def _kind_problem(request: ReadRequest, column: str, kind: pa.DataType) -> str | None:
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
    """Write an edge list by node ids. It has the first time of each step. Isolated nodes are not in it."""
    tables = edge_tables(graph)
    first = next(tables)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)

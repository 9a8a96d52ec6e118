"""Delimited text: lines of UTF-8, comment lines, one record a line.

Files are read in chunks cut at line ends, so memory does not depend on their size. A chunk is first parsed as
columns; only when that fails, or a rule of the schema does, it is parsed line by line to say where.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from core.graphs.findings import reject, shown
from core.graphs.formats._base import Batch, Careful, DelimitedOptions, RawGraph, ReadRequest
from core.graphs.formats._lines import COMMENTS, chunks, line_problem, quotes, record_of
from core.graphs.schema import GRAPH_ID

_COMMENT_LINE = re.compile(rb"(?m)^[#%][^\n]*\n?")
_RECORD_LINE = re.compile(rb"(?m)^[^\r\n#%]")
_IGNORED = "-"
_CAREFUL_LINES = 1 << 16
_PART_BYTES = 1 << 20  # around a fault, this much is read slowly
_BLOCK_BYTES = 4 << 20  # what one thread parses at a time


@dataclass(frozen=True)
class _Layout:
    """Which field holds which column. ``fields`` counts from 1."""

    names: tuple[str, ...]
    fields: dict[str, int]


def read_delimited(request: ReadRequest) -> RawGraph:
    """The rows of the file, as batches of the part that was asked for."""
    batches = _batches(request)
    return RawGraph(nodes=batches) if request.part == "nodes" else RawGraph(edges=batches)


def _batches(request: ReadRequest) -> Iterator[Batch]:
    options = request.options
    assert isinstance(options, DelimitedOptions)
    layout: _Layout | None = None
    line, done = 1, 0
    for chunk in chunks(request):
        done += len(chunk)
        lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        body, first = chunk, line
        if layout is None:
            found = _first_record(request, chunk, line)
            if found is not None:
                layout, skipped_bytes, skipped_lines = found
                body, first = chunk[skipped_bytes:], line + skipped_lines
        line += lines
        if layout is not None and body:
            yield _batch(request, options, layout, body, first, done)
    if layout is None:
        reject(request.file, "the file holds no records; upload rows, or at least a header line", line=1)


def _first_record(request: ReadRequest, chunk: bytes, line: int) -> tuple[_Layout, int, int] | None:
    """The layout, and how many bytes and lines come before the data; None when the chunk has no record."""
    position = 0
    for number, raw in enumerate(chunk.split(b"\n"), start=line):
        end = min(position + len(raw) + 1, len(chunk))
        if raw.strip(b"\r") and raw[:1] not in COMMENTS:
            record = _split(request, raw, number)
            layout, header = _layout(request, record, number)
            return (layout, end, number + 1 - line) if header else (layout, position, number - line)
        position = end
    return None


def _split(request: ReadRequest, raw: bytes, line: int) -> list[str]:
    assert isinstance(request.options, DelimitedOptions)
    problem = line_problem(raw, request.limits.max_line_bytes)
    if problem:
        reject(request.file, problem, line=line)
    try:
        return next(csv.reader([raw.decode().rstrip("\r")], delimiter=request.options.delimiter, strict=True))
    except csv.Error as error:
        reject(request.file, quotes(error), line=line)


def _layout(request: ReadRequest, record: list[str], line: int) -> tuple[_Layout, bool]:
    options = request.options
    assert isinstance(options, DelimitedOptions)
    cleaned = [name.strip() for name in record]
    telling = {"source", "target"} if request.part == "edges" else set(request.required)
    header = telling <= set(cleaned) if options.header == "auto" else options.header == "true"
    if options.columns is not None:
        names = list(options.columns)
    elif header:
        names = cleaned
    else:
        names = list(request.wanted[: len(record)]) + [_IGNORED] * (len(record) - len(request.wanted))
        if len(record) > len(request.wanted) and request.refuses_column(""):
            expected = ", ".join(request.wanted)
            message = (
                f"the line has {len(record)} fields, but the schema asks for {expected}; remove the rest, "
            )
            message += "name the fields by the option columns, or set extra_columns to ignore"
            reject(request.file, message, line=line, column=len(request.wanted) + 1)
    if len(names) != len(record):
        message = f"the line has {len(record)} fields, but {len(names)} columns are named; name each field"
        reject(request.file, message, line=line)
    fields: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name == _IGNORED:
            continue
        if name in fields:
            reject(request.file, f"two columns are named {shown(name)}; rename one", line=line, column=number)
        if name in request.wanted or request.any_columns:
            fields[name] = number
        elif request.refuses_column(name):
            reject(request.file, request.unknown_column(name), line=line, column=number)
    for name in request.required:
        if name not in fields:
            message = f"the column {name!r} is missing; add it, or name the fields by the option columns"
            reject(request.file, message, line=line, column=None)
    return _Layout(tuple(names), fields), header


def _batch(
    request: ReadRequest, options: DelimitedOptions, layout: _Layout, body: bytes, first: int, done: int
) -> Batch:
    def carefully() -> Iterator[Careful]:
        return _carefully(request, options, layout, body, first)

    def parts() -> Iterator[Batch]:
        position, line = 0, first
        while position < len(body):
            end = body.find(b"\n", position + _PART_BYTES) + 1 or len(body)
            part = body[position:end]
            yield _batch(request, options, layout, part, line, done)
            position, line = end, line + part.count(b"\n")

    table = _columns(request, options, layout, body)
    divides = 0 < body.find(b"\n", _PART_BYTES) + 1 < len(body)  # one long line is no parts but itself
    return Batch(table, carefully, done, parts if divides else None)


def _columns(
    request: ReadRequest, options: DelimitedOptions, layout: _Layout, body: bytes
) -> pa.Table | None:
    """The chunk as columns, or None when anything about it needs a closer look."""
    if body.startswith(COMMENTS) or b"\n#" in body or b"\n%" in body:
        body = _COMMENT_LINE.sub(b"", body)
    if b"\r" in body and body.count(b"\r") != body.count(b"\r\n"):
        return None
    # Arrow would read 0x10 as 16: where that can occur, integers are read as text and judged later.
    integers: frozenset[str] = frozenset() if b"0x" in body or b"0X" in body else _integer_columns(request)
    if not body.strip():
        return _empty(request, layout)
    kinds = {name: _kind(request, name, integers) for name in layout.fields}
    spare = [str(number) for number in range(len(layout.names))]
    named = [name if name in layout.fields else spare[i] for i, name in enumerate(layout.names)]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(body),
            read_options=pacsv.ReadOptions(column_names=named, block_size=_BLOCK_BYTES),
            parse_options=pacsv.ParseOptions(delimiter=options.delimiter),
            convert_options=pacsv.ConvertOptions(
                column_types=kinds, include_columns=list(layout.fields), null_values=[""]
            ),
        )
    except pa.ArrowInvalid:
        return None
    # A quote that spans lines swallows records; a record is one line here.
    if b'"' in body and table.num_rows != sum(1 for _ in _RECORD_LINE.finditer(body)):
        return None
    return table


def _integer_columns(request: ReadRequest) -> frozenset[str]:
    if request.part != "edges":
        return frozenset()
    return frozenset(("source", "target", "time") if request.integer_ids else ("time",))


def _kind(request: ReadRequest, name: str, integers: frozenset[str]) -> pa.DataType:
    if name in integers:
        return pa.int64()
    # Few types (graphs of a collection) repeat often. Ids are plain: building dictionaries of them costs more
    # than it saves.
    return pa.dictionary(pa.int32(), pa.string()) if name in ("type", GRAPH_ID) else pa.string()


def _empty(request: ReadRequest, layout: _Layout) -> pa.Table:
    integers = _integer_columns(request)
    return pa.table({name: pa.array([], type=_kind(request, name, integers)) for name in layout.fields})


def _carefully(
    request: ReadRequest, options: DelimitedOptions, layout: _Layout, body: bytes, first: int
) -> Iterator[Careful]:
    rows: list[list[str]] = []
    lines: list[int] = []
    problems: list[tuple[int, int | None, str]] = []
    width = len(layout.names)
    position, number = 0, first
    while position < len(body):
        end = body.find(b"\n", position)
        end = len(body) if end < 0 else end
        raw = body[position:end].rstrip(b"\r")
        if raw and raw[:1] not in COMMENTS:
            record, problem = record_of(raw, options.delimiter, width, request.limits.max_line_bytes)
            if problem:
                problems.append((number, *problem))
            else:
                rows.append(record)
                lines.append(number)
        position, number = end + 1, number + 1
        if len(rows) + len(problems) >= _CAREFUL_LINES:
            yield _careful(layout, rows, lines, problems)
            rows, lines, problems = [], [], []
    yield _careful(layout, rows, lines, problems)


def _careful(
    layout: _Layout, rows: list[list[str]], lines: list[int], problems: list[tuple[int, int | None, str]]
) -> Careful:
    columns = {
        name: pa.array([row[number - 1] for row in rows], type=pa.string())
        for name, number in layout.fields.items()
    }
    return Careful(pa.table(columns), np.array(lines, dtype=np.int64), layout.fields, problems)

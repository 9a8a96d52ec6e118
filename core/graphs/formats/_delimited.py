"""Delimited text: lines of UTF-8, comment lines, one record a line.

Files are read in chunks cut at line ends, so memory does not depend on their size. A chunk is first parsed as
columns; only when that fails, or a rule of the schema does, it is parsed line by line to say where.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from core.graphs.formats._formulas import unescaped
from core.graphs.formats._headers import known_names, looks_unlike
from core.graphs.formats._lines import COMMENTS, Dialect, chunks, line_problem, next_record, quotes, record_of
from core.graphs.schema import GRAPH_ID
from core.graphs.uploads.batches import Batch, Careful, DelimitedOptions, RawGraph, ReadRequest
from core.graphs.uploads.findings import reject, shown

_COMMENT_LINES = re.compile(rb"(?m)^(?:[#%][^\n]*+\n?)++")
_RECORD_LINE = re.compile(rb"(?m)^[^\r\n#%]")
_SPACES = re.compile(rb"[ \t]+")
_TRAILING_SPACES = re.compile(rb"(?m)^\t|\t(?=\r?$)")
_IGNORED = "-"
_CAREFUL_LINES = 1 << 16
_PART_BYTES = 1 << 20  # around a fault, this much is read slowly
_BLOCK_BYTES = 4 << 20  # what one thread parses at a time
_SAMPLE_RECORDS = 1000  # what the first record is compared with, for the curator's sake


@dataclass(frozen=True)
class _Layout:
    """Which field holds which column. ``fields`` counts from 1."""

    dialect: Dialect
    names: tuple[str, ...]
    fields: dict[str, int]


def read_delimited(request: ReadRequest) -> RawGraph:
    """Read the rows of the file, as batches of the part that was asked for."""
    batches = _batches(request)
    return RawGraph(nodes=batches) if request.part == "nodes" else RawGraph(edges=batches)


def _batches(request: ReadRequest) -> Iterator[Batch]:
    layout: _Layout | None = None
    line, done = 1, 0
    for chunk in chunks(request):
        done += len(chunk)
        lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        body, first = chunk, line
        if layout is None:
            opening = _first_record(request, chunk, line)
            if opening is not None:
                layout, skipped_bytes, skipped_lines = opening
                body, first = chunk[skipped_bytes:], line + skipped_lines
        line += lines
        if layout is not None and body:
            yield _batch(request, layout, body, first, done)
    if layout is None:
        reject(request.file, "the file holds no records; upload rows, or at least a header line", line=1)


def _first_record(request: ReadRequest, chunk: bytes, line: int) -> tuple[_Layout, int, int] | None:
    """Find the layout, and how many bytes and lines come before the data; None without any record."""
    position = next_record(chunk, 0)
    if position == len(chunk):
        return None
    end = chunk.find(b"\n", position) + 1 or len(chunk)
    before = chunk.count(b"\n", 0, position)
    number = line + before
    dialect, record = _split(request, chunk[position:end].removesuffix(b"\n"), number)
    layout, header = _layout(request, dialect, record, _sample(dialect, chunk, end), number)
    return (layout, end, before + 1) if header else (layout, position, before)


def _split(request: ReadRequest, raw: bytes, line: int) -> tuple[Dialect, list[str]]:
    assert isinstance(request.options, DelimitedOptions)
    problem = line_problem(raw, request.limits.max_line_bytes)
    if problem:
        reject(request.file, problem, line=line)
    text = raw.decode().rstrip("\r")
    dialect = Dialect.of(request.options, request.part, text)
    try:
        return dialect, dialect.fields(text)
    except csv.Error as error:
        reject(request.file, quotes(error), line=line)


def _sample(dialect: Dialect, chunk: bytes, start: int) -> list[list[str]]:
    """Split some records after the first, as far as they can be split."""
    records = []
    for raw in chunk[start : start + _PART_BYTES].split(b"\n")[:_SAMPLE_RECORDS]:
        if raw.strip(b"\r") and raw[:1] not in COMMENTS:
            try:
                records.append(dialect.fields(raw.decode().rstrip("\r")))
            except (csv.Error, UnicodeDecodeError):
                continue
    return records


def _is_header(
    request: ReadRequest, record: list[str], names: list[str], rest: Sequence[Sequence[str]], line: int
) -> bool:
    """Tell whether the first record is a header, as declared or by its names. Where it could be an edge too,
    because its words are ends further down, the uploader must say.
    """
    options = request.options
    assert isinstance(options, DelimitedOptions)
    if options.header != "auto":
        return options.header == "true"
    telling = {"source", "target"} if request.part == "edges" else set(request.required)
    if not telling <= set(names):
        return False
    if request.part == "edges" and not telling <= set(record):
        ends = [names.index(end) for end in sorted(telling)]
        words = {record[place] for place in ends}
        again = words & {other[place] for other in rest for place in ends if place < len(other)}
        if again:
            message = (
                f"the line may be a header or an edge: {shown(min(again))} is an end further down as well; "
                "set the option header to true or false"
            )
            reject(request.file, message, line=line)
    return True


def _layout(
    request: ReadRequest, dialect: Dialect, record: list[str], rest: Sequence[Sequence[str]], line: int
) -> tuple[_Layout, bool]:
    options = request.options
    assert isinstance(options, DelimitedOptions)
    cleaned = [name.strip() for name in record]
    meant = known_names(cleaned, request.part, request.wanted)
    header = _is_header(request, cleaned, meant, rest, line)
    if options.columns is not None:
        names = list(options.columns)
    elif header:
        names = meant
    else:
        names = list(request.wanted[: len(record)]) + [_IGNORED] * (len(record) - len(request.wanted))
        if len(record) > len(request.wanted) and request.refuses_column(""):
            expected = ", ".join(request.wanted)
            message = (
                f"the line has {len(record)} fields, but the schema asks for {expected}; remove the rest, "
            )
            message += "name the fields by the option columns, or set extra_columns to ignore"
            reject(request.file, message, line=line, column=len(request.wanted) + 1)
        _remark_on_first(request, record, rest, names, line)
    if len(names) != len(record):
        message = f"the line has {len(record)} fields, but {len(names)} columns are named; name each field"
        reject(request.file, message, line=line)
    fields: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name == _IGNORED:
            continue
        if name in fields:
            reject(request.file, f"two columns are named {shown(name)}; rename one", line=line, column=number)
        if request.refuses_column(name):
            reject(request.file, request.unknown_column(name), line=line, column=number)
        if name in request.wanted or request.any_columns:
            fields[name] = number
    for name in request.required:
        if name not in fields:
            message = f"the column {name!r} is missing; add it, or name the fields by the option columns"
            reject(request.file, message, line=line, column=None)
    return _Layout(dialect, tuple(names), fields), header


def _remark_on_first(
    request: ReadRequest, record: list[str], rest: Sequence[Sequence[str]], names: list[str], line: int
) -> None:
    """Warn the curator of a likely misunderstanding: without a header the fields are taken by their order."""
    text = shown(", ".join(record))
    assert isinstance(request.options, DelimitedOptions)
    if request.options.header == "auto" and looks_unlike(record, rest, request.part):
        request.remark(
            f"Line {line}, {text}, looks unlike the lines after it, but was read as data. If it is a header, "
            "upload again with the option header=true, and name its columns by the option columns."
        )
    elif len(record) > 2:
        request.remark(
            f"The file of {request.file} has no header: its fields were read as {', '.join(names)}. If they "
            "are something else, upload again with the option columns."
        )


def _batch(request: ReadRequest, layout: _Layout, body: bytes, first: int, done: int) -> Batch:
    def carefully() -> Iterator[Careful]:
        return _carefully(request, layout, body, first)

    def parts() -> Iterator[Batch]:
        position, line = 0, first
        while position < len(body):
            end = body.find(b"\n", position + _PART_BYTES) + 1 or len(body)
            part = body[position:end]
            yield _batch(request, layout, part, line, done)
            position, line = end, line + part.count(b"\n")

    table = _columns(request, layout, body)
    divides = 0 < body.find(b"\n", _PART_BYTES) + 1 < len(body)  # one long line is no parts but itself
    return Batch(table, carefully, done, parts if divides else None)


def _columns(request: ReadRequest, layout: _Layout, body: bytes) -> pa.Table | None:
    """Parse the chunk as columns; None when anything about it needs a closer look."""
    # One byte is found many times faster than two: where it is nowhere, the pair is not looked for.
    if body.startswith(COMMENTS) or any(mark in body and b"\n" + mark in body for mark in COMMENTS):
        body = _COMMENT_LINES.sub(b"", body)
    if b"\r" in body and body.count(b"\r") != body.count(b"\r\n"):
        return None
    # Arrow would read 0x10 as 16: where that can occur, integers are read as text and judged later.
    integers: frozenset[str] = frozenset() if _hexadecimal(body) else _integer_columns(request)
    if not body or body.isspace():
        return _empty(request, layout)
    if layout.dialect.delimiter is None:
        body = _TRAILING_SPACES.sub(b"", _SPACES.sub(b"\t", body))
    table = _parsed(request, layout, body, integers)
    if table is None and "time" in layout.fields and "time" in integers:
        table = _parsed(request, layout, body, integers - {"time"})  # dates, perhaps
    if table is not None and b"'" in body:
        table = unescaped(table)
    if table is None or layout.dialect.delimiter is None:
        return table
    # A quote that spans lines swallows records; a record is one line here.
    if b'"' in body and table.num_rows != sum(1 for _ in _RECORD_LINE.finditer(body)):
        return None
    return table


def _hexadecimal(body: bytes) -> bool:
    return any(mark in body and b"0" + mark in body for mark in (b"x", b"X"))


def _parsed(request: ReadRequest, layout: _Layout, body: bytes, integers: frozenset[str]) -> pa.Table | None:
    kinds = {name: _kind(request, name, integers) for name in layout.fields}
    spare = [str(number) for number in range(len(layout.names))]
    named = [name if name in layout.fields else spare[i] for i, name in enumerate(layout.names)]
    delimiter = layout.dialect.delimiter
    try:
        return pacsv.read_csv(
            pa.BufferReader(body),
            read_options=pacsv.ReadOptions(column_names=named, block_size=_BLOCK_BYTES),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter or "\t", quote_char='"' if delimiter else False
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=kinds, include_columns=list(layout.fields), null_values=[""]
            ),
        )
    except pa.ArrowInvalid:
        return None


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


def _carefully(request: ReadRequest, layout: _Layout, body: bytes, first: int) -> Iterator[Careful]:
    rows: list[list[str]] = []
    lines: list[int] = []
    problems: list[tuple[int, int | None, str]] = []
    width = len(layout.names)
    position, number = 0, first
    while (record_at := next_record(body, position)) < len(body):
        number += body.count(b"\n", position, record_at)
        end = body.find(b"\n", record_at)
        end = len(body) if end < 0 else end
        raw = body[record_at:end].rstrip(b"\r")
        record, problem = record_of(raw, layout.dialect, width, request.limits.max_line_bytes)
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
    return Careful(unescaped(pa.table(columns)), np.array(lines, dtype=np.int64), layout.fields, problems)

"""Delimited text: comment lines, perhaps a header, one record a line.

Files are read in chunks cut at line ends, so memory does not depend on their size. A look at the first chunk
decides how all of them are read. A chunk is first parsed as columns; only when that fails, or a rule of the
schema does, it is parsed line by line to say where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from core.graphs.columns.arrays import is_text
from core.graphs.formats._formulas import unescaped
from core.graphs.formats._lines import next_record, opened, record_of
from core.graphs.reading import asking
from core.graphs.reading.clocks import KEPT, joined
from core.graphs.reading.look import Asked, Looked, look
from core.graphs.reading.mapping import LEFT
from core.graphs.reading.model import Question, Reading
from core.graphs.reading.sorts import Watch, ends_named
from core.graphs.reading.text import Text
from core.graphs.reading.times import rewritten
from core.graphs.schema import GRAPH_ID
from core.graphs.schema.structure import columns_apart
from core.graphs.uploads.batches import Batch, Careful, DelimitedOptions, RawGraph, ReadRequest
from core.graphs.uploads.findings import reject, shown

_BLANK_END = re.compile(rb"\n[ \t\r\n]+\Z")
_END_BYTES = 256
_RECORD_LINE = re.compile(rb"(?m)^[^\r\n]")
_SPACES = re.compile(rb"[ \t]+")
_NOT_ONE_SPACE = re.compile(rb"(?m)[ \t]{2}|\t|\\\\|^ | (?=\r?$)")
_TRAILING_SPACES = re.compile(rb"(?m)^\t|\t(?=\r?$)")
_GROUPED = r"^\s*([-+]?[0-9]{1,3}(?:[.][0-9]{3})+)(,[0-9]+)?\s*$"
_THOUSANDS = r"^\s*[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:[.][0-9]+)?\s*$"
_COMMA = r"^\s*([-+]?[0-9]*),([0-9]+(?:[eE][-+]?[0-9]+)?)\s*$"
_CAREFUL_LINES = 1 << 16
_PART_BYTES = 1 << 20  # around a fault, this much is read slowly
_BATCH_BYTES = 4 << 20  # a batch: its columns stay in memory that is used again
ONE_FIELD = (
    "the lines have one field each, and an edge has two ends: none of , ; | :: tab and space splits them; "
    "set the option delimiter to what does, or send a list of nodes as the part nodes"
)
_TRIMMED = frozenset({"id", "type"})  # texts of nodes stay as they are


@dataclass(frozen=True)
class _Layout:
    """Which field holds which column. ``fields`` counts from 1; ``forms`` are those of written times.

    ``commas``: columns whose decimal mark is a comma; ``grouped``: those whose commas part thousands.
    """

    delimiter: str
    names: tuple[str, ...]
    fields: dict[str, int]
    forms: dict[str, str]
    commas: tuple[str, ...]
    grouped: tuple[str, ...]
    keys: tuple[str, ...]
    edges: bool


def read_delimited(request: ReadRequest) -> RawGraph:
    """Read the rows of the file in batches. They are of the part that was requested."""
    batches = _batches(request)
    return RawGraph(nodes=batches) if request.part == "nodes" else RawGraph(edges=batches)


def _batches(request: ReadRequest) -> Iterator[Batch]:
    layout: _Layout | None = None
    watch: Watch | None = None
    line, done = 1, 0
    text, chunks = opened(request)
    for chunk in chunks:
        done += len(chunk)
        lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        body, first = chunk, line
        if layout is None:
            looked = look(chunk, line, _request_of(request, text))
            if looked is not None:
                layout = _layout(request, looked)
                if request.infer and request.part == "edges" and not looked.reading.bipartite_why:
                    watch = Watch(ends_named(looked.reading))
                body, first = chunk[looked.start :], looked.line
        line += lines
        if layout is not None and body:
            # Not cut where what is left would be shorter than a batch.
            size = _BATCH_BYTES if len(body) >= 2 * _BATCH_BYTES else len(body)
            for batch in _cut(request, layout, body, first, done, size):
                if watch is not None and batch.table is not None:
                    watch.add(batch.table)
                yield batch
    if watch is not None and (reason := watch.doubt()):
        _doubt(request, asking.of_sorts(reason))
    if layout is None:
        reject(request.file, "the file holds no records; upload rows, or at least a header line", line=1)


def _request_of(request: ReadRequest, text: Text) -> Asked:
    options = request.options
    assert isinstance(options, DelimitedOptions)
    return Asked(
        request.file,
        request.part,
        options.mapping,
        options.usual,
        request.wanted,
        request.required,
        request.infer,
        text.encoding,
        text.line_end,
        request.limits.max_line_bytes,
    )


def _layout(request: ReadRequest, looked: Looked) -> _Layout:
    """Find the fields of the columns that are wanted; refuses what is not, and what must be asked first."""
    reading, number = looked.reading, looked.at
    request.readings[request.part] = reading
    if not reading.dialect.header and not request.infer and len(reading.columns) > len(request.wanted):
        _refuse_surplus(request, reading, number)
    if request.part == "edges" and len(reading.columns) == 1:
        reject(request.file, ONE_FIELD, line=number)
    _ask(request, reading, number)
    for text in reading.warnings:
        request.remark(text)
    names = _names(request, reading, looked.clock)
    fields: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name == KEPT:
            fields[KEPT] = place
            continue
        if name == LEFT:
            _tell_left(request, reading, place)
            continue
        if name in fields:
            reject(
                request.file, f"two columns are named {shown(name)}; rename one", line=number, column=place
            )
        if request.refuses_column(name):
            reject(request.file, request.unknown_column(name), line=number, column=place)
        if name in request.wanted or request.any_columns:
            fields[name] = place
    for name in request.required:
        if name not in fields:
            message = f"the column {name!r} is missing; add it, or name the fields by the option columns"
            reject(request.file, message, line=number, column=None)
    spelled = {
        column.called: name for column, name in zip(reading.columns, names, strict=True) if name in fields
    }
    commas, grouped = (
        tuple(spelled[each] for each in found if each in spelled) for found in (looked.commas, looked.grouped)
    )
    return _Layout(
        reading.dialect.delimiter,
        names,
        fields,
        looked.forms,
        commas,
        grouped,
        looked.keys,
        request.part == "edges",
    )


def _names(request: ReadRequest, reading: Reading, clock: int | None) -> tuple[str, ...]:
    """Name the columns as a schema can; what is left alone keeps its mark, and a clock has its own."""
    called = [LEFT if column.place == clock else column.called for column in reading.columns]
    read = [place for place, name in enumerate(called) if name != LEFT]
    apart = columns_apart([called[place] for place in read], request.part, request.wanted, request.remark)
    for place, name in zip(read, apart, strict=True):
        called[place] = name
    if clock is not None and "time" in request.wanted:
        called[clock - 1] = KEPT
    return tuple(called)


def _refuse_surplus(request: ReadRequest, reading: Reading, number: int) -> None:
    assert isinstance(request.options, DelimitedOptions)
    if request.options.columns is None and request.refuses_column(""):
        message = (
            f"the line has {len(reading.columns)} fields, but the schema asks for "
            f"{', '.join(request.wanted)}; remove the rest, name the fields by the option columns, "
            "or set extra_columns to ignore"
        )
        reject(request.file, message, line=number, column=len(request.wanted) + 1)


def _ask(request: ReadRequest, reading: Reading, number: int) -> None:
    """Refuse a reading that may make another graph until it is answered; say what else was guessed."""
    for question in reading.questions:
        if question.destroys and not request.answered_later:
            reject(request.file, asking.question_text(question), line=number, reading=reading.as_json())
        text = asking.question_text(question)
        request.remark(f"{text[:1].upper()}{text[1:]}.")


def _doubt(request: ReadRequest, question: Question) -> None:
    """Ask what only all rows together bring up."""
    reading = request.readings[request.part]
    if question not in reading.questions:  # a proposal reads its file twice
        reading = replace(reading, questions=(*reading.questions, question))
    if not request.answered_later:
        reject(request.file, asking.question_text(question), reading=reading.as_json())
    request.readings[request.part] = reading


def _tell_left(request: ReadRequest, reading: Reading, place: int) -> None:
    """Name a column that is left alone among those that are not read."""
    column = reading.columns[place - 1]
    if request.notes is not None and column.name and request.part == "edges":
        request.notes.skipped[column.name] = None


def _cut(
    request: ReadRequest, layout: _Layout, body: bytes, first: int, done: int, size: int
) -> Iterator[Batch]:
    """Cut lines into batches of about so many bytes."""
    position, line = 0, first
    while position < len(body):
        end = body.find(b"\n", position + size) + 1 or len(body)
        part = body[position:end]
        yield _batch(request, layout, part, line, done - len(body) + end)
        position, line = end, line + part.count(b"\n")


def _batch(request: ReadRequest, layout: _Layout, body: bytes, first: int, done: int) -> Batch:
    def carefully() -> Iterator[Careful]:
        return _carefully(request, layout, body, first)

    def parts() -> Iterator[Batch]:
        return _cut(request, layout, body, first, done, _PART_BYTES)

    table = _columns(request, layout, body)
    divides = 0 < body.find(b"\n", _PART_BYTES) + 1 < len(body)  # one long line is no parts but itself
    return Batch(table, carefully, done, parts if divides else None)


def _columns(request: ReadRequest, layout: _Layout, body: bytes) -> pa.Table | None:
    """Parse the chunk as columns; None when anything about it needs a closer look."""
    # A bare carriage return ends a line to Arrow, and a record here never.
    if layout.keys or (b"\r" in body and body.count(b"\r") != body.count(b"\r\n")):
        return None
    # Arrow would read 0x10 as 16: where that can occur, integers are read as text and judged later.
    integers: frozenset[str] = frozenset() if _hexadecimal(body) else _integer_columns(request)
    integers -= layout.forms.keys() | ({"time"} if KEPT in layout.fields else set())
    if not body or body.isspace():
        return _empty(request, layout)
    if (blank := _BLANK_END.search(body, max(len(body) - _END_BYTES, 0))) is not None:
        body = body[: blank.start() + 1]
    marks = [mark for mark in (b" ", b"\t") if mark != layout.delimiter.encode()]
    # Trimming takes a pass over the column: only where spaces may stand around something.
    spaced = not body.isascii() or any(mark in body for mark in marks)
    separate = _separated(layout, body)
    if separate is None:
        return None
    body = separate
    table = _parsed(request, layout, body, integers)
    if table is None and "time" in layout.fields and "time" in integers:
        table = _parsed(request, layout, body, integers - {"time"})  # dates, perhaps
    if table is None:
        return None
    # A quote that spans lines swallows records; a record is one line here.
    if (
        layout.delimiter != "::"
        and b'"' in body
        and table.num_rows != sum(1 for _ in _RECORD_LINE.finditer(body))
    ):
        return None
    if table.num_columns > 1 and _has_empty(table.column(0)):
        return None  # of lines of nothing but delimiters, perhaps
    if b"'" in body:
        table = unescaped(table)
    return _finished(layout, table, spaced)


def _has_empty(column: pa.ChunkedArray) -> bool:
    empty = bool(column.null_count)
    return empty or (pa.types.is_string(column.type) and bool(pc.any(pc.equal(column, "")).as_py()))


def _separated(layout: _Layout, body: bytes) -> bytes | None:
    """Put one byte between the fields; None where it occurs in them."""
    if layout.delimiter == " " and b'"' in body:
        return None if _NOT_ONE_SPACE.search(body) else body
    if layout.delimiter == " ":
        return _TRAILING_SPACES.sub(b"", _SPACES.sub(b"\t", body))
    if layout.delimiter == "::":
        return None if b"\t" in body else body.replace(b"::", b"\t")
    return body


def _finished(layout: _Layout, table: pa.Table, spaced: bool) -> pa.Table:
    """Trim what spaces surround, and write numbers and times as the rest of the reading takes them."""
    if KEPT in table.column_names:
        table = joined(table)
    for place, name in enumerate(table.column_names):
        column = table[name]
        made = column.cast(pa.string()) if spaced and pa.types.is_dictionary(column.type) else column
        if not is_text(made.type):
            continue
        if spaced and (name in _TRIMMED or layout.edges):
            made = pc.utf8_trim_whitespace(made)
        if name in layout.forms:
            made = rewritten(made, layout.forms[name])
        elif name in layout.commas:
            made = _with_points(made)
        elif name in layout.grouped:
            made = _ungrouped(made)
        if made is not column:
            table = table.set_column(place, name, made)
    return table


def _with_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write decimal commas as points, and leave out points between thousands."""
    grouped = pc.fill_null(pc.match_substring_regex(column, _GROUPED), False)
    plain = pc.if_else(grouped, pc.replace_substring(column, ".", ""), column)
    return pc.replace_substring_regex(plain, _COMMA, r"\1.\2")


def _ungrouped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Leave out commas between thousands."""
    grouped = pc.fill_null(pc.match_substring_regex(column, _THOUSANDS), False)
    return pc.if_else(grouped, pc.replace_substring(column, ",", ""), column)


def _hexadecimal(body: bytes) -> bool:
    return any(mark in body and b"0" + mark in body for mark in (b"x", b"X"))


def _parsed(request: ReadRequest, layout: _Layout, body: bytes, integers: frozenset[str]) -> pa.Table | None:
    kinds = {name: _kind(request, name, integers) for name in layout.fields}
    spare = [str(number) for number in range(len(layout.names))]
    named = [name if name in layout.fields else spare[i] for i, name in enumerate(layout.names)]
    quoted = layout.delimiter not in (" ", "::") or (layout.delimiter == " " and b'"' in body)
    try:
        return pacsv.read_csv(
            pa.BufferReader(body),
            read_options=pacsv.ReadOptions(column_names=named, block_size=2 * _BATCH_BYTES),
            parse_options=pacsv.ParseOptions(
                delimiter=layout.delimiter if quoted else "\t", quote_char='"' if quoted else False
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
    kinds = {name: _kind(request, name, integers) for name in layout.fields if name != KEPT}
    return pa.table({name: pa.array([], type=kind) for name, kind in kinds.items()})


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
        record, problem = record_of(raw, layout.delimiter, layout.keys, width, request.limits.max_line_bytes)
        if problem:
            problems.append((number, *problem))
        elif width == 1 or any(cell.strip() for cell in record):  # spreadsheets end with empty rows
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
    table = _finished(layout, unescaped(pa.table(columns)), True)
    return Careful(table, np.array(lines, dtype=np.int64), layout.fields, problems)

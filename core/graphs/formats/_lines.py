"""Lines of text from files of any size. They are cut, judged, and split by the delimiter."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from core.graphs.reading.magic import otherwise
from core.graphs.reading.sample import fields_of
from core.graphs.reading.text import Text, in_utf8, looks_utf_16, not_utf8, text_of
from core.graphs.uploads.batches import (
    DelimitedOptions,
    ReadRequest,
    damaged,
    open_bytes,
    unpacked_limit,
)
from core.graphs.uploads.findings import reject
from core.graphs.uploads.packed import DAMAGED

_RECORD = re.compile(rb"(?m)^[ \t\r]*+[^ \t\r\n]")
_HEAD_BYTES = 1 << 16
_READ_BYTES = 4 << 20  # at a time behind the first chunk, which shows how all are read


def opened(request: ReadRequest) -> tuple[Text, Iterator[bytes]]:
    """Open the file as text. It has its encoding and line ends, and pieces in UTF-8 that end at an LF.

    gzip is undone, a byte order mark removed. Refused where it is no delimited text.
    """
    assert isinstance(request.options, DelimitedOptions)
    blocks = _blocks(request)
    seen, size, ended = [], 0, True
    for block in blocks:
        seen.append(block)
        size += len(block)
        if size >= _HEAD_BYTES:
            ended = False
            break
    head = b"".join(seen)
    if message := otherwise(head):
        reject(request.file, message)
    text = text_of(head, request.options.mapping.encoding)
    if text.encoding == "utf-8" and looks_utf_16(head):
        reject(request.file, "the file seems to be UTF-16; set the option encoding to utf-16")
    return text, _pieces(request, in_utf8(chain(seen, blocks), text), ended and len(seen) == 1)


def _blocks(request: ReadRequest) -> Iterator[bytes]:
    limits = request.limits
    most, total = unpacked_limit(request, limits.max_bytes), 0
    with open_bytes(request) as file:
        while True:
            try:
                block = file.read(min(limits.chunk_bytes, _READ_BYTES) if total else limits.chunk_bytes)
            except DAMAGED as error:
                damaged(request, error)
            if not block:
                return
            total += len(block)
            if total > most:
                message = f"the file exceeds {most} bytes when unpacked; upload it unpacked, or less"
                reject(request.file, message)
            yield block


def _pieces(request: ReadRequest, blocks: Iterator[bytes], whole: bool) -> Iterator[bytes]:
    """Cut the blocks at line ends; a file that is one block, ``whole``, stays one."""
    line, rest = 1, b""
    while True:
        try:
            block = next(blocks, None)
        except UnicodeDecodeError as error:
            reject(request.file, f"the text is not {error.encoding}; set the option encoding to what it is")
        if block is None:
            break
        cut = len(block) if whole else block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut] if rest or cut < len(block) else block
            line += block.count(b"\n")
            rest = block[cut:]
        else:
            rest += block
            if len(rest) > max(request.limits.max_line_bytes, request.limits.chunk_bytes):
                message = f"the line exceeds {request.limits.max_line_bytes} bytes; end lines with LF"
                reject(request.file, message, line=line)
    if rest:
        yield rest


def next_record(lines: bytes, start: int) -> int:
    """Find the next line that is not blank. It is the first from ``start`` on (the start of a line).

    The length of ``lines`` where none is. Blank lines make no objects: a file of nothing else costs as little
    as its bytes.
    """
    record = _RECORD.search(lines, start)
    return len(lines) if record is None else record.start()


def line_problem(raw: bytes, max_line_bytes: int) -> str | None:
    if len(raw) > max_line_bytes:
        return f"the line exceeds {max_line_bytes} bytes; split it"
    if b"\r" in raw.rstrip(b"\r"):
        return "a bare carriage return stands inside the line; end lines with LF or CRLF"
    return not_utf8(raw)


def quotes(error: csv.Error) -> str:
    return f"the quotes of the line do not match ({error}); quote a whole field and double quotes inside it"


def record_of(
    raw: bytes, delimiter: str, keys: Sequence[str], width: int, max_line_bytes: int
) -> tuple[list[str], tuple[int | None, str] | None]:
    """Split one line into fields. With them come the field and what is wrong where there are not ``width``
    fields."""
    problem = line_problem(raw, max_line_bytes)
    if problem:
        return [], (None, problem)
    try:
        record = fields_of(raw.decode(), delimiter, keys)
    except csv.Error as error:
        return [], (None, quotes(error))
    if len(record) == width:
        return record, None
    at = min(len(record), width) + 1
    hint = "; comments stand before the first record" if raw[:1] in (b"#", b"%") else ""
    apart = "spaces or tabs" if delimiter == " " else repr(delimiter)
    return [], (at, f"the line has {len(record)} fields instead of {width}; separate them by {apart}{hint}")

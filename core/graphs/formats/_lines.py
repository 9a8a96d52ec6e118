"""Lines of text: cut from files of any size, judged, and split by the delimiter of the first record."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.graphs.uploads.batches import (
    DAMAGED,
    DelimitedOptions,
    Part,
    ReadRequest,
    open_bytes,
    unpacked_limit,
)
from core.graphs.uploads.findings import reject

COMMENTS = (b"#", b"%")
_DELIMITERS = (",", "\t", ";")
_RECORD = re.compile(rb"(?m)^(?![#%])\r*+[^\r\n]")
_SPACES = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Dialect:
    """What separates the fields of a line: one character, or any run of spaces and tabs (None).

    Fields between spaces are never quoted.
    """

    delimiter: str | None

    @classmethod
    def of(cls, options: DelimitedOptions, part: Part, record: str) -> Dialect:
        """Choose that of the options; with ``auto`` the first that splits ``record``, the first of the file.

        Only an edge list may be separated by spaces: a node list may hold names in a single column.
        """
        if options.delimiter != "auto":
            return cls(None if options.delimiter == " " else options.delimiter)
        for delimiter in dict.fromkeys((options.usual, *_DELIMITERS)):
            dialect = cls(delimiter)
            try:
                fields = dialect.fields(record)
            except csv.Error:
                continue
            if len(fields) > 1:
                padded = delimiter == "\t" and [each.strip() for each in fields] != fields
                loose = cls(None)
                return loose if padded and len(loose.fields(record)) == len(fields) else dialect
        return cls(None) if part == "edges" and len(cls(None).fields(record)) > 1 else cls(options.usual)

    def fields(self, line: str) -> list[str]:
        """Split one line into its fields; csv.Error where quotes do not match."""
        if self.delimiter is None:
            return _SPACES.split(line.strip(" \t"))
        return next(csv.reader([line], delimiter=self.delimiter, strict=True))

    def __str__(self) -> str:
        return "spaces or tabs" if self.delimiter is None else repr(self.delimiter)


def chunks(request: ReadRequest) -> Iterator[bytes]:
    """Read the file in pieces that end at a line end; gzip is undone, a byte order mark removed."""
    limits = request.limits
    most = unpacked_limit(request, limits.max_bytes)
    total, line, rest, start = 0, 1, b"", True
    with open_bytes(request.path) as file:
        while True:
            try:
                block = file.read(limits.chunk_bytes)
            except DAMAGED as error:
                reject(request.file, f"the gzip file is damaged ({error}); compress it again")
            if not block:
                break
            if start:
                block, start = block.removeprefix(b"\xef\xbb\xbf"), False
            total += len(block)
            if total > most:
                reject(
                    request.file, f"the file exceeds {most} bytes when unpacked; upload it unpacked, or less"
                )
            cut = block.rfind(b"\n") + 1
            if cut:
                yield rest + block[:cut]
                line += block.count(b"\n")
                rest = block[cut:]
            else:
                rest += block
                if len(rest) > limits.max_line_bytes:
                    message = f"the line exceeds {limits.max_line_bytes} bytes; end lines with LF"
                    reject(request.file, message, line=line)
    if rest:
        yield rest


def next_record(lines: bytes, start: int) -> int:
    """Find the first line from ``start`` on (the start of a line) that is neither blank nor a comment.

    The length of ``lines`` where none is. Blank lines and comments make no objects: a file of nothing else
    costs as little as its bytes.
    """
    record = _RECORD.search(lines, start)
    return len(lines) if record is None else record.start()


def line_problem(raw: bytes, max_line_bytes: int) -> str | None:
    if len(raw) > max_line_bytes:
        return f"the line exceeds {max_line_bytes} bytes; split it"
    if b"\r" in raw.rstrip(b"\r"):
        return "a bare carriage return stands inside the line; end lines with LF or CRLF"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "the line is not UTF-8; save the file as UTF-8"
    return None


def quotes(error: csv.Error) -> str:
    return f"the quotes of the line do not match ({error}); quote a whole field and double quotes inside it"


def record_of(
    raw: bytes, dialect: Dialect, width: int, max_line_bytes: int
) -> tuple[list[str], tuple[int | None, str] | None]:
    problem = line_problem(raw, max_line_bytes)
    if problem:
        return [], (None, problem)
    try:
        record = dialect.fields(raw.decode())
    except csv.Error as error:
        return [], (None, quotes(error))
    if len(record) == width:
        return record, None
    at = min(len(record), width) + 1
    return [], (
        at,
        f"the line has {len(record)} fields instead of {width}; separate them by {dialect}",
    )

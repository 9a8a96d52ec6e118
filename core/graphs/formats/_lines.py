"""Lines of text: cut from files of any size, judged and split one by one."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from core.graphs.findings import reject
from core.graphs.formats._base import DAMAGED, ReadRequest, open_bytes

COMMENTS = (b"#", b"%")


def chunks(request: ReadRequest) -> Iterator[bytes]:
    """The file in pieces that end at a line end; gzip is undone, a byte order mark removed."""
    limits = request.limits
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
            if total > limits.max_bytes:
                reject(request.file, f"the file exceeds {limits.max_bytes} bytes; upload a smaller graph")
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
    raw: bytes, delimiter: str, width: int, max_line_bytes: int
) -> tuple[list[str], tuple[int | None, str] | None]:
    problem = line_problem(raw, max_line_bytes)
    if problem:
        return [], (None, problem)
    try:
        record = next(csv.reader([raw.decode()], delimiter=delimiter, strict=True))
    except csv.Error as error:
        return [], (None, quotes(error))
    if len(record) == width:
        return record, None
    at = min(len(record), width) + 1
    return [], (
        at,
        f"the line has {len(record)} fields instead of {width}; separate them by {delimiter!r}",
    )

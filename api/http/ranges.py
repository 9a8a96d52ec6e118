"""A part of a file: one range of bytes of a download that broke off (RFC 9110, section 14)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from starlette.requests import Request

from core.errors import RangeNotSatisfiable

_ONE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")


def asked_range(request: Request, size: int, etag: str) -> tuple[int, int] | None:
    """Return the first byte that is asked for and the one behind the last; None where the whole file is.

    Whole is also the answer to several ranges, to other units, and where ``If-Range`` names another file.
    Raises RangeNotSatisfiable where the file ends before the range begins.
    """
    found = _ONE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if found is None or request.headers.get("if-range", etag) != etag:
        return None
    first, last = found[1], found[2]
    if not first and not last:
        return None
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if first and last and int(last) < begin:
        return None  # no range, by its grammar
    if begin >= size or end <= begin:
        raise RangeNotSatisfiable(f"the file has {size} bytes; ask for some of them", size_bytes=size)
    return begin, end


def cut(chunks: Iterator[bytes], begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from ``begin`` up to ``end``; what lies before is read, and checked, and left out."""
    place = 0
    for chunk in chunks:
        piece = chunk[max(0, begin - place) : end - place]
        place += len(chunk)
        if piece:
            yield piece
        if place >= end:
            return

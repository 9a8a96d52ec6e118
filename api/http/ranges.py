"""A part of a file. It is one range of bytes of a download that broke off (RFC 9110, section 14)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from starlette.requests import Request
from starlette.responses import StreamingResponse

from api.http import streaming
from core.errors import RangeNotSatisfiable

_ONE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")


def answer(
    request: Request,
    chunks: Iterator[bytes],
    size: int,
    etag: str,
    media_type: str,
    headers: Mapping[str, str],
) -> StreamingResponse:
    """Stream a file of that size, or a part of it. The part is the one requested; RangeNotSatisfiable."""
    told = {**headers, "ETag": etag, "Accept-Ranges": "bytes", "Content-Length": str(size)}
    part = asked_range(request, size, etag)
    if part is None:
        return StreamingResponse(streaming.opened(chunks), 200, told, media_type=media_type)
    begin, end = part
    told |= {"Content-Range": f"bytes {begin}-{end - 1}/{size}", "Content-Length": str(end - begin)}
    return StreamingResponse(streaming.opened(cut(chunks, begin, end)), 206, told, media_type=media_type)


def asked_range(request: Request, size: int, etag: str) -> tuple[int, int] | None:
    """Return the requested range of bytes. It has its first byte and the one behind the last; None where the
    whole file is.

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
    if begin >= size:
        raise RangeNotSatisfiable(f"the file has {size} bytes; ask for some of them", size_bytes=size)
    return begin, end


def cut(chunks: Iterator[bytes], begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from ``begin`` up to ``end``. What lies before is read, and checked, and left out."""
    place = 0
    for chunk in chunks:
        piece = chunk[max(0, begin - place) : end - place]
        place += len(chunk)
        if piece:
            yield piece
        if place >= end:
            return

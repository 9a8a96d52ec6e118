"""Bodies of requests. They are read within limits of size, time, rate and depth.

Who calls is known by then (``api.http.auth``). What no route takes is never read.
"""

from __future__ import annotations

import asyncio
import json
import re

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from core.errors import InvalidInput, PayloadTooLarge, RequestTimeout
from core.settings import Settings

_LENGTH = re.compile(r"[0-9]{1,18}")
# Possessive, and an open text goes on to the end: one pass, whatever was sent.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_ALIKE = bytes.maketrans(b"{}", b"[]")


async def held(request: Request, settings: Settings) -> Request:
    """Hold the request until its body has come whole. It is not nested too deep to be parsed.

    Raises PayloadTooLarge, RequestTimeout, InvalidInput, ClientDisconnect. Memory is bounded by the limit.
    """
    body = await whole(request, settings)
    check_depth(body, settings.max_body_depth)
    return Request(request.scope, _replay(body, request.receive))


async def whole(request: Request, settings: Settings, most_bytes: int | None = None) -> bytes:
    """Read the request's body to its end. It has ``most_bytes`` where that is less than any JSON may have.

    Raises PayloadTooLarge, RequestTimeout, ClientDisconnect.
    """
    limit, seconds = settings.max_request_bytes, settings.body_seconds
    if most_bytes is not None:
        limit = min(limit, most_bytes)
    announced = announced_bytes(request.headers)
    if announced is not None and announced > limit:
        raise too_large(limit)
    try:
        async with asyncio.timeout(seconds):
            return await _read(request.receive, limit)
    except TimeoutError:
        raise _too_late(seconds) from None


def announced_bytes(headers: Headers) -> int | None:
    """Read the length that the caller announced. None where there is none, or none that a file can have."""
    length = headers.get("content-length", "")
    return int(length) if _LENGTH.fullmatch(length) else None


def check_depth(body: bytes, limit: int) -> None:
    """Check that the JSON text nests few levels. It has at most ``limit`` lists and objects inside each
    other.

    Raises InvalidInput, for another encoding than UTF-8 too: the brackets are looked for as its bytes. A text
    that is no JSON may pass; the parser says so. Time: ``limit`` passes over the brackets, one over the rest.
    """
    if json.detect_encoding(body) not in ("utf-8", "utf-8-sig"):
        raise InvalidInput("the body is not UTF-8", field="body", how_to_mend="Send JSON in UTF-8.")
    if body.count(b"[") + body.count(b"{") <= limit:
        return
    brackets = _TEXT.sub(b"", body).translate(_ALIKE, _NO_BRACKETS)
    for _ in range(limit):
        brackets = brackets.replace(b"[]", b"")  # the innermost of all, each time
    if b"[]" in brackets:
        raise InvalidInput(
            f"the body is nested more than {limit} deep",
            field="body",
            how_to_mend=f"Send at most {limit} lists and objects inside each other.",
        )


def paced(receive: Receive, *, pause_seconds: float, bytes_per_second: int) -> Receive:
    """Make a receive channel for a body of any length. Its sender may neither pause nor drip.

    RequestTimeout after ``pause_seconds`` without a piece, or once as long was spent waiting for pieces that
    were fewer than ``bytes_per_second`` together. How long the reader takes between them does not count.
    """
    more, waited_seconds, received_bytes = True, 0.0, 0
    now = asyncio.get_running_loop().time

    async def following() -> Message:
        nonlocal more, waited_seconds, received_bytes
        if not more:
            return await receive()
        began = now()
        try:
            async with asyncio.timeout(pause_seconds):
                message = await receive()
        except TimeoutError:
            raise _too_late(pause_seconds) from None
        more = message.get("more_body", False)
        waited_seconds += now() - began
        received_bytes += len(message.get("body", b""))
        if more and waited_seconds >= pause_seconds:
            if received_bytes < bytes_per_second * waited_seconds:
                raise RequestTimeout(f"fewer than {bytes_per_second} bytes a second arrived")
            waited_seconds, received_bytes = 0.0, 0
        return message

    return following


async def _read(receive: Receive, limit: int) -> bytes:
    """Read the whole body; PayloadTooLarge once it passes the limit."""
    pieces, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise too_large(limit)
        more = message.get("more_body", False)
    return b"".join(pieces)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive channel that gives the body once, then what the connection says."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"the body is over the limit of {limit} bytes", limit_bytes=limit)


def _too_late(seconds: float) -> RequestTimeout:
    return RequestTimeout(f"nothing more of the body arrived within {seconds:g} seconds")

"""Bodies in pieces: from an async request to a thread that reads it, and from a store to an answer."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

from anyio import CapacityLimiter, from_thread, to_thread
from starlette.datastructures import Headers
from starlette.requests import Request

Result = TypeVar("Result")

HOP_BYTES = 2**20  # gathered before each hop into the thread, so that small network reads stay cheap
_LENGTH = re.compile(r"[0-9]{1,18}")
MAX_UPLOADS = 8  # at a time in one process; further ones wait, so that other routes keep their threads


async def feed(request: Request, consume: Callable[[Iterator[bytes]], Result]) -> Result:
    """What ``consume`` returned, run in a thread over the request's body.

    Memory stays at about one hop: the thread asks for the next piece when it has done with the last, and
    the connection is not read before. A caller who leaves makes the iterator raise ClientDisconnect.
    """
    stream = request.stream()

    def chunks() -> Iterator[bytes]:
        while piece := from_thread.run(_gather, stream):
            yield piece

    return await to_thread.run_sync(lambda: consume(chunks()), limiter=request.app.state.upload_slots)


def announced_bytes(headers: Headers) -> int | None:
    """The length that the caller announced; None where there is none, or no number that a file can have."""
    length = headers.get("content-length", "")
    return int(length) if _LENGTH.fullmatch(length) else None


def upload_slots() -> CapacityLimiter:
    """The threads that uploads of one app may hold."""
    return CapacityLimiter(MAX_UPLOADS)


def opened(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks, of which the first has been read: a store that fails does so before the answer begins."""
    first = next(chunks, b"")

    def rest() -> Iterator[bytes]:
        yield first
        yield from chunks

    return rest()


async def _gather(stream: AsyncIterator[bytes]) -> bytes:
    """At least ``HOP_BYTES``, or what is left; empty at the end."""
    pieces, size = [], 0
    async for piece in stream:
        pieces.append(piece)
        size += len(piece)
        if size >= HOP_BYTES:
            break
    return b"".join(pieces)

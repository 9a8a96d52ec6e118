"""Bodies in pieces. They go from an async request to a thread that reads it, and from a store to an
answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TypeVar

from anyio import CapacityLimiter, from_thread, to_thread
from starlette.requests import Request

from api.http import bodies
from core.errors import GraphveilError, TooManyUploads, UnsupportedMediaType, UploadsFull
from core.identity.service import Principal
from core.settings import Settings

Result = TypeVar("Result")

HOP_BYTES = 2**20  # gathered before each hop into the thread, so that small network reads stay cheap


async def feed(
    request: Request,
    principal: Principal,
    consume: Callable[[Iterator[bytes]], Result],
    *,
    form: bool = False,
) -> Result:
    """Run ``consume`` in a thread over the request's body. Returned is what it returns.

    Memory stays at about one hop: the thread asks for the next piece when it has done with the last, and
    the connection is not read before. A caller who leaves makes the iterator raise ClientDisconnect, one who
    pauses or drips RequestTimeout. TooManyUploads or UploadsFull when no turn came. A form around the file is
    UnsupportedMediaType where none is asked for: its lines would be read as the file's.
    """
    if not form and request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise UnsupportedMediaType(
            "the body is a form; send the file's bytes alone, as `curl --upload-file edges.csv` does"
        )
    settings, slots = request.app.state.services.settings, request.app.state.upload_slots
    receive = bodies.paced(
        request.receive,
        pause_seconds=settings.body_seconds,
        bytes_per_second=settings.upload_bytes_per_second,
    )
    stream = Request(request.scope, receive).stream()

    def chunks() -> Iterator[bytes]:
        while piece := from_thread.run(_gather, stream):
            yield piece

    async with slots.taken(principal.tenant):
        return await to_thread.run_sync(lambda: consume(chunks()), limiter=slots.threads)


class UploadSlots:
    """The turns of one app's uploads. By them other routes keep their threads and tenants each other's turns.

    Used from the event loop alone.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.threads = CapacityLimiter(settings.max_uploads)
        self._all = asyncio.Semaphore(settings.max_uploads)
        self._tenants: dict[str, asyncio.Semaphore] = {}
        self._callers: Counter[str] = Counter()

    @asynccontextmanager
    async def taken(self, tenant: str) -> AsyncIterator[None]:
        """One slot is held. TooManyUploads, UploadsFull after ``upload_wait_seconds``."""
        settings = self._settings
        ends = asyncio.get_running_loop().time() + settings.upload_wait_seconds
        own = self._tenants.setdefault(tenant, asyncio.Semaphore(settings.max_tenant_uploads))
        self._callers[tenant] += 1
        try:
            limit, pause = settings.max_tenant_uploads, settings.poll_after_seconds
            refusal = TooManyUploads(f"{limit} uploads are under way", limit=limit, retry_after=pause)
            async with _turn(own, ends, refusal):
                full = UploadsFull("this process receives as many uploads as it may")
                async with _turn(self._all, ends, full):
                    yield
        finally:
            self._callers[tenant] -= 1
            if not self._callers[tenant]:  # tenants without an upload are forgotten
                del self._callers[tenant], self._tenants[tenant]


@asynccontextmanager
async def _turn(semaphore: asyncio.Semaphore, ends: float, refusal: GraphveilError) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout_at(ends):
            await semaphore.acquire()
    except TimeoutError:
        raise refusal from None
    try:
        yield
    finally:
        semaphore.release()


def opened(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Read the first chunk now. So a store that fails does so before the answer begins."""
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

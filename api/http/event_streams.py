"""Server-sent events of jobs. Many callers wait, with one look at the database for all of them.

A stream that waits holds neither a thread nor a connection of the database. One task of the process asks for
what all of them wait for, in one short transaction, while there is anybody who waits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog
from anyio import CapacityLimiter, to_thread
from fastapi.sse import EventSourceResponse, format_sse_event
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import Receive, Scope, Send

from core.errors import EventStreamsFull, TooManyEventStreams
from core.settings import Settings
from core.workflows.jobs import events as job_events
from core.workflows.jobs.events import Change, Opening
from graphveil.models.jobs import End, StateChange

Fetch = Callable[[Mapping[str, int]], Sequence[Change]]

HEADERS = {"X-Accel-Buffering": "no"}  # proxies that know it pass every event on at once

log = structlog.get_logger(component="api.events")


@dataclass(eq=False)
class Waiting:
    """One stream that waits for its job. It waits for what happens behind ``place``; None in its queue ends
    it."""

    job_id: str
    place: int
    queue: asyncio.Queue[Change | None] = field(default_factory=asyncio.Queue)


class EventStreams:
    """The streams of one process. Only its event loop uses it, so that nothing needs a lock."""

    def __init__(self, settings: Settings, fetch: Fetch) -> None:
        self.settings = settings
        self._fetch = fetch
        self._waiting: set[Waiting] = set()
        self._tenants: Counter[str] = Counter()
        self._thread = CapacityLimiter(1)
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def joined(self, tenant: str, waiting: Waiting) -> Iterator[None]:
        """Subscribe the stream to what happens to its job. TooManyEventStreams, EventStreamsFull."""
        limit = self.settings.max_tenant_event_streams
        if self._tenants[tenant] >= limit:
            pause = self.settings.poll_after_seconds
            raise TooManyEventStreams(f"{limit} event streams are open.", limit=limit, retry_after=pause)
        if self._tenants.total() >= self.settings.max_event_streams:
            raise EventStreamsFull("this process serves as many event streams as it may")
        self._tenants[tenant] += 1
        self._waiting.add(waiting)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield
        finally:
            self._waiting.discard(waiting)
            self._tenants[tenant] -= 1
            self._tenants += Counter()  # tenants without a stream are forgotten

    def close(self) -> None:
        """Every stream ends now; clients connect again. For a process that is about to stop."""
        for waiting in self._waiting:
            waiting.queue.put_nowait(None)

    async def _watch(self) -> None:
        while self._waiting:
            await asyncio.sleep(self.settings.event_poll_seconds)
            # Whoever has not sent what it has is not given more: its queue cannot grow.
            ready = [waiting for waiting in self._waiting if waiting.queue.empty()]
            places: dict[str, int] = {}
            for waiting in ready:
                places[waiting.job_id] = min(waiting.place, places.get(waiting.job_id, waiting.place))
            if not places:
                continue
            try:
                changes = await to_thread.run_sync(self._fetch, places, limiter=self._thread)
            except SQLAlchemyError as error:
                log.warning("events_paused", error=type(error).__name__)
                continue
            _hand_out(changes, ready)


class JobEventStream(EventSourceResponse):
    """The answer that goes on until the job has ended, the stream's time is over, or the caller has left."""

    def __init__(
        self,
        streams: EventStreams,
        tenant: str,
        job_id: str,
        after: int,
        opening: Opening,
        shown: Callable[[Change], Change],
    ) -> None:
        super().__init__(self._frames(), headers=HEADERS)
        self._streams, self._tenant = streams, tenant
        self._opening, self._shown = opening, shown
        self._waiting = Waiting(job_id, opening.changes[-1].sequence if opening.changes else after)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it all; refused before its first byte where there is no room for another stream."""
        with self._streams.joined(self._tenant, self._waiting):
            await super().__call__(scope, receive, send)

    async def _frames(self) -> AsyncIterator[bytes]:
        settings = self._streams.settings
        yield format_sse_event(retry=1_000 * settings.poll_after_seconds)
        for change in self._opening.changes:
            yield _frame(change)
            if change.last:
                yield _end(str(change.state))
                return
        if self._opening.ended is not None:
            yield _end(self._opening.ended)
            return
        loop = asyncio.get_running_loop()
        over = loop.time() + settings.event_stream_seconds
        while (left := over - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, settings.event_heartbeat_seconds)):
                    following = await self._waiting.queue.get()
            except TimeoutError:
                yield format_sse_event(comment="still here")
                continue
            if following is None:
                return
            yield _frame(self._shown(following))
            if following.last:
                yield _end(str(following.state))
                return


def _hand_out(changes: Sequence[Change], ready: Sequence[Waiting]) -> None:
    of_job: dict[str, list[Change]] = {}
    for change in changes:
        of_job.setdefault(change.job_id, []).append(change)
    for waiting in ready:
        for change in of_job.get(waiting.job_id, ()):
            if change.sequence > waiting.place:
                waiting.place = change.sequence
                waiting.queue.put_nowait(change)


def _frame(change: Change) -> bytes:
    told = job_events.told(change)
    name = "state" if isinstance(told, StateChange) else "step"
    return format_sse_event(data_str=told.model_dump_json(), event=name, id=str(change.sequence))


def _end(state: str) -> bytes:
    return format_sse_event(data_str=End(state=state).model_dump_json(), event="end")

"""Watches one child. It hands its messages on, and ends it when its time, memory or lease is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from core.db.outages import unreachable
from core.errors import InvalidInput, LeaseLost, PrivacyViolation
from core.jobs.events import Step
from core.logging import get_logger
from core.settings import Settings
from core.tracing import spans
from worker.child import SERVER_LOST, Child
from worker.lease_heartbeat import LeaseHeartbeat
from worker.own_gpu import OwnGpu
from worker.sandbox import EXIT_MEMORY, EXIT_VIOLATION

TICK_SECONDS, TELL_SECONDS = 0.1, 1.0
STAGES_TRACED = frozenset({"release", "sample", "fit", "join"})
"""Children whose stages have spans: those whose stages callers may see. Others' would reveal private data."""
MOST_STAGES = 64

Draining = Callable[[], bool]
"""Tells that this worker is to stop."""

log = get_logger(__name__)


class Ending(StrEnum):
    """How a child ended. LOST, OUTAGE and DRAINED: infrastructure; CANCELLED: a caller; the rest: itself.

    OUTAGE: the database could not be reached. An answer of the database, even a refusal, is no outage.
    """

    FINISHED = "finished"
    FAILED = "failed"
    MEMORY = "memory"
    TIME = "time"
    VIOLATION = "violation"
    CANCELLED = "cancelled"
    DRAINED = "drained"
    LOST = "lost"
    OUTAGE = "outage"


INFRASTRUCTURE = frozenset({Ending.DRAINED, Ending.LOST, Ending.OUTAGE})
"""Endings after which another worker may try the same work again."""

STOPPED = frozenset({Ending.MEMORY, Ending.TIME, Ending.CANCELLED, Ending.DRAINED})
"""Endings of a child that was stopped while this worker held its work."""

BY_EXIT_CODE = {
    0: Ending.FINISHED,
    EXIT_MEMORY: Ending.MEMORY,
    EXIT_VIOLATION: Ending.VIOLATION,
    SERVER_LOST: Ending.LOST,
}
"""How a child ended by itself; FAILED by any other code."""


def no_reads(entry: dict[str, Any] | None = None) -> None:
    """Refuse: this kind of child has no meter."""
    raise PrivacyViolation("this work reads nothing through a meter")


def unseen(steps: Sequence[Step]) -> None:
    """Discard progress: it would reveal private data."""


@dataclass(frozen=True)
class Orders:
    """What to do with a child's messages. It says when the child is to stop, too.

    ``opening`` makes durable that the graph is about to be opened, ``record`` a metered read, or raise;
    ``progress`` is told the steps of about a second together; ``draining`` tells that this worker is to stop.
    ``last`` is told those that are left of a child that finished, where what ends the work records them.
    """

    record: Callable[[dict[str, Any]], None]
    progress: Callable[[Sequence[Step]], None]
    draining: Draining
    opening: Callable[[], None] = no_reads
    last: Callable[[Sequence[Step]], None] | None = None


def supervise(
    kind: str,
    folder: Path,
    settings: Settings,
    heartbeat: LeaseHeartbeat,
    orders: Orders,
    own_gpu: OwnGpu | None = None,
) -> Ending:
    """Run a child until it has ended. It ended by itself or not, and nothing of it runs any more; returned is
    how it ended.

    ``own_gpu``: the worker's, where the child is to compute on it. LOST is also the end of a child whose GPU
    the driver says is gone: this process asks it, and nothing that the child says or does counts as that.
    """
    gpu = None if own_gpu is None else own_gpu.gpu
    with spans.child(kind):
        steps = spans.Steps(most=MOST_STAGES if kind in STAGES_TRACED else 0)
        with Child(kind, folder, gpu, settings.job_threads) as child:
            watch = _Watch(child, settings, heartbeat, orders, steps, None if gpu is None else own_gpu)
            ending = watch.until_the_end()
        steps.ended()
        spans.tell(ending=str(ending))
    log.info("child_ended", kind=kind, ending=str(ending))
    return ending


class _Watch:
    def __init__(
        self,
        child: Child,
        settings: Settings,
        heartbeat: LeaseHeartbeat,
        orders: Orders,
        steps: spans.Steps,
        own_gpu: OwnGpu | None,
    ) -> None:
        self._own_gpu = own_gpu
        self._child, self._settings, self._heartbeat, self._orders = child, settings, heartbeat, orders
        self._steps = steps
        now = time.monotonic()
        self._deadline = now + settings.job_wall_seconds
        self._next_sample = now
        self._grace_ends: float | None = None
        self._untold: list[Step] = []
        self._tell_at = now + TELL_SECONDS

    def until_the_end(self) -> Ending:
        while True:
            code = self._child.exit_code  # before the last messages are read, so that none is missed
            ending = self._messages(code)
            if ending is None:
                ending = self._overstepped() if code is None else self._ended(code)
                if ending in STOPPED and self._untold:
                    with suppress(LeaseLost, InvalidInput):  # how it ended is told all the same
                        self._tell()
            if ending is not None:
                return ending

    def _ended(self, code: int) -> Ending:
        """Tell what the exit code means. A failure is the GPU's only if the driver says that it is gone."""
        ending = BY_EXIT_CODE.get(code, Ending.FAILED)
        failed = ending is Ending.FAILED and self._own_gpu is not None
        return Ending.LOST if failed and self._own_gpu.seen_gone() else ending  # type: ignore[union-attr]

    def _messages(self, code: int | None) -> Ending | None:
        try:
            for message in self._child.messages(TICK_SECONDS):
                self._handle(message)
            if self._untold and (code is not None or time.monotonic() >= self._tell_at):
                self._tell(self._orders.last if code == 0 else None)
        except LeaseLost:
            return Ending.LOST
        except (DBAPIError, NoConnection) as error:
            # Whether the read was recorded is known once the database answers again.
            log.warning("database_failed", error=type(error).__name__)
            return Ending.OUTAGE if unreachable(error) else Ending.LOST
        except Exception as error:
            # What else can go wrong here comes of what the child sent: its doing, never infrastructure.
            log.warning("child_refused", error=type(error).__name__)
            return Ending.VIOLATION
        return None

    def _handle(self, message: dict[str, Any]) -> None:
        match message:
            case {"type": "open", **rest} if not rest:
                self._orders.opening()
                self._child.answer({"opened": True})
            case {"type": "meter", "entry": dict(entry), **rest} if not rest:
                self._orders.record(entry)
                self._child.answer({"recorded": entry.get("sequence")})
            case {
                "type": "progress",
                "stage": str(stage),
                "done": int(done),
                "total": int(total),
                **rest,
            } if not rest:
                self._untold.append(Step(stage, done, total))
            case _:
                raise PrivacyViolation("the child sent a message of no known kind")

    def _tell(self, record: Callable[[Sequence[Step]], None] | None = None) -> None:
        """Record progress; drop it when the database does not answer: hours of work are worth more.

        One write has what came since the last one, or since the child began, a second before at the earliest:
        of a child that ends sooner, all of it.
        """
        steps, self._untold = self._untold, []
        self._tell_at = time.monotonic() + TELL_SECONDS
        try:
            (record or self._orders.progress)(steps)
        except (DBAPIError, NoConnection) as error:
            log.warning("progress_dropped", error=type(error).__name__)
        else:
            for step in steps:
                self._steps.reached(step.stage)  # a plain name: it was recorded

    def _overstepped(self) -> Ending | None:
        now = time.monotonic()
        if self._heartbeat.lost or (self._own_gpu is not None and self._own_gpu.lost):
            return Ending.LOST
        if self._heartbeat.cancelled:
            return Ending.CANCELLED
        if now >= self._deadline:
            return Ending.TIME
        if now >= self._next_sample:
            self._next_sample = now + self._settings.sample_seconds
            if self._child.memory_bytes() > self._settings.job_memory_bytes:
                return Ending.MEMORY
        if self._orders.draining():
            self._grace_ends = self._grace_ends or now + self._settings.grace_seconds
            if now >= self._grace_ends:
                return Ending.DRAINED
        return None

"""A worker on a thread of this process, with children of its own: held at a point of its work until let go.

It starts once, and its children find their libraries loaded: a worker process costs seconds each time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

from core import failpoints
from core.outbox.models import Topic
from tests.support.faults import children_of, until
from tests.support.patience import PATIENCE_SECONDS
from worker import warm
from worker.process import WorkerProcess
from worker.work import take


@dataclass
class HeldWork:
    """Work that a worker is held at; ``server`` and ``child`` are process ids."""

    server: int
    child: int
    _go: threading.Event
    _taken: Future[bool]

    def let_go(self) -> bool:
        """The worker has gone on to the end of the work; whether it had taken it."""
        self._go.set()
        return self._taken.result(PATIENCE_SECONDS)


@dataclass
class ThreadWorker:
    """Takes one piece of work at a time."""

    process: WorkerProcess
    _point: str | None = None
    _reached: threading.Event = field(default_factory=threading.Event)
    _go: threading.Event = field(default_factory=threading.Event)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def held_at(self, point: str, topic: Topic, subject_id: str) -> HeldWork:
        """The worker took the work, and is held at the failpoint with its child alive."""
        server = self._thread.submit(lambda: warm.server().pid).result(PATIENCE_SECONDS)
        self._point, self._reached, self._go = point, threading.Event(), threading.Event()
        taken = self._thread.submit(take, self.process, topic, subject_id, lambda: False)
        until(lambda: self._reached.is_set() or taken.done(), what=f"the way to {point}")
        assert self._reached.is_set(), f"it never came to {point}"
        (child,) = children_of(server)
        return HeldWork(server, child, self._go, taken)

    def reach(self, point: str) -> None:
        """What the worker calls in place of :func:`core.failpoints.reach`; other threads pass through."""
        if point != self._point or not threading.current_thread().name.startswith(self._name):
            failpoints.reach(point)
            return
        self._point = None
        self._reached.set()
        assert self._go.wait(PATIENCE_SECONDS), f"nobody let the worker go on from {point}"

    @property
    def _name(self) -> str:
        return self._thread._thread_name_prefix


@contextmanager
def thread_worker(process: WorkerProcess) -> Iterator[ThreadWorker]:
    """A worker under this process's name and settings, as long as the context."""
    made = ThreadWorker(process)
    made._thread.submit(warm.preload)
    with mock.patch("worker.kinds.release.reach", made.reach):
        try:
            yield made
        finally:
            made._go.set()
            made._thread.submit(warm.stop).result(PATIENCE_SECONDS)
            made._thread.shutdown()

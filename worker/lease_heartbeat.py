"""The lease's heartbeat, on a thread of its own. So neither a long copy nor a slow child stops it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from sqlalchemy.exc import SQLAlchemyError

from core.errors import LeaseLost
from core.logging import get_logger

log = get_logger(__name__)


class LeaseHeartbeat:
    """``lost``: another may own the work by now. ``cancelled``: somebody requested to stop it.

    ``beat`` extends the lease and tells whether the work was cancelled. A database that does not answer is
    asked again until the lease must have run out.
    """

    def __init__(self, beat: Callable[[], bool], *, every_seconds: float, lease_seconds: float) -> None:
        self._beat, self._every, self._lease = beat, every_seconds, lease_seconds
        self._stopped = threading.Event()
        self._lost, self._cancelled = threading.Event(), threading.Event()
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="lease-heartbeat", daemon=True)

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._every) and not self.lost:
            started = time.monotonic()
            try:
                if self._beat():
                    self._cancelled.set()
                self._last = started
            except LeaseLost:
                self._lost.set()
            except SQLAlchemyError as error:
                log.warning("heartbeat_failed", error=type(error).__name__)
                if time.monotonic() - self._last > self._lease:
                    self._lost.set()
            except Exception as error:
                log.error("heartbeat_broken", error=type(error).__name__)
                self._lost.set()  # nobody extends the lease any more

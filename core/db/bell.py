"""A bell that tells listeners of what was committed: afterwards, and once for however many commits.

A NOTIFY inside a transaction takes a lock of the whole server and keeps it until the commit is on the disk:
commits then reach the disk one at a time. Rung after the commit, on a connection of its own, it keeps nobody
waiting. A ring may be lost with its process or its connection: whoever listens also looks by himself.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from queue import SimpleQueue

import structlog
from sqlalchemy import Engine, bindparam, func, select
from sqlalchemy.exc import SQLAlchemyError

GATHER_SECONDS = 0.05
"""What is rung so soon after a notification is told by one more."""

CLOSE_SECONDS = 5.0

log = structlog.get_logger(logger_name=__name__)

# Nobody waits for this commit to reach the disk: it changes nothing.
_NOTIFY = select(func.set_config("synchronous_commit", "off", True), func.pg_notify(bindparam("channel"), ""))

# Held while a process forks, so that a child never finds it taken.
_STARTING = threading.Lock()
os.register_at_fork(
    before=_STARTING.acquire, after_in_parent=_STARTING.release, after_in_child=_STARTING.release
)


@dataclass(frozen=True)
class _Ringer:
    """The thread that rings, in the process that it lives in."""

    pid: int
    rung: SimpleQueue[str | None]
    thread: threading.Thread


class Bell:
    """Rung by any number of threads. Its own thread and connection are there from the first ring on.

    ``engine``: the bell's alone. A process forked from this one has a thread and connection of its own.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._ringer: _Ringer | None = None

    def ring(self, channel: str) -> None:
        """Listeners on the channel are notified soon, at the first ring at once. Never waits, never fails."""
        try:
            with _STARTING:
                ringer = self._ringer
                if ringer is None or not ringer.thread.is_alive():  # a fork leaves the parent's behind
                    ringer = self._ringer = self._start(ringer)
                ringer.rung.put(channel)
        except RuntimeError as error:  # no thread is to be had: what was committed stands all the same
            log.warning("bell_not_rung", error=type(error).__name__)

    def close(self) -> None:
        """What was rung has been told, and the connection is closed. A later ring opens it again."""
        with _STARTING:
            ringer, self._ringer = self._ringer, None
        if ringer is not None and ringer.pid == os.getpid():
            ringer.rung.put(None)
            ringer.thread.join(CLOSE_SECONDS)
            self._engine.dispose()

    def _start(self, before: _Ringer | None) -> _Ringer:
        if before is not None and before.pid != os.getpid():
            self._engine.dispose(close=False)  # the connection is the parent's
        rung: SimpleQueue[str | None] = SimpleQueue()
        thread = threading.Thread(target=_tell, args=(self._engine, rung), name="bell", daemon=True)
        thread.start()
        return _Ringer(os.getpid(), rung, thread)


def _tell(engine: Engine, rung: SimpleQueue[str | None]) -> None:
    """Notifies until None is rung: of each channel once for all that has gathered."""
    ends = False
    while not ends:
        gathered = {rung.get()}
        while not rung.empty():  # nobody else takes from it
            gathered.add(rung.get())
        ends = None in gathered
        for channel in gathered - {None}:
            _notify(engine, channel)
        if not ends:
            time.sleep(GATHER_SECONDS)


def _notify(engine: Engine, channel: str | None) -> None:
    """One notification; where the connection has died without a word, over another one."""
    for last in (False, True):
        try:
            with engine.connect() as connection:
                connection.execute(_NOTIFY, {"channel": channel})
            return
        except SQLAlchemyError as error:
            if last:
                log.warning("bell_not_heard", error=type(error).__name__)

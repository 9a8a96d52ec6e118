"""Notifies listeners of commits. It does so after them, and once for however many come together.

A NOTIFY inside a transaction takes a lock of the whole server and keeps it until the commit is on the disk:
commits then reach the disk one at a time. Sent after the commit, on a connection of its own, it keeps nobody
waiting. One may be lost with its process or its connection: whoever listens also polls.

It stays although the relay polls: a job starts at once rather than up to ``relay_poll_seconds`` later, and
polling as often as this notifies would cost twenty queries a second where nothing happens.
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
"""Commits within this time after a notification share the next one."""

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
class _Sender:
    """The thread that notifies, and the process that it lives in."""

    pid: int
    channels: SimpleQueue[str | None]
    thread: threading.Thread


class CommitNotifier:
    """Shared by any number of threads. Its own thread and connection are opened by the first notification.

    ``engine``: nobody else's. A process forked from this one has a thread and connection of its own.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._sender: _Sender | None = None

    def notify(self, channel: str) -> None:
        """Notify listeners on the channel soon. At the first call it does at once. Never waits, never
        fails."""
        try:
            with _STARTING:
                sender = self._sender
                if sender is None or not sender.thread.is_alive():  # a fork leaves the parent's behind
                    sender = self._sender = self._start(sender)
                sender.channels.put(channel)
        except RuntimeError as error:  # no thread is to be had: what was committed stands all the same
            log.warning("notifier_not_started", error=type(error).__name__)

    def close(self) -> None:
        """Send what waits and close the connection. A later :meth:`notify` opens it again."""
        with _STARTING:
            sender, self._sender = self._sender, None
        if sender is not None and sender.pid == os.getpid():
            sender.channels.put(None)
            sender.thread.join(CLOSE_SECONDS)
            self._engine.dispose()

    def _start(self, before: _Sender | None) -> _Sender:
        if before is not None and before.pid != os.getpid():
            self._engine.dispose(close=False)  # the connection is the parent's
        channels: SimpleQueue[str | None] = SimpleQueue()
        thread = threading.Thread(
            target=_send, args=(self._engine, channels), name="commit-notify", daemon=True
        )
        thread.start()
        return _Sender(os.getpid(), channels, thread)


def _send(engine: Engine, channels: SimpleQueue[str | None]) -> None:
    """Notify each channel once for all that has gathered, until None comes."""
    ends = False
    while not ends:
        gathered = {channels.get()}
        while not channels.empty():  # nobody else takes from it
            gathered.add(channels.get())
        ends = None in gathered
        for channel in gathered - {None}:
            _notify(engine, channel)
        if not ends:
            time.sleep(GATHER_SECONDS)


def _notify(engine: Engine, channel: str | None) -> None:
    """Send one notification; where the connection has died without a word, over another one."""
    for last in (False, True):
        try:
            with engine.connect() as connection:
                connection.execute(_NOTIFY, {"channel": channel})
            return
        except SQLAlchemyError as error:
            if last:
                log.warning("commit_not_notified", error=type(error).__name__)

"""Hears that a key was revoked, wherever it was, and has remembered callers checked anew."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable

import psycopg

from core.db.listening import listening
from core.identity.repository import REVOKED
from core.logging import get_logger

PAUSE_SECONDS = 1.0
CLOSE_SECONDS = 5.0

log = get_logger(__name__)


class Revocations:
    """A thread with a connection of its own, from :meth:`start` to :meth:`stop`.

    ``forget`` is called for every notification, and whenever the connection stands anew: what came in between
    was missed. While it is away, callers are remembered for ``key_cache_seconds`` at most, as ever.
    """

    def __init__(self, database_url: str, forget: Callable[[], None]) -> None:
        self._database_url, self._forget = database_url, forget
        self._ends, self._end = socket.socketpair()
        self._stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, name="revocations", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self.thread.start()

    def stop(self) -> None:
        """Close the connection and end the thread; one that is just connecting is not waited for.

        Nothing is logged or forgotten after this, also where the thread ends later.
        """
        self._stopped.set()
        self._end.close()
        self.thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        named = False
        while not self._stopped.is_set():
            try:
                with listening(self._database_url, REVOKED) as connection:
                    named = False
                    self._hear(connection)
            except (psycopg.Error, OSError) as error:
                if not named and not self._stopped.is_set():  # once for as long as it is away
                    log.warning("revocations_not_heard", error=type(error).__name__)
                named = True
                self._stopped.wait(PAUSE_SECONDS)

    def _hear(self, connection: psycopg.Connection) -> None:
        """Forget at each notification, until this is to end."""
        if self._stopped.is_set():  # while it connected
            return
        self._forget()
        either: list[psycopg.Connection | socket.socket] = [connection, self._ends]
        while True:
            ready, _, _ = select.select(either, [], [])
            if self._ends in ready:
                return
            for _ in connection.notifies(timeout=0):
                self._forget()

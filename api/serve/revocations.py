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
        self._thread = threading.Thread(target=self._run, name="revocations", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Close the connection and end the thread; one that is just connecting is not waited for."""
        self._end.close()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        ended = told = False
        while not ended:
            try:
                with listening(self._database_url, REVOKED) as connection:
                    told = False
                    ended = self._hear(connection)
            except (psycopg.Error, OSError) as error:
                if not told:  # once for as long as it is away
                    log.warning("revocations_not_heard", error=type(error).__name__)
                told = True
                ended = bool(select.select([self._ends], [], [], PAUSE_SECONDS)[0])

    def _hear(self, connection: psycopg.Connection) -> bool:
        """Forget at each notification, until this is to end."""
        self._forget()
        either: list[psycopg.Connection | socket.socket] = [connection, self._ends]
        while True:
            ready, _, _ = select.select(either, [], [])
            if self._ends in ready:
                return True
            for _ in connection.notifies(timeout=0):
                self._forget()

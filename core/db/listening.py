"""Hears what other processes have committed, in a thread of its own, over a connection of its own.

What a notification says is a convenience: one may be lost with its connection. Whoever listens has to be
right without it, only later.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

import psycopg
import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

PAUSE_SECONDS = 1.0
"""Between two attempts to listen."""

CLOSE_SECONDS = 5.0

log = structlog.get_logger(logger_name=__name__)


class Listener:
    """Calls ``heard`` at every notification of the channel, and whenever it begins to listen.

    ``engine``: nobody else's, of one connection. ``heard`` waits for nothing and raises nothing.
    """

    def __init__(self, engine: Engine, channel: str, heard: Callable[[], None]) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._channel, self._heard = channel, heard
        self._ended = threading.Event()
        self._ends, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, name=f"listen-{channel}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and close its connection."""
        self._ended.set()
        os.write(self._end, b".")
        self._thread.join(CLOSE_SECONDS)
        self._engine.dispose()
        if not self._thread.is_alive():  # one that still connects has the pipe yet
            os.close(self._ends)
            os.close(self._end)

    def _run(self) -> None:
        deaf = False
        while not self._ended.is_set():
            try:
                self._listen()
            except (SQLAlchemyError, psycopg.Error, OSError) as error:
                if not deaf:  # once for an outage, not once a second
                    log.warning("not_listening", channel=self._channel, error=type(error).__name__)
                deaf = True
                self._ended.wait(PAUSE_SECONDS)
            else:
                deaf = False

    def _listen(self) -> None:
        """Listen until the end; raises where the connection does."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql(f"LISTEN {self._channel}")
            driver = connection.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            self._heard()  # what came before
            while True:
                ready, _, _ = select.select([driver.fileno(), self._ends], [], [])
                if self._ends in ready:
                    return
                for _ in driver.notifies(timeout=0):
                    self._heard()

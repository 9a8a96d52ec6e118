"""Workers, reapers and callers on threads of one process, of which one at a time goes on: a test picks which.

An actor stops before each of its transactions, and nowhere else, so that nobody is held while holding a lock.
Between two of its transactions anything may happen: another worker takes the same job, its lease runs out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.db.session import Database
from core.errors import GraphveilError
from core.workflows.common.context import Services
from tests.support.patience import PATIENCE_SECONDS


class Turn:
    """One actor. It begins stopped, and goes on to its next transaction, or its end, at :meth:`go_on`."""

    def __init__(self, services: Services, act: Callable[[Services], object]) -> None:
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.over = False
        self.failure: BaseException | None = None
        own = replace(services, db=_Stepped(services.db, self))
        self._thread = threading.Thread(target=self._live, args=(act, own), daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """The actor has done one transaction more, or has come to its end."""
        self._go.release()
        assert self._stopped.acquire(timeout=PATIENCE_SECONDS), "an actor stands still"
        if self.failure is not None:
            raise self.failure

    def wait(self) -> None:
        """Called by the actor: it stops until it may go on."""
        if threading.current_thread() is self._thread:  # not its heartbeat
            self._stopped.release()
            self._go.acquire()

    def _live(self, act: Callable[[Services], object], services: Services) -> None:
        self._go.acquire()
        try:
            with suppress(GraphveilError, SQLAlchemyError):  # what a caller would be told, a task would log
                act(services)
        except BaseException as error:
            self.failure = error
        finally:
            self.over = True
            self._stopped.release()


class _Stepped(Database):
    """The same connections; every transaction waits for its turn."""

    def __init__(self, database: Database, turn: Turn) -> None:
        self.engine, self.notifier, self._sessions = database.engine, database.notifier, database._sessions
        self._around, self._turn = threading.local(), turn

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        if getattr(self._around, "session", None) is None:  # else it is a part of one that had its turn
            self._turn.wait()
        with super().transaction() as session:
            yield session

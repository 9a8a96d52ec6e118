"""Engine and transactions. Nobody else commits."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

import psycopg
from psycopg import InterfaceError, OperationalError
from sqlalchemy import Dialect, Engine, create_engine, event, func, make_url
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry

from core.db.commit_notify import CommitNotifier

# What a connection is given unless the address says otherwise. A server that went away without a word is
# noticed within half a minute, not after the operating system's quarter of an hour; and a process that stops
# in the middle of a transaction cannot keep an account locked for longer than a minute. Statements are short:
# compiling one would take longer than running it.
CONNECTION = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
    "options": "-c idle_in_transaction_session_timeout=60000 -c jit=off",
}

POOL_SIZE = 20
RESTED_SECONDS = 5.0
"""A connection that was idle for longer is pinged before its next use; otherwise its socket is polled."""

_USED_AT = "graphveil_used_at"
_NOTIFIED = "graphveil_notified"


class BriefCursor(psycopg.Cursor[Any]):
    """A cursor that describes its columns by their names and types alone.

    SQLAlchemy reads the description of every result. The driver's own makes an object for each column, which
    looks its type up: that took a tenth of a submission's time.
    """

    @property
    def description(self) -> list[Any] | None:
        """Columns as PEP 249 has them. They are seven items for each; None for a statement without rows."""
        result = self.pgresult
        if result is None or not result.nfields:
            return None
        return [
            ((result.fname(at) or b"").decode(), result.ftype(at), None, None, None, None, None)
            for at in range(result.nfields)
        ]


def make_engine(url: str, *, pool_size: int = POOL_SIZE) -> Engine:
    """Make a pool of at most ``pool_size`` connections. They stay open, and are checked before each use."""
    given = make_url(url).query
    # Parameters stay out of errors: they would carry digests and sizes into logs.
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"cursor_factory": BriefCursor}
        | {name: value for name, value in CONNECTION.items() if name not in given},
    )
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _alive(engine.dialect))
    return engine


class Database:
    """Hands out transactions. Opened once per process."""

    def __init__(self, url: str, *, pool_size: int = POOL_SIZE) -> None:
        self.engine = make_engine(url, pool_size=pool_size)
        self.notifier = CommitNotifier(make_engine(url, pool_size=1))
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        self._around = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Open a session that commits at its end. Its work is committed as a whole, or rolled back on any
        error.

        After the commit the channels of :func:`notify_at_commit` are notified. Inside :meth:`together` it is
        a part of that transaction.
        """
        if (around := getattr(self._around, "session", None)) is not None:
            yield around
            return
        with self._sessions() as session:
            with session.begin():
                yield session
            # After the commit: whoever is notified must find what was written.
            for channel in session.info.get(_NOTIFIED, ()):
                self.notifier.notify(channel)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one transaction of all that this thread opens meanwhile. It commits at the end of this one.

        For steps that belong together and stand in rooms of their own. An error that leaves one of them must
        leave this one too: what that step has written would be committed.
        """
        with self.transaction() as session:
            self._around.session = session
            try:
                yield
            finally:
                self._around.session = None

    def dispose(self) -> None:
        """Close every connection, the notifier's after what waits is sent."""
        self.notifier.close()
        self.engine.dispose()


def database_now(session: Session) -> datetime:
    """Read PostgreSQL's clock. It stands still in a transaction."""
    return session.scalars(func.now().select()).one()


def notify_at_commit(session: Session, channel: str) -> None:
    """Notify listeners on the channel upon commit. It happens once this transaction has committed, and never
    if it does not."""
    session.info.setdefault(_NOTIFIED, set()).add(channel)


def _note_use(connection: Any, record: ConnectionPoolEntry) -> None:
    record.info[_USED_AT] = time.monotonic()


def _alive(dialect: Dialect) -> Callable[[Any, ConnectionPoolEntry, Any], None]:
    """Make a check of each connection before its use; InvalidatePoolError makes the whole pool anew.

    A server that shuts down closes every socket. Polling one costs microseconds, where a ping would cost a
    tenth of a short transaction. Only a connection that was idle may have died unnoticed: it is pinged.
    """

    def check(connection: Any, record: ConnectionPoolEntry, proxy: Any) -> None:
        used_at = record.info.get(_USED_AT)
        if used_at is None:
            return  # it has just been made
        if not connection.closed:
            if time.monotonic() - used_at < RESTED_SECONDS and not _heard(connection.fileno()):
                return
            with suppress(OperationalError, InterfaceError):
                dialect.do_ping(connection)
                return
        raise InvalidatePoolError

    return check


def _heard(socket: int) -> bool:
    """Tell whether the server has sent anything, the end of the connection included."""
    looking = select.poll()
    looking.register(socket, select.POLLIN)
    return bool(looking.poll(0))

"""Engine and transactions. Nobody else commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.orm import Session, sessionmaker

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


def make_engine(url: str, *, pool_size: int = 10) -> Engine:
    """A connection pool for the given address; connections are checked before use."""
    given = make_url(url).query
    # Parameters stay out of errors: they would carry digests and sizes into logs.
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={name: value for name, value in CONNECTION.items() if name not in given},
    )


class Database:
    """Hands out transactions. Opened once per process."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.engine = make_engine(url, pool_size=pool_size)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session whose work is committed as a whole at the end, or rolled back on any error."""
        with self._sessions() as session, session.begin():
            yield session

    def dispose(self) -> None:
        """Every pooled connection is closed."""
        self.engine.dispose()

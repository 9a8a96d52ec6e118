"""A connection that hears the notifications of a channel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.engine import make_url


@contextmanager
def listening(database_url: str, channel: str) -> Iterator[psycopg.Connection]:
    """Open a connection that listens on the channel. Raises psycopg.Error where the database is away."""
    # psycopg takes the address without the name of SQLAlchemy's driver.
    address = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"LISTEN {channel}")
        yield connection

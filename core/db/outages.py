"""Errors that say the database could not be reached. They are some of the database's."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError

AWAY = ("08", "57P", "53300")
"""How SQLSTATEs begin: the connection failed, the server stops or starts, it has no connection left."""


def unreachable(error: BaseException) -> bool:
    """Tell whether the database was away, whatever was requested of it.

    A statement that it refused, was asked to cancel or gave up waiting for a lock is none: such an end can
    follow from what was asked.
    """
    if isinstance(error, TimeoutError):  # no connection of the pool was free in time
        return True
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    # The server gave no code: the connection failed before it could answer.
    if code is None:
        return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
    return str(code).startswith(AWAY)

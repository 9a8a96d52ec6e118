"""A duty of one process a database at a time. It is so however many are started for it."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from core.db.session import Database
from core.logging import get_logger
from worker.stopping import Stopping

log = get_logger(__name__)


def alone(
    db: Database, lock: int, duty: Callable[[], object], pause_seconds: float, stopping: Stopping
) -> None:
    """Do the duty while this process holds the lock. It does it again and again until it is to stop; the lock
    is advisory."""
    while not stopping():
        try:
            with db.engine.connect() as connection:
                connection = connection.execution_options(isolation_level="AUTOCOMMIT")
                held = connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": lock}).scalar()
                while held and not stopping():
                    connection.execute(text("SELECT 1"))  # the lock is gone if the connection is
                    duty()
                    stopping.wait(pause_seconds)
                if held:
                    connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": lock})
        except SQLAlchemyError as error:
            log.warning("paused", error=type(error).__name__)
        stopping.wait(pause_seconds)

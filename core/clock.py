"""One place for the time. Deadlines in the database use PostgreSQL's clock (``func.now()``)."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)

"""Sweep one row at a time. What a duty cannot do for one row keeps it from no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from sqlalchemy.exc import OperationalError

from core.logging import get_logger

Item = TypeVar("Item")

log = get_logger(__name__)


def sweep(items: Iterable[Item], step: Callable[[Item], None], *, subject: Callable[[Item], str]) -> int:
    """Try the step on every item; how many there were. A failure is logged by its class, not raised.

    Rows are swept oldest first: one that always failed would otherwise hide all that come after it. Only
    OperationalError passes through: where the database is away, every further item would fail alike.
    """
    count = 0
    for item in items:
        count += 1
        try:
            step(item)
        except OperationalError:
            raise
        except Exception as error:
            log.error("not_recovered", subject_id=subject(item), error=type(error).__name__)
    return count

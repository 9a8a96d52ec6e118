"""Claim, heartbeat, fence: one way to hold work, for jobs, ingests and evaluations alike.

Times are PostgreSQL's, so that no two machines need agree on a clock.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, func, or_, update
from sqlalchemy.orm import Session

from core.db.base import ROW_LOCK
from core.errors import LeaseLost

Row = TypeVar("Row", bound=Any)


def claim(
    session: Session,
    model: type[Row],
    row_id: str,
    *,
    worker: str,
    lease_seconds: float,
    claimable: Collection[str],
    running: str,
    max_attempts: int,
) -> Row | None:
    """The row, now ``running`` and leased to ``worker`` under a new attempt number; None if it is not free.

    Free means: in a claimable state, without a live lease, with attempts left. One UPDATE decides.
    """
    statement = (
        update(model)
        .where(
            model.id == row_id,
            model.state.in_(claimable),
            model.attempt < max_attempts,
            or_(model.lease_expires_at.is_(None), model.lease_expires_at < func.now()),
        )
        .values(
            state=running,
            attempt=model.attempt + 1,
            leased_by=worker,
            lease_expires_at=func.now() + timedelta(seconds=lease_seconds),
        )
        .returning(model)
        .execution_options(populate_existing=True)
    )
    return session.scalars(statement).one_or_none()


def heartbeat(session: Session, model: type[Row], row_id: str, *, attempt: int, lease_seconds: float) -> None:
    """The lease is extended; LeaseLost when another attempt owns the row or the lease has run out."""
    statement = (
        update(model)
        .where(fence(model, row_id, attempt), model.lease_expires_at >= func.now())
        .values(lease_expires_at=func.now() + timedelta(seconds=lease_seconds))
    )
    if session.execute(statement).rowcount != 1:  # type: ignore[attr-defined]
        raise LeaseLost(f"the lease on {row_id} has passed to another worker or ran out")


def fence(model: type[Row], row_id: str, attempt: int) -> ColumnElement[bool]:
    """The condition that every update of leased work carries: this row, still under this attempt."""
    return (model.id == row_id) & (model.attempt == attempt)


def hold(session: Session, model: type[Row], row_id: str, *, attempt: int) -> Row:
    """The row, locked for this transaction; LeaseLost when another attempt owns it."""
    row = session.get(model, row_id, with_for_update=ROW_LOCK, populate_existing=True)
    if row is None or row.attempt != attempt or row.leased_by is None:
        raise LeaseLost(f"{row_id} is no longer held under attempt {attempt}")
    return row

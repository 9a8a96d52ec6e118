"""The SQL of leases. They are claim, heartbeat, hold, and what has been lost. Decides nothing.

Times are PostgreSQL's, so that no two machines need agree on a clock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, func, or_, select, true, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.db.base import ROW_LOCK
from core.errors import LeaseLost
from core.work.models import Kind, Row


def claim(
    session: Session,
    kind: Kind[Row],
    row_id: str,
    *,
    worker: str,
    lease_seconds: float,
    max_attempts: int | ColumnElement[int] | InstrumentedAttribute[int],
    fit: ColumnElement[bool] | None = None,
) -> Row | None:
    """Lease the row to ``worker``. It has a new attempt number; None if it is not free."""
    found = claim_all(
        session,
        kind,
        [row_id],
        worker=worker,
        lease_seconds=lease_seconds,
        max_attempts=max_attempts,
        fit=fit,
    )
    return found[0] if found else None


def claim_all(
    session: Session,
    kind: Kind[Row],
    ids: Collection[str],
    *,
    worker: str,
    lease_seconds: float,
    max_attempts: int | ColumnElement[int] | InstrumentedAttribute[int],
    fit: ColumnElement[bool] | None = None,
) -> Sequence[Row]:
    """Lease those of the rows that are free to ``worker``. Each has a new attempt number.

    Free means: claimable, without a live lease, with attempts left, and ``fit``, which is about this worker
    and the row. One UPDATE decides.
    """
    model = kind.model
    statement = (
        update(model)
        .where(
            model.id.in_(ids),
            model.state.in_(kind.claimable),
            model.attempt < max_attempts,
            or_(model.lease_expires_at.is_(None), model.lease_expires_at < func.now()),
            true() if fit is None else fit,
        )
        .values(
            state=kind.running,
            attempt=model.attempt + 1,
            leased_by=worker,
            lease_expires_at=func.now() + timedelta(seconds=lease_seconds),
        )
        .returning(model)
        .execution_options(populate_existing=True)
    )
    return session.scalars(statement).all()


def heartbeat(session: Session, kind: Kind[Row], row_id: str, *, attempt: int, lease_seconds: float) -> None:
    """Extend the lease. LeaseLost when another attempt owns the row or the lease has run out."""
    if extend_all(session, kind, {row_id: attempt}, lease_seconds=lease_seconds) != 1:
        raise LeaseLost(f"the lease on {row_id} has passed to another worker or ran out")


def extend_all(
    session: Session, kind: Kind[Row], attempts: Mapping[str, int], *, lease_seconds: float
) -> int:
    """Extend the leases of those rows that are held under these attempts; how many there were."""
    model = kind.model
    statement = (
        update(model)
        .where(tuple_(model.id, model.attempt).in_(attempts.items()), model.lease_expires_at >= func.now())
        .values(lease_expires_at=func.now() + timedelta(seconds=lease_seconds))
    )
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]


def hold(session: Session, kind: Kind[Row], row_id: str, *, attempt: int) -> Row:
    """Lock the row for this transaction. It is returned; LeaseLost when another attempt owns it."""
    row = session.get(kind.model, row_id, with_for_update=ROW_LOCK, populate_existing=True)
    # The attempt's number stays when work is handed back: then nobody holds it.
    if row is None or row.attempt != attempt or row.leased_by is None:
        raise LeaseLost(f"{row_id} is no longer held under attempt {attempt}")
    return row


def lost_ids(
    session: Session,
    kind: Kind[Row],
    limit: int,
    states: Collection[str] | None = None,
    wanted: ColumnElement[bool] | None = None,
) -> Sequence[str]:
    """Select rows whose lease ran out. A worker should have held them; the longest lost come first."""
    query = select(kind.model.id).where(_lost(kind, states), true() if wanted is None else wanted)
    return session.scalars(query.order_by(kind.model.lease_expires_at).limit(limit)).all()


def lost(session: Session, kind: Kind[Row], row_id: str, states: Collection[str] | None = None) -> Row | None:
    """Lock the row if its lease has run out. It is returned then; None otherwise."""
    query = select(kind.model).where(kind.model.id == row_id, _lost(kind, states))
    # PostgreSQL asks again once it has the lock: of two sweeps one finds the row.
    query = query.with_for_update(**ROW_LOCK).execution_options(populate_existing=True)
    return session.scalars(query).one_or_none()


def _lost(kind: Kind[Row], states: Collection[str] | None) -> ColumnElement[bool]:
    held: Collection[str] = (kind.running,) if states is None else states
    ended: ColumnElement[bool] = kind.model.lease_expires_at < func.now()
    found: ColumnElement[bool] = kind.model.state.in_(held) & ended
    return found


def waiting_ids(
    session: Session, kind: Kind[Row], limit: int, but: ColumnElement[bool] | None = None
) -> Sequence[str]:
    """Select rows that wait for a worker, oldest first. Those of which ``but`` is true are left out."""
    model = kind.model
    query = select(model.id).where(model.state == kind.queued, true() if but is None else ~but)
    return session.scalars(query.order_by(getattr(model, kind.oldest_first)).limit(limit)).all()

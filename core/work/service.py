"""What becomes of leased work, whatever its kind. It is begun, kept alive, handed back, announced again."""

from __future__ import annotations

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.outbox import service as outbox
from core.outbox.repository import unheard
from core.settings import Settings
from core.work import leases
from core.work.models import Kind, Row

RETRY_SECONDS = 5.0
RETRY_GROWTH = 4.0


def begin(
    session: Session,
    settings: Settings,
    kind: Kind[Row],
    row_id: str,
    worker: str,
    max_attempts: int | ColumnElement[int] | InstrumentedAttribute[int] | None = None,
    fit: ColumnElement[bool] | None = None,
) -> Row | None:
    """Lease the row to ``worker``. It may for as many attempts as the settings or the caller allow; None if
    it is not free, or this worker not ``fit`` for it. A caller may allow what a column of the row says."""
    return leases.claim(
        session,
        kind,
        row_id,
        worker=worker,
        lease_seconds=settings.lease_seconds,
        max_attempts=settings.max_attempts if max_attempts is None else max_attempts,
        fit=fit,
    )


def beat(session: Session, settings: Settings, kind: Kind[Row], row_id: str, attempt: int) -> None:
    """Extend the lease by its whole length. LeaseLost."""
    leases.heartbeat(session, kind, row_id, attempt=attempt, lease_seconds=settings.lease_seconds)


def queue_again(session: Session, kind: Kind[Row], row: Row, pause_seconds: float | None = None) -> None:
    """End the lease, and let the row wait. It waits for another worker, which is notified after a pause.

    The pause is :func:`retry_pause` of the row's attempt unless the caller gives another.
    """
    assert kind.topic is not None  # what has none is looked for
    row.state = kind.queued
    row.let_go()
    pause = retry_pause(row.attempt) if pause_seconds is None else pause_seconds
    outbox.ring(session, kind.topic, row.id, not_before_seconds=pause)


def retry_pause(attempt: int) -> float:
    """Compute the seconds before the next attempt. An outage of a moment must not use up every attempt."""
    return RETRY_SECONDS * RETRY_GROWTH ** (attempt - 1)


def ring_again(
    session: Session, settings: Settings, kind: Kind[Row], but: ColumnElement[bool] | None = None
) -> int:
    """Announce again rows that still wait. Their message was sent long ago; returned is how many."""
    assert kind.topic is not None
    ids = leases.waiting_ids(session, kind, settings.sweep_limit, but)
    found = unheard(session, kind.topic, ids, older_than_seconds=settings.ring_again_seconds)
    for row_id in found:
        outbox.ring(session, kind.topic, row_id)
    return len(found)

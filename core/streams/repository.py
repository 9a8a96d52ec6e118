"""The only SQL on the tables of streams. Loads and saves; decides nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, or_, select, text, update
from sqlalchemy.orm import Session, aliased

from core.db.base import ROW_LOCK, newest_first
from core.streams.models import SENT_ANEW, Outcome, Snapshot, Stream, StreamState


def lock_tenant(session: Session, *, tenant: str) -> None:
    """Lock the tenant's streams until the transaction ends. No other transaction opens one until then."""
    # An advisory lock: the tenant may have no row yet that could be locked.
    session.execute(
        text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"stream/{tenant}"}
    )


def by_key(session: Session, *, tenant: str, key: str) -> Stream | None:
    return session.scalars(
        select(Stream).where(Stream.tenant == tenant, Stream.idempotency_key == key)
    ).one_or_none()


def by_id(session: Session, stream_id: str) -> Stream | None:
    return session.get(Stream, stream_id)


def locked(session: Session, stream_id: str) -> Stream | None:
    """Lock the stream until the transaction ends. It is loaded as it is now. Always after the dataset's."""
    return session.get(Stream, stream_id, with_for_update=ROW_LOCK, populate_existing=True)


def count_open(session: Session, *, tenant: str) -> int:
    """Count the tenant's open streams."""
    query = select(func.count()).where(Stream.tenant == tenant, Stream.state == StreamState.OPEN)
    return session.execute(query).scalar_one()


def page(
    session: Session,
    *,
    tenant: str,
    dataset_id: str | None,
    state: str | None,
    before: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[Stream]:
    """List streams of a tenant, newest first. They are older than the pair (created_at, id)."""
    query = select(Stream).where(Stream.tenant == tenant)  # outside what may be left out
    found = newest_first(query, Stream, before, limit, dataset_id=dataset_id, state=state)
    return session.scalars(found).all()


def open_of_dataset(session: Session, dataset_id: str) -> Sequence[Stream]:
    """Lock and load the dataset's open streams. The lock lasts until the transaction ends."""
    query = (
        select(Stream)
        .where(Stream.dataset_id == dataset_id, Stream.state == StreamState.OPEN)
        .order_by(Stream.id)
        .with_for_update(**ROW_LOCK)
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).all()


def snapshot(session: Session, stream_id: str, step: int) -> Snapshot | None:
    """Load what was received for the step, as it is now."""
    return session.get(Snapshot, (stream_id, step), populate_existing=True)


def of_job(session: Session, job_id: str) -> Snapshot | None:
    """Find the snapshot that the job publishes. None for a job that is no tick."""
    return session.scalars(select(Snapshot).where(Snapshot.job_id == job_id)).one_or_none()


def snapshots(session: Session, stream_id: str, *, after: int | None, limit: int) -> Sequence[Snapshot]:
    """List up to ``limit`` snapshots of the steps after ``after``, in order."""
    query = select(Snapshot).where(Snapshot.stream_id == stream_id).order_by(Snapshot.step).limit(limit)
    if after is not None:
        query = query.where(Snapshot.step > after)
    return session.scalars(query).all()


def count_by_outcome(session: Session, stream_id: str) -> dict[str | None, int]:
    """Count snapshots by how they ended; None: not yet."""
    query = (
        select(Snapshot.outcome, func.count())
        .where(Snapshot.stream_id == stream_id)
        .group_by(Snapshot.outcome)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def fullest_window(session: Session, stream: Stream, step: int) -> int:
    """Compute the spend of the fullest window. It is the most nano-epsilon that snapshots took in any of the
    stream's windows that hold the step."""
    reach = stream.window - 1
    spent = (
        select(
            Snapshot.step,
            # RANGE: a window spans numbers of steps, and a step that nobody sent has no row.
            func.sum(Snapshot.nano_epsilon).over(order_by=Snapshot.step, range_=(-reach, 0)).label("total"),
        )
        .where(
            Snapshot.stream_id == stream.id,
            Snapshot.step.between(step - reach, step + reach),
            # What was refused or lost holds nothing, and is sent anew.
            or_(Snapshot.outcome.is_(None), Snapshot.outcome.not_in(SENT_ANEW)),
        )
        .subquery()
    )
    # A window that holds the step ends at it or later.
    query = select(func.max(spent.c.total)).where(spent.c.step >= step)
    return int(session.execute(query).scalar_one() or 0)


def unfinished(session: Session, stream_id: str) -> int:
    """Count the snapshots whose job has not ended."""
    query = select(func.count()).where(Snapshot.stream_id == stream_id, Snapshot.outcome.is_(None))
    return session.execute(query).scalar_one()


def unfinished_jobs(session: Session, stream_id: str) -> list[str]:
    """Load the jobs of the stream's snapshots that have not ended."""
    query = select(Snapshot.job_id).where(Snapshot.stream_id == stream_id, Snapshot.outcome.is_(None))
    return list(session.scalars(query))


def first_unfinished(session: Session, stream_id: str) -> Snapshot | None:
    """Find the earliest snapshot whose job has not ended."""
    query = (
        select(Snapshot)
        .where(Snapshot.stream_id == stream_id, Snapshot.outcome.is_(None))
        .order_by(Snapshot.step)
        .limit(1)
    )
    return session.scalars(query).one_or_none()


def unfinished_before(session: Session, stream_id: str, step: int) -> bool:
    """Tell whether the job of an earlier step has not ended."""
    query = select(Snapshot.step).where(
        Snapshot.stream_id == stream_id, Snapshot.step < step, Snapshot.outcome.is_(None)
    )
    return session.scalars(query.limit(1)).one_or_none() is not None


def held_up() -> Select[Any]:
    """Select the jobs of snapshots that must wait. They wait for an earlier snapshot of their stream."""
    earlier = aliased(Snapshot)
    before = select(earlier.step).where(
        earlier.stream_id == Snapshot.stream_id, earlier.step < Snapshot.step, earlier.outcome.is_(None)
    )
    return select(Snapshot.job_id).where(Snapshot.outcome.is_(None), before.exists())


def last_published(session: Session, stream_id: str, before: int) -> Snapshot | None:
    """Find the latest published snapshot of a step before this one."""
    query = (
        select(Snapshot)
        .where(Snapshot.stream_id == stream_id, Snapshot.step < before, Snapshot.outcome == Outcome.PUBLISHED)
        .order_by(Snapshot.step.desc())
        .limit(1)
    )
    return session.scalars(query).one_or_none()


def any_published(session: Session, stream_id: str) -> Snapshot | None:
    """Find the earliest published snapshot; None while there is none."""
    query = select(Snapshot).where(Snapshot.stream_id == stream_id, Snapshot.outcome == Outcome.PUBLISHED)
    return session.scalars(query.order_by(Snapshot.step).limit(1)).one_or_none()


def published(session: Session, stream_id: str, *, first: int, last: int, limit: int) -> Sequence[Snapshot]:
    """List up to ``limit`` published snapshots. They are of the steps from ``first`` to ``last``, in
    order."""
    query = (
        select(Snapshot)
        .where(
            Snapshot.stream_id == stream_id,
            Snapshot.step.between(first, last),
            Snapshot.outcome == Outcome.PUBLISHED,
        )
        .order_by(Snapshot.step)
        .limit(limit)
    )
    return session.scalars(query).all()


def forget_findings(session: Session, dataset_id: str) -> None:
    """Delete findings about the dataset's snapshots. Nothing is known of them any more: findings quote their
    rows."""
    of_dataset = select(Stream.id).where(Stream.dataset_id == dataset_id)
    session.execute(
        update(Snapshot)
        .where(Snapshot.stream_id.in_(of_dataset), Snapshot.findings.is_not(None))
        .values(findings=None)
    )


def named_objects(session: Session, keys: Collection[str]) -> set[str]:
    """List those of the object keys that a snapshot names. It names them as its upload."""
    found = session.scalars(select(Snapshot.object_key).where(Snapshot.object_key.in_(keys)))
    return {key for key in found if key is not None}

"""The SQL of shards. They are made when a job's model is there, sampled one by one, gone when the job
ends."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.orm import Session

from core.db.base import ROW_LOCK
from core.jobs.models import Job, Shard, ShardState


def shard_id(job_id: str, number: int) -> str:
    """Name one shard of a job, as a message does."""
    return f"{job_id}.{number}"


def job_of(subject_id: str) -> str:
    """Read the job's id from a shard's."""
    return subject_id.rpartition(".")[0]


def add(session: Session, job_id: str, count: int, *, attempts: int) -> list[str]:
    """Add so many shards to the job. All of them wait, each to be tried so often; returned are their ids."""
    rows = [
        Shard(id=shard_id(job_id, number), job_id=job_id, number=number, attempt_limit=attempts)
        for number in range(count)
    ]
    session.add_all(rows)
    session.flush()
    return [row.id for row in rows]


def of_job(session: Session, job_id: str) -> Sequence[Shard]:
    """Load the job's shards, by number."""
    return session.scalars(select(Shard).where(Shard.job_id == job_id).order_by(Shard.number)).all()


def undrawn(session: Session, job_id: str) -> int:
    """Count the job's shards that are not sampled yet."""
    query = select(func.count()).where(Shard.job_id == job_id, Shard.state != ShardState.DRAWN)
    return session.execute(query).scalar_one()


def drawn(session: Session, job_ids: Collection[str]) -> dict[str, int]:
    """Count how many shards of each job are sampled. Jobs without any are left out."""
    if not job_ids:
        return {}
    query = select(Shard.job_id, func.count().label("drawn")).where(
        Shard.job_id.in_(job_ids), Shard.state == ShardState.DRAWN
    )
    rows = session.execute(query.group_by(Shard.job_id))
    return {row.job_id: row.drawn for row in rows}


def waiting(session: Session, job_id: str, limit: int) -> Sequence[str]:
    """Select shards of the job that wait and may be tried twice more, in their order."""
    query = select(Shard.id).where(
        Shard.job_id == job_id, Shard.state == ShardState.WAITING, Shard.attempt + 1 < Shard.attempt_limit
    )
    return session.scalars(query.order_by(Shard.number).limit(limit)).all()


def lock_job(session: Session, subject_id: str) -> Job | None:
    """Lock the shard's job until the transaction ends. It comes before any of its shards."""
    return session.get(Job, job_of(subject_id), with_for_update=ROW_LOCK, populate_existing=True)


def wait_again(session: Session, job_id: str, numbers: Collection[int], *, attempts: int) -> list[str]:
    """Let these shards be sampled again. Nobody holds them; they are tried so often at most; returned are
    their ids.

    What is told of their parts stays.
    """
    statement = (
        update(Shard)
        .where(Shard.job_id == job_id, Shard.number.in_(numbers))
        # An attempt's number fences and never falls: the limit rises instead.
        .values(state=ShardState.WAITING, attempt_limit=Shard.attempt + attempts)
        .returning(Shard.id)
    )
    # RETURNING has no order.
    return sorted(session.scalars(statement, execution_options={"synchronize_session": False}))


def forget(session: Session, job_id: str) -> None:
    """Delete the job's shards. It has none any more: whoever holds one loses it."""
    statement = delete(Shard).where(Shard.job_id == job_id)
    session.execute(statement, execution_options={"synchronize_session": False})


def shards_in(state: ShardState) -> Select[str, str, datetime]:
    """Selects id, tenant and created_at of the shards in that state."""
    query = select(Shard.id, Job.tenant, Shard.created_at).join(Job, Job.id == Shard.job_id)
    return query.where(Shard.state == state)

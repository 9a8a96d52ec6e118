"""What becomes of a reservation when its job stops. The whole table stands in :mod:`core.jobs.states`.

Every function works inside the caller's transaction, on a job row that the caller has locked: the job first,
then its account, always in that order.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.errors import BudgetRefused
from core.jobs import service as jobs
from core.jobs.models import Job, JobReason, JobState
from core.ledger import service as ledger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows import announcements, ticks

RETRY_SECONDS = 5.0
RETRY_GROWTH = 4


def fail(session: Session, settings: Settings, job: Job, reason: JobReason, *, actor: str) -> None:
    """The job has failed by its own doing, or is cancelled if that was asked first.

    The budget is spent if the graph was opened under it: whether a job fails can then depend on the data.
    """
    if job.state == JobState.CANCELLING:
        cancel(session, settings, job, actor=actor)
        return
    _settle(session, settings, job, reason, actor)
    _failed(session, job, reason)


def cancel(
    session: Session, settings: Settings, job: Job, *, actor: str, reason: JobReason | None = None
) -> None:
    """The job is cancelled; its budget is spent if the graph was opened under it, else free again."""
    why = reason or JobReason(job.reason or JobReason.CANCELLED_BY_CALLER)
    _settle(session, settings, job, why, actor)
    jobs.cancelled(session, job, why)
    ticks.ended(session, job)
    announcements.job_came_to(session, job)


def reject(
    session: Session,
    settings: Settings,
    job: Job,
    *,
    actor: str,
    person: str,
    reason: str,
) -> None:
    """A second person refused the job that awaited approval; its budget is free again."""
    jobs.rejected(session, job, decided_by=actor, person=person, reason=reason)
    _return(session, settings, job, JobReason.REJECTED_BY_CURATOR, actor, give_back=False)
    announcements.job_came_to(session, job)


def expire(session: Session, job: Job, *, actor: str) -> None:
    """The waiting job has failed because its reservation ran out; the budget is free again."""
    ledger.expire(session, job.reservation_id, reason=JobReason.RESERVATION_EXPIRED, actor=actor)
    _failed(session, job, JobReason.RESERVATION_EXPIRED)


def hand_back(session: Session, settings: Settings, job: Job, *, actor: str) -> None:
    """Infrastructure stopped the attempt: the job waits for another worker, or fails where that cannot be.

    Once the graph was opened the reservation returns, counted as a give-back, and the retry reserves anew.
    """
    if job.state == JobState.CANCELLING:
        cancel(session, settings, job, actor=actor)
    elif job.attempt >= settings.max_attempts:
        _return(session, settings, job, JobReason.WORKER_LOST, actor, give_back=job.first_read_at is not None)
        _failed(session, job, JobReason.WORKER_LOST)
    elif job.first_read_at is None or _reserved_anew(session, settings, job, actor):
        jobs.requeue(job)
        outbox.ring(session, Topic.RUN, job.id, not_before_seconds=retry_pause(job.attempt))
    else:
        _failed(session, job, JobReason.BUDGET_EXHAUSTED)


def retry_pause(attempt: int) -> float:
    """Seconds before the attempt after this one: an outage of a moment must not use up every attempt."""
    return RETRY_SECONDS * RETRY_GROWTH ** (attempt - 1)


def _failed(session: Session, job: Job, reason: JobReason) -> None:
    jobs.failed(session, job, reason)
    ticks.ended(session, job)
    announcements.job_came_to(session, job)


def _reserved_anew(session: Session, settings: Settings, job: Job, actor: str) -> bool:
    _return(session, settings, job, JobReason.WORKER_LOST, actor, give_back=True)
    try:
        with session.begin_nested():
            reservation_id = ledger.reserve(
                session,
                job.account_id,
                amounts=job.spec["amounts"],
                unit=job.spec["release"]["unit"],
                window=job.spec["release"]["window"],
                job_id=job.id,
                actor=actor,
                expires_in_seconds=None if ticks.is_tick(job) else settings.reservation_seconds,
                team=job.team,
                project=job.project,
            )
    except BudgetRefused:
        return False
    jobs.reserve_anew(job, reservation_id)
    return True


def _settle(session: Session, settings: Settings, job: Job, reason: JobReason, actor: str) -> None:
    if job.first_read_at is not None:
        with announcements.spending(session, settings, job):
            ledger.forfeit(session, job.reservation_id, reason=reason, actor=actor)
    else:
        _return(session, settings, job, reason, actor, give_back=False)


def _return(
    session: Session, settings: Settings, job: Job, reason: JobReason, actor: str, *, give_back: bool
) -> None:
    ledger.release(
        session,
        job.reservation_id,
        reason=reason,
        actor=actor,
        give_back=give_back,
        block_after=settings.give_backs_before_block,
    )

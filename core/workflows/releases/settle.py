"""What opening the graph does to a job's account. Here is too what becomes of its reservation when the job
stops.

The whole table stands in :mod:`core.jobs.states`.

Every function works inside the caller's transaction, on a job row that the caller has locked: the job first,
then its account, always in that order.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.errors import BudgetRefused
from core.jobs import service as jobs
from core.jobs import shard_repository as shards
from core.jobs.models import Job, JobReason, JobState, Stop
from core.ledger import service as ledger
from core.ledger.kinds import EntryKind
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.privacy.accounting.plan import GuaranteeKind
from core.settings import Settings
from core.work import service as work
from core.workflows.common.specs import reserve, spec_of
from core.workflows.releases import ticks
from core.workflows.webhooks import announcements


def opened(session: Session, job: Job, *, actor: str) -> None:
    """Record that the graph was opened for the job. It is safe to repeat.

    Without a guarantee the account is exposed from here on, not from the publication: whether the job then
    fails, and how, follows from the data, and no noise lies on it.
    """
    first = job.first_read_at is None
    jobs.opened(session, job)
    if first and spec_of(job).kind is GuaranteeKind.NONE:
        expose(session, job, actor=actor)


def expose(session: Session, job: Job, *, actor: str) -> None:
    """Record that the graph was opened without a guarantee. An entry of the job says so; one, however often
    requested."""
    ledger.expose(
        session,
        job.account_id,
        job_id=job.id,
        digests={},
        actor=actor,
        reason="the graph was opened without a guarantee",
    )


def fail(session: Session, settings: Settings, job: Job, reason: JobReason, *, actor: str) -> None:
    """Fail the job by its own doing. It is cancelled if that was requested first.

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
    """Cancel the job. Its budget is spent if the graph was opened under it, else free again."""
    why = reason or JobReason(job.reason or JobReason.CANCELLED_BY_CALLER)
    if job.state == JobState.RUNNING:  # nobody holds it: its shards are drawn
        jobs.ask_to_stop(session, job, why)
    _settle(session, settings, job, why, actor)
    jobs.cancelled(session, job, why)
    shards.forget(session, job.id)
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
    """Reject a job that awaited approval. A second person refused it; its budget is free again."""
    jobs.rejected(session, job, decided_by=actor, person=person, reason=reason)
    _return(session, settings, job, JobReason.REJECTED_BY_CURATOR, actor)
    announcements.job_came_to(session, job)


def expire(session: Session, job: Job, *, actor: str) -> None:
    """Fail a waiting job whose reservation ran out. The budget is free again."""
    ledger.expire(session, job.reservation_id, reason=JobReason.RESERVATION_EXPIRED, actor=actor)
    _failed(session, job, JobReason.RESERVATION_EXPIRED)


def hand_back(session: Session, settings: Settings, job: Job, stop: Stop, *, actor: str) -> None:
    """Hand a stopped job back. Infrastructure stopped the attempt: it waits for another worker, or fails
    where that cannot be.

    Once the graph was opened the reservation returns, and the retry reserves anew. Whether the job counts
    as a give-back is decided when it ends (:func:`_give_back`).
    """
    if job.state == JobState.CANCELLING:
        cancel(session, settings, job, actor=actor)
    elif job.fitted_attempt is not None:
        _hand_back_fitted(session, settings, job, actor=actor)
    elif job.attempt >= settings.max_attempts:
        _give_back(session, settings, job, stop, actor)
        _failed(session, job, JobReason.WORKER_LOST)
    elif job.first_read_at is None or _reserved_anew(session, settings, job, stop, actor):
        queue(session, job, work.retry_pause(job.attempt))
    else:
        _give_back(session, settings, job, stop, actor)
        _failed(session, job, JobReason.BUDGET_EXHAUSTED)


def _hand_back_fitted(session: Session, settings: Settings, job: Job, *, actor: str) -> None:
    """Let another worker join the shards, under the reservation that paid for the model: nothing is read.

    Where no attempt is left the budget is spent: how many shards there are was told, and follows from what
    was read.
    """
    if job.attempt < attempts(settings, job):
        queue(session, job, work.retry_pause(job.attempt - (job.fitted_attempt or 0)))
    else:
        fail(session, settings, job, JobReason.DRAWING_LOST, actor=actor)


def attempts(settings: Settings, job: Job) -> int:
    """Count how often the job may be tried. Once its model is fitted, it may as often again."""
    return settings.max_attempts + (job.fitted_attempt or 0)


def queue(session: Session, job: Job, pause_seconds: float = 0) -> None:
    """Queue the job for a worker. This is notified after a pause."""
    jobs.requeue(job)
    outbox.ring(session, Topic.RUN, job.id, not_before_seconds=pause_seconds)


def _failed(session: Session, job: Job, reason: JobReason) -> None:
    jobs.failed(session, job, reason)
    shards.forget(session, job.id)
    ticks.ended(session, job)
    announcements.job_came_to(session, job)


def _reserved_anew(session: Session, settings: Settings, job: Job, stop: Stop, actor: str) -> bool:
    """The reservation has returned, and another stands; False, and nothing is done, where it is refused."""
    try:
        # A savepoint: where the new reservation is refused the job ends with the one that it had.
        with session.begin_nested():
            _return(session, settings, job, stop, actor)
            reservation_id = reserve(
                session, job, spec_of(job), actor=actor, expires_in_seconds=settings.reservation_seconds
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
        _return(session, settings, job, reason, actor, give_back=_lost_a_worker(session, job))


def _give_back(session: Session, settings: Settings, job: Job, stop: Stop, actor: str) -> None:
    """The job ends without a charge though its graph may have been opened."""
    # What is in a graph could cost a host its memory, so that the loss of workers is an answer: a job counts
    # once, however many it lost, if it lost one after the opening. An outage and a drain, which a worker that
    # lives on tells of, follow from nothing that a job does.
    now = stop is Stop.WORKER_LOST and job.first_read_at is not None
    _return(session, settings, job, stop, actor, give_back=now or _lost_a_worker(session, job))


def _lost_a_worker(session: Session, job: Job) -> bool:
    """An earlier attempt had opened the graph when its worker was lost."""
    if job.attempt == 0:
        return False
    returned = ledger.entries_of_job(session, job.account_id, job.id, EntryKind.RELEASE)
    return any(entry.reason == Stop.WORKER_LOST for entry in returned)


def _return(
    session: Session,
    settings: Settings,
    job: Job,
    reason: JobReason | Stop,
    actor: str,
    *,
    give_back: bool = False,
) -> None:
    ledger.release(
        session,
        job.reservation_id,
        reason=reason,
        actor=actor,
        give_back=give_back,
        block_after=settings.give_backs_before_block,
    )

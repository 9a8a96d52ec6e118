"""What happens to a job, step by step. Every step is checked against the table in :mod:`core.jobs.states`."""

from __future__ import annotations

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from core.db.session import database_now
from core.errors import InvalidTransition, NotFound, TooManyJobs
from core.jobs import repository, states
from core.jobs.models import Evaluation, Job, JobReason, JobState
from core.jobs.repository import Standing
from core.jobs.states import GIVEN_BACK
from core.settings import Settings
from graphveil.models.jobs import BudgetOutcome

_FREE = BudgetOutcome(outcome="returned", text="The job had reserved nothing: there is nothing to return.")
_RETURNED = BudgetOutcome(
    outcome="returned", text="The graph was not opened: the whole reservation has returned."
)
_PENDING = BudgetOutcome(
    outcome="pending",
    text="The graph has not been opened, and will not be: the whole reservation returns once the job has "
    "stopped.",
)
_FAILED_FREE = BudgetOutcome(outcome="returned", text="The whole reservation has returned.")
_SPENT = BudgetOutcome(
    outcome="spent",
    text="The graph was opened for this job, so its whole cost stays charged: that a job failed or stopped "
    "can tell something about the data.",
)


def get(session: Session, *, tenant: str, job_id: str) -> Job:
    """Return the tenant's job. NotFound when there is none, or when it is another tenant's."""
    job = repository.by_id(session, job_id)
    # Another tenant's id must look like one that does not exist.
    if job is None or job.tenant != tenant:
        raise NotFound("There is no such job.", id=job_id)
    return job


def seen(
    session: Session, *, tenant: str, job_id: str, beside: ColumnElement[bool]
) -> tuple[Job, Evaluation | None, bool]:
    """Do as :func:`get`, with the job's evaluation. It comes if there is any, and so does ``beside``."""
    found = repository.seen(session, job_id, beside)
    if found is None or found[0].tenant != tenant:
        raise NotFound("There is no such job.", id=job_id)
    return found


def get_locked(session: Session, *, tenant: str, job_id: str) -> Job:
    """Do as :func:`get`, and lock the job. No other transaction changes it until this one ends."""
    get(session, tenant=tenant, job_id=job_id)
    job = repository.locked(session, job_id)
    if job is None:
        raise NotFound("There is no such job.", id=job_id)
    return job


def check_room(settings: Settings, found: Standing) -> None:
    """Check that who stands so may have another open job. Tenant and key may; it raises TooManyJobs
    otherwise.

    Requests of one moment do not see each other, and would wait for each other if they did: they may go past
    the limit by as many as the service works on at a time.
    """
    for of, count, limit in (
        ("key", found.of_key, settings.max_open_key_jobs),
        ("tenant", found.of_tenant, settings.max_open_jobs),
    ):
        if count >= limit:
            raise TooManyJobs(
                f"{count} jobs of this {of} have not ended, and {limit} may be open: wait until some have, "
                "or cancel some.",
                of=of,
                open=count,
                limit=limit,
                retry_after=settings.poll_after_seconds,
            )


def started(session: Session, job: Job) -> None:
    """Note when the job's first attempt began. :func:`core.work.leases.claim` has moved its state."""
    # The first attempt's time stays: it says how long the job waited.
    if job.started_at is None:
        job.started_at = database_now(session)


def opened(session: Session, job: Job) -> None:
    """Note that no failure returns the job's budget. From now on, the graph was opened or a metered read
    recorded."""
    # Under one reservation the first opening counts, whichever attempt made it.
    if job.first_read_at is None:
        job.first_read_at = database_now(session)


def ask_to_stop(session: Session, job: Job, reason: JobReason) -> None:
    """Request a running job to stop. It is cancelling: its worker will stop it, or the reaper after a
    time."""
    _move(job, JobState.CANCELLING)
    job.reason = reason
    job.cancel_requested_at = database_now(session)


def fitted(job: Job, shards: int) -> None:
    """Note that the job's model is there. Nobody holds the job until its shards are sampled."""
    job.fitted_attempt, job.shards = job.attempt, shards
    job.let_go()


def requeue(job: Job) -> None:
    """Let the job wait for another worker. The attempt number stays, so that the old holder's updates
    fail."""
    _move(job, JobState.QUEUED)
    job.let_go()


def reserve_anew(job: Job, reservation_id: str) -> None:
    """Give the job a new reservation. The graph was not opened under it yet."""
    job.reservation_id = reservation_id
    job.first_read_at = None


def approved(session: Session, job: Job, *, decided_by: str, person: str, reason: str) -> None:
    """Let the job wait for a worker. A second person approved it. InvalidTransition unless it awaits that."""
    _decide(session, job, JobState.QUEUED, decided_by, person, reason)


def rejected(session: Session, job: Job, *, decided_by: str, person: str, reason: str) -> None:
    """End the job because a second person refused it. InvalidTransition unless it awaits approval."""
    _decide(session, job, JobState.REJECTED, decided_by, person, reason)
    job.reason = JobReason.REJECTED_BY_CURATOR
    _finish(session, job)


def committed(job: Job) -> None:
    """Note that the charge stands. Only the copying of staged bytes is left."""
    _move(job, JobState.PUBLISHING)


def published(session: Session, job: Job) -> None:
    """Publish the job: its release can be downloaded."""
    _move(job, JobState.PUBLISHED)
    _finish(session, job)


def failed(session: Session, job: Job, reason: JobReason) -> None:
    """End the job without a release."""
    _move(job, JobState.FAILED)
    job.reason = reason
    _finish(session, job)


def cancelled(session: Session, job: Job, reason: JobReason | None = None) -> None:
    """End the job by request. ``reason`` defaults to the one given with the request."""
    _move(job, JobState.CANCELLED)
    job.reason = reason or job.reason or JobReason.CANCELLED_BY_CALLER
    _finish(session, job)


def budget_outcome(job: Job) -> BudgetOutcome | None:
    """Say what becomes of a stopped job's budget. It failed, was stopped or refused; None otherwise.

    It follows from whether the graph had been opened when the job was asked to stop: after that it is not.
    A failure that returns the budget has one text, whether content or infrastructure was to blame.
    """
    if job.state not in (JobState.FAILED, JobState.CANCELLING, JobState.CANCELLED, JobState.REJECTED):
        return None
    if not job.reserved:
        return _FREE
    if job.state == JobState.FAILED and (job.first_read_at is None or job.reason in GIVEN_BACK):
        return _FAILED_FREE
    if job.first_read_at is not None:
        return _SPENT
    return _PENDING if job.state == JobState.CANCELLING else _RETURNED


def _decide(
    session: Session, job: Job, following: JobState, decided_by: str, person: str, reason: str
) -> None:
    if job.state != JobState.AWAITING_APPROVAL:
        raise InvalidTransition(
            f"A job that is {job.state} waits for nobody's approval.", state=job.state, asked=str(following)
        )
    _move(job, following)
    job.decided_by, job.decided_person, job.decision_reason = decided_by, person, reason
    job.decided_at = database_now(session)


def _move(job: Job, following: JobState) -> None:
    states.check(job.state, following)
    job.state = following


def _finish(session: Session, job: Job) -> None:
    job.finished_at = database_now(session)
    job.let_go()

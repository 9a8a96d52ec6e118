"""Jobs are stopped on request: at once while they wait, through their worker while they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from core.errors import InvalidTransition
from core.identity.models import Role
from core.identity.service import Principal, require, require_own
from core.jobs import repository
from core.jobs import service as jobs
from core.jobs.models import Job, JobReason, JobState
from core.settings import Settings
from core.workflows import settle, ticks
from core.workflows.context import Services

WAITING = (JobState.AWAITING_APPROVAL, JobState.QUEUED)


@dataclass(frozen=True)
class BudgetOutcome:
    """What ending without a release does to a job's budget: it has returned, will return, or stays spent."""

    outcome: Literal["returned", "pending", "spent"]
    text: str


_FREE = BudgetOutcome("returned", "The job had reserved nothing: there is nothing to return.")
_RETURNED = BudgetOutcome("returned", "The graph was not opened: the whole reservation has returned.")
_PENDING = BudgetOutcome(
    "pending",
    "The graph has not been opened, and will not be: the whole reservation returns once the job has stopped.",
)
_FAILED_FREE = BudgetOutcome("returned", "The whole reservation has returned.")
_SPENT = BudgetOutcome(
    "spent",
    "The graph was opened for this job, so its whole cost stays charged: that a job failed or stopped can "
    "tell something about the data.",
)


def budget_outcome(job: Job) -> BudgetOutcome | None:
    """What becomes of the budget of a job that failed, was stopped on request, or refused; None otherwise.

    It follows from whether the graph had been opened when the job was asked to stop: after that it is not.
    A failure that returns the budget has one text, whether content or infrastructure was to blame.
    """
    if job.state not in (JobState.FAILED, JobState.CANCELLING, JobState.CANCELLED, JobState.REJECTED):
        return None
    if not any(job.spec["amounts"].values()):
        return _FREE
    if job.state == JobState.FAILED and (job.first_read_at is None or job.reason in ticks.GIVEN_BACK):
        return _FAILED_FREE
    if job.first_read_at is not None:
        return _SPENT
    return _PENDING if job.state == JobState.CANCELLING else _RETURNED


def cancel_job(services: Services, principal: Principal, job_id: str) -> Job:
    """A waiting job is cancelled and its budget free; a running one is cancelling. Safe to repeat.

    A requester stops its own jobs and its team's, a curator any. What a running job has read is spent. Raises
    NotFound, Forbidden, and InvalidTransition once the charge stands or the job has ended otherwise.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        job = jobs.get_locked(session, tenant=principal.tenant, job_id=job_id)
        require_own(principal, person=job.person, team=job.team)
        if job.state not in (JobState.CANCELLING, JobState.CANCELLED):
            _stop(session, services.settings, job, JobReason.CANCELLED_BY_CALLER, principal.key_id)
        return job


def cancel_jobs_of(session: Session, settings: Settings, dataset_id: str, *, actor: str) -> int:
    """Every job of the dataset that has not been charged is stopped; how many those were.

    Part of the caller's transaction, which holds the dataset: no new job can slip in.
    """
    # All jobs before their account: whoever ends one of them holds its row and waits for the account.
    stoppable = repository.locked_of_dataset(session, dataset_id, (*WAITING, JobState.RUNNING))
    for job in stoppable:
        _stop(session, settings, job, JobReason.DATASET_ARCHIVED, actor)
    return len(stoppable)


def _stop(session: Session, settings: Settings, job: Job, reason: JobReason, actor: str) -> None:
    if job.state in WAITING:
        settle.cancel(session, settings, job, actor=actor, reason=reason)
    elif job.state == JobState.RUNNING:
        jobs.ask_to_stop(session, job, reason)
    else:
        raise InvalidTransition(
            f"A job that is {job.state} can no longer be cancelled.", state=job.state, asked="cancelled"
        )

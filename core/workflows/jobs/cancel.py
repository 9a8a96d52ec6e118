"""Jobs are stopped on request. They are at once while they wait, through their worker while they run."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.errors import InvalidTransition
from core.identity.models import Role
from core.identity.service import Principal, require, require_own
from core.jobs import repository
from core.jobs import service as jobs
from core.jobs.models import Job, JobReason, JobState
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.releases import settle

WAITING = (JobState.AWAITING_APPROVAL, JobState.QUEUED)


def cancel_job(services: Services, principal: Principal, job_id: str) -> Job:
    """Cancel a waiting job, or ask a running one to stop. The first is cancelled and its budget free; the
    second is cancelling. Safe to repeat.

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
    """Stop every uncharged job of the dataset. Returned is how many those were.

    Part of the caller's transaction, which holds the dataset: no new job can slip in.
    """
    # All jobs before their account: whoever ends one of them holds its row and waits for the account.
    stoppable = repository.locked_of_dataset(session, dataset_id, (*WAITING, JobState.RUNNING))
    for job in stoppable:
        _stop(session, settings, job, JobReason.DATASET_ARCHIVED, actor)
    return len(stoppable)


def _stop(session: Session, settings: Settings, job: Job, reason: JobReason, actor: str) -> None:
    drawing = job.state == JobState.RUNNING and job.leased_by is None  # in shards; nobody holds it itself
    if job.state in WAITING or drawing:
        settle.cancel(session, settings, job, actor=actor, reason=reason)
    elif job.state == JobState.RUNNING:
        jobs.ask_to_stop(session, job, reason)
    else:
        raise InvalidTransition(
            f"A job that is {job.state} can no longer be cancelled.", state=job.state, asked="cancelled"
        )

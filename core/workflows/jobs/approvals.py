"""Approval of a job above the policy's threshold. It waits until a second person approves or rejects it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import repository as datasets
from core.datasets.models import Dataset
from core.errors import NotFound
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import service as jobs
from core.jobs.models import Job, JobState
from core.ledger import service as ledger
from core.logging import get_logger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.privacy.accounting.plan import PrivacyPlan
from core.workflows.common.context import Services
from core.workflows.common.policies import check_least, check_policy
from core.workflows.common.specs import spec_of
from core.workflows.identity.persons import require_second_person
from core.workflows.releases import settle

log = get_logger(__name__)


def approve_job(services: Services, principal: Principal, job_id: str, *, reason: str) -> Job:
    """Queue the approved job. Its reservation is kept until it ends. Safe to repeat.

    The policy that stands now must allow it, and is the one that admitted it. Raises Forbidden, NotFound,
    SecondPersonNeeded, KindNotAllowed, PolicyRefused, and InvalidTransition where it awaits no approval.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        dataset, job = _held(session, principal, job_id)
        if job.decided_at is not None and job.state != JobState.REJECTED:
            return job
        jobs.approved(session, job, decided_by=principal.key_id, person=principal.person, reason=reason)
        # The policy may have changed since it was asked for: what stands now decides.
        check_policy(session, dataset, spec_of(job), team=job.team, project=job.project)
        cost = PrivacyPlan.from_json(job.plan).cost().nano_epsilon
        if cost is not None:
            check_least(dataset, cost)
        job.policy_version = dataset.policy_version
        # Approved, it may wait for a worker as long as that takes: its reservation ends with it.
        ledger.keep(session, job.reservation_id)
        outbox.ring(session, Topic.RUN, job.id)
    log.info("job_approved", job_id=job.id)
    return job


def reject_job(services: Services, principal: Principal, job_id: str, *, reason: str) -> Job:
    """Reject the job, and free its budget. Safe to repeat.

    Raises Forbidden, NotFound, SecondPersonNeeded, and InvalidTransition where it awaits no approval.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        _, job = _held(session, principal, job_id)
        if job.state == JobState.REJECTED:
            return job
        settle.reject(
            session,
            services.settings,
            job,
            actor=principal.key_id,
            person=principal.person,
            reason=reason,
        )
    log.info("job_rejected", job_id=job.id)
    return job


def _held(session: Session, principal: Principal, job_id: str) -> tuple[Dataset, Job]:
    """Lock the job for a caller who is not the one that asked for it.

    Its dataset is share-locked first, as whoever archives it does: so the policy stands until the end.
    """
    seen = jobs.get(session, tenant=principal.tenant, job_id=job_id)
    dataset = datasets.share_locked(session, seen.dataset_id)
    if dataset is None:
        raise NotFound("There is no such job.", id=job_id)
    job = jobs.get_locked(session, tenant=principal.tenant, job_id=job_id)
    require_second_person(principal, job.person)
    return dataset, job

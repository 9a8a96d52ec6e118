"""A job and its spec. Here is how one becomes the other, and what is reserved for it."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from core.datasets.models import Dataset
from core.identity.service import Principal
from core.jobs import repository
from core.jobs.models import Job, JobState
from core.ledger import service as ledger
from core.methods.base import Accelerator
from core.publishing.spec import JobSpec
from core.tracing import spans


def spec_of(job: Job) -> JobSpec:
    """Read the job's spec from the database. What a later version of the service adds is left to its
    worker."""
    return JobSpec.model_validate(job.spec, extra="ignore")


def new_job(
    principal: Principal, dataset: Dataset, spec: JobSpec, plan: dict[str, Any], plan_digest: str
) -> Job:
    """Make a queued job without a reservation. Its dataset's policy admits it.

    Any worker may claim it until it is said to gain from a GPU.
    """
    release = spec.release
    return Job(
        id=release.job_id,
        tenant=principal.tenant,
        dataset_id=release.dataset_id,
        version_id=release.dataset_version,
        account_id=dataset.account_id,
        method=release.method,
        spec=spec.model_dump(mode="json"),
        plan=plan,
        plan_digest=plan_digest,
        state=JobState.QUEUED,
        requested_by=principal.key_id,
        person=principal.person,
        team=principal.team,
        policy_version=dataset.policy_version,
        sample_of=release.source_id,
        traceparent=spans.carried(release.job_id),
        accelerator=Accelerator.NONE,
        gpu_only=False,
    )


def reserve(
    session: Session,
    job: Job,
    spec: JobSpec,
    *,
    actor: str,
    expires_in_seconds: float | None = None,
) -> str:
    """Set the job's budget aside; returns the reservation's id. Raises what the ledger refuses.

    It runs out after ``expires_in_seconds`` where the release is one whose reservation does.
    """
    return ledger.reserve(
        session,
        job.account_id,
        amounts=spec.amounts,
        unit=str(spec.release.unit),
        window=spec.release.window,
        job_id=job.id,
        actor=actor,
        expires_in_seconds=expires_in_seconds if spec.release.reservation_expires else None,
        team=job.team,
        project=job.project,
    )


def queue_free(
    session: Session, principal: Principal, job: Job, spec: JobSpec, *, key: str, digest: str
) -> Job:
    """Queue a job that reserves nothing: a further sample, or declarations. Raises what the ledger
    refuses."""
    job.idempotency_key, job.payload_hash = key, digest
    job.reservation_id = reserve(session, job, spec, actor=principal.key_id)
    repository.add(session, job, rung=True)
    return job

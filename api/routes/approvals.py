"""A second person's word on a job above the policy's threshold."""

from __future__ import annotations

from fastapi import APIRouter

from api.deps import CuratorDep, ServicesDep
from api.http.auth import Guarded
from api.routes.proposals import DecisionBody
from api.show import openapi
from core import errors
from core.workflows.jobs import queries as job_queries
from core.workflows.jobs.approvals import approve_job, reject_job
from graphveil.models.jobs import Job

router = APIRouter(prefix="/jobs/{job_id}", tags=["governance"], route_class=Guarded)


@router.post(
    "/approve",
    operation_id="approve_job",
    summary="Approve a job",
    responses=openapi.refusals(
        errors.NotFound,
        errors.SecondPersonNeeded,
        errors.InvalidTransition,
        errors.KindNotAllowed,
        errors.PolicyRefused,
    ),
)
def approve(services: ServicesDep, principal: CuratorDep, job_id: str, body: DecisionBody) -> Job:
    """The job is queued; its reservation no longer runs out. Another person than asked decides."""
    approve_job(services, principal, job_id, reason=body.reason)
    return job_queries.get_job(services, principal, job_id)


@router.post(
    "/reject",
    operation_id="reject_job",
    summary="Reject a job",
    responses=openapi.refusals(errors.NotFound, errors.SecondPersonNeeded, errors.InvalidTransition),
)
def reject(services: ServicesDep, principal: CuratorDep, job_id: str, body: DecisionBody) -> Job:
    """The job has ended, and its budget is free again. Another person than asked decides."""
    reject_job(services, principal, job_id, reason=body.reason)
    return job_queries.get_job(services, principal, job_id)

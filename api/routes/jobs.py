"""Jobs: requested, watched, cancelled."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response

from api.deps import Cursor, IdempotencyKey, PortalDep, ServicesDep
from api.http import conditional
from api.http.auth import Guarded
from api.show import openapi
from core import errors
from core.workflows.common.polling import pause_seconds
from core.workflows.jobs import queries as job_queries
from core.workflows.jobs.cancel import cancel_job
from core.workflows.jobs.submit import JobRequest, plan_job, submit_job
from graphveil.models.jobs import TERMINAL, Job, Jobs
from graphveil.models.plans import Plan

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=Guarded)

_EXAMPLES = {
    "whole graph": {
        "summary": "A quarter of an epsilon for the whole graph",
        "value": {"dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e", "method": "auto", "epsilon": "0.25"},
    },
    "target": {
        "summary": "As much as it takes for the number of edges to be within 1 %",
        "value": {
            "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e",
            "method": "dcsbm",
            "target": {"edges_relative_95": 0.01},
            "assume": {"edges": 90000},
        },
    },
    "declared": {
        "summary": "A graph from declared facts alone: nothing is read, and nothing spent",
        "value": {
            "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e",
            "method": "declared",
            "parameters": {"relations": {"*": {"mean_degree": 8, "degrees": "power_law"}}},
        },
    },
    "two formats": {
        "summary": "One relation, written as GraphML too",
        "value": {
            "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e",
            "epsilon": "1",
            "edge_types": ["contact"],
            "formats": ["parquet", "graphml"],
            "label": "spring term",
        },
    },
}


@router.post(
    "",
    operation_id="submit_job",
    status_code=202,
    response_model=Job,
    summary="Submit a job, or plan it",
    responses={
        200: {"model": Plan, "description": "`dry_run=true`: the plan and the balances it would leave."},
        **openapi.queued("The job is queued and its budget reserved; both are committed.", "job"),
        **openapi.refusals(
            errors.IdempotencyKeyMissing,
            errors.NotFound,
            errors.BudgetExceeded,
            errors.TargetNotMet,
            errors.DatasetNotReady,
            errors.IdenticalRelease,
            errors.AccountBlocked,
            errors.AccountExposed,
            errors.NotAccepted,
            errors.UnknownMethod,
            errors.WorkerMissing,
            errors.UnknownFormat,
            errors.IdempotencyKeyReused,
            errors.UnitMismatch,
            errors.KindNotAllowed,
            errors.TooManyJobs,
        ),
    },
)
def submit(
    services: ServicesDep,
    principal: PortalDep,
    request: Request,
    body: Annotated[JobRequest, Body(openapi_examples=_EXAMPLES)],
    key: IdempotencyKey = None,
    dry_run: Annotated[bool, Query(description="Plan only: nothing is reserved, no key is needed.")] = False,
) -> Response:
    """The budget is reserved and the job queued in one transaction, which has ended before the answer."""
    if dry_run:
        return conditional.as_json(plan_job(services, principal, body))
    job, replayed = submit_job(services, principal, body, key)
    headers = {
        "Location": f"{request.url.path.rstrip('/')}/{job.id}",
        "Retry-After": str(services.settings.poll_after_seconds),
    }
    if replayed:
        headers[openapi.REPLAYED] = "true"
        view = job_queries.get_job(services, principal, job.id)
    else:
        view = job_queries.new_job(services, principal, job)
    return conditional.as_json(view, status_code=202, headers=headers)


@router.get("", summary="List jobs, newest first")
def list_jobs(
    services: ServicesDep,
    principal: PortalDep,
    state: Annotated[str | None, Query(description="Only jobs in this state.", max_length=32)] = None,
    dataset_id: Annotated[str | None, Query(description="Only jobs of this dataset.", max_length=64)] = None,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=500, description="Jobs on a page.")] = None,
) -> Jobs:
    """One page of the tenant's jobs."""
    return job_queries.list_jobs(services, principal, state, dataset_id, cursor, limit)


@router.get(
    "/{job_id}",
    response_model=Job,
    summary="Show a job",
    responses={
        200: {
            "headers": {
                "ETag": {"schema": {"type": "string"}, "description": "Changes when the job does."},
                "Retry-After": {
                    "schema": {"type": "integer"},
                    "description": "Seconds before the next poll; absent once the job has ended.",
                },
            }
        },
        304: {"description": "Nothing has changed since the answer with that ETag."},
        **openapi.refusals(errors.NotFound),
    },
)
def get_job(services: ServicesDep, principal: PortalDep, request: Request, job_id: str) -> Response:
    """The job as the caller may see it. Poll with `If-None-Match`, and not before `Retry-After`."""
    view = job_queries.get_job(services, principal, job_id)
    pause = None if view.state in TERMINAL else pause_seconds(services.settings, view.created_at)
    return conditional.tagged(request, view, retry_after_seconds=pause)


@router.post(
    "/{job_id}/cancel",
    operation_id="cancel_job",
    status_code=202,
    summary="Cancel a job",
    responses=openapi.refusals(errors.NotFound, errors.InvalidTransition),
)
def cancel(services: ServicesDep, principal: PortalDep, job_id: str) -> Job:
    """The job is cancelled, or will be. Safe to repeat. `budget` says what returns: all of it until the graph
    is opened, nothing afterwards, for what a job has read stays charged."""
    cancel_job(services, principal, job_id)
    return job_queries.get_job(services, principal, job_id)

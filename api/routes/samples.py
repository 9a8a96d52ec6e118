"""Further samples of published jobs. They come from their fitted models at no charge."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from api.deps import IdempotencyKey, PortalDep, ServicesDep
from api.http.auth import Guarded
from api.show import openapi
from core import errors
from core.workflows.jobs import queries as job_queries
from core.workflows.jobs.samples import SampleRequest, submit_sample
from graphveil.models.jobs import Job

router = APIRouter(prefix="/jobs/{job_id}/samples", tags=["jobs"], route_class=Guarded)

_PLAIN = SampleRequest()
_EXAMPLES = {
    "one more": {"summary": "One more graph from the same model", "value": {"label": "second draw"}},
    "another format": {"summary": "Written as GraphML too", "value": {"formats": ["graphml"]}},
}


@router.post(
    "",
    operation_id="sample_job",
    status_code=202,
    summary="Draw again from a published job's model",
    responses={
        **openapi.queued("The sample is queued, as a job of its own that is charged nothing.", "job"),
        **openapi.refusals(
            errors.IdempotencyKeyMissing,
            errors.NotFound,
            errors.JobNotFinished,
            errors.JobFailed,
            errors.DatasetNotReady,
            errors.AccountBlocked,
            errors.NotAccepted,
            errors.UnknownMethod,
            errors.WorkerMissing,
            errors.UnknownFormat,
            errors.IdempotencyKeyReused,
            errors.KindNotAllowed,
            errors.PolicyRefused,
            errors.TooManyJobs,
        ),
    },
)
def sample(
    services: ServicesDep,
    principal: PortalDep,
    request: Request,
    response: Response,
    job_id: str,
    body: Annotated[SampleRequest, Body(openapi_examples=_EXAMPLES)] = _PLAIN,
    key: IdempotencyKey = None,
) -> Job:
    """A further graph from the model that the job fitted: post-processing, under the guarantee that was paid
    for. It has fresh node names, a report and files of its own."""
    job, replayed = submit_sample(services, principal, job_id, body, key)
    jobs = request.url.path.rstrip("/").removesuffix(f"/{job_id}/samples")
    response.headers["Location"] = f"{jobs}/{job.id}"
    response.headers["Retry-After"] = str(services.settings.poll_after_seconds)
    if replayed:
        response.headers[openapi.REPLAYED] = "true"
    return job_queries.get_job(services, principal, job.id)

"""Reports and files of published jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from api import conditional, openapi
from api.deps import PortalDep, ServicesDep
from api.schemas.jobs import Artifacts, ReportPending
from core import errors
from core.workflows import job_queries

router = APIRouter(prefix="/jobs/{job_id}", tags=["releases"])

_CHUNKS = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@router.get(
    "/report",
    summary="Show a release's report",
    response_model=dict[str, Any],
    responses={
        202: {
            "model": ReportPending,
            "description": "The job still runs.",
            "headers": {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}},
        },
        **openapi.refusals(errors.NotFound, errors.JobFailed),
    },
)
def get_report(services: ServicesDep, principal: PortalDep, job_id: str) -> Any:
    """The public part for everyone in the tenant; the comparison with the original for curators."""
    try:
        return job_queries.get_report(services, principal, job_id)
    except errors.JobNotFinished as running:
        pending = ReportPending(job_id=job_id, state=running.members["state"])
        pause = {"Retry-After": str(services.settings.poll_after_seconds)}
        return JSONResponse(pending.model_dump(), 202, pause)


@router.get(
    "/artifacts",
    response_model=Artifacts,
    summary="List a release's files",
    responses=openapi.refusals(errors.NotFound, errors.JobNotFinished, errors.JobFailed),
)
def list_artifacts(services: ServicesDep, principal: PortalDep, job_id: str) -> Any:
    """Names, sizes and digests of the files that the caller may open."""
    return {"items": job_queries.artifacts(services, principal, job_id)}


@router.get(
    "/artifacts/{name}",
    response_class=StreamingResponse,
    summary="Download a file",
    responses={
        200: {
            "content": _CHUNKS,
            "description": "The file, streamed.",
            "headers": {"ETag": {"schema": {"type": "string"}, "description": "SHA-256 of the file."}},
        },
        304: {"description": "The caller holds the file already."},
        **openapi.refusals(errors.NotFound, errors.JobNotFinished, errors.JobFailed),
    },
)
def download(
    services: ServicesDep, principal: PortalDep, request: Request, job_id: str, name: str
) -> Response:
    """One file of a release, exactly as the charge that paid for it names it."""
    artifact, chunks = job_queries.open_artifact(services, principal, job_id, name)
    headers = {
        "ETag": f'"{artifact.sha256}"',
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'attachment; filename="{artifact.name}"',
    }
    if conditional.holds(request, headers["ETag"]):
        return conditional.not_modified(headers)
    headers["Content-Length"] = str(artifact.size_bytes)
    return StreamingResponse(_opened(chunks), 200, headers, media_type=artifact.media_type)


def _opened(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks, of which the first has been read: a store that fails does so before the answer begins."""
    first = next(chunks, b"")

    def rest() -> Iterator[bytes]:
        yield first
        yield from chunks

    return rest()

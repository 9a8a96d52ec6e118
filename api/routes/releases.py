"""Reports, in every form, and files of published jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from api.deps import PortalDep, ServicesDep
from api.http import conditional, ranges
from api.http.auth import Guarded
from api.http.conditional import PAGE_POLICY
from api.http.negotiation import preferred
from api.schemas.reports import ServedReport
from api.show import openapi
from core import errors
from core.late import late
from core.reports import card, markdown
from core.reports.catalogues import forms
from core.reports.catalogues.context import Context, Publication
from core.workflows.common.context import Services
from core.workflows.releases import queries as release_queries
from core.workflows.releases.queries import Edition
from graphveil.models.jobs import Artifacts, ReportPending

router = APIRouter(prefix="/jobs/{job_id}", tags=["releases"], route_class=Guarded)

HTML, MARKDOWN = "text/html; charset=utf-8", "text/markdown; charset=utf-8"
_render = late("core.reports.html.render:render")  # templates are compiled for those who ask for a page
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_CHUNKS = {"application/octet-stream": _BINARY, "*/*": _BINARY}  # as the list of artifacts says
_TEXT = {"schema": {"type": "string"}}
_OBJECT = {"schema": {"type": "object"}}
_ETAG = {"ETag": {"schema": {"type": "string"}, "description": "SHA-256 of the answer."}}
PublicationQuery = Annotated[Publication, Query()]


def _answers(*media_types: str, model: type[BaseModel] | None = None) -> dict[int | str, dict[str, Any]]:
    """What a form of the report is answered with; ``model``: the shape of its JSON, where it is ours."""
    json_shape = _OBJECT if model is None else {}
    shapes = {kind: json_shape if kind.endswith("json") else _TEXT for kind in media_types}
    told = {"content": shapes, "description": "The report in this form.", "headers": _ETAG}
    return {
        200: told if model is None else told | {"model": model},
        202: {
            "model": ReportPending,
            "description": "The job still runs.",
            "headers": {
                "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."},
                **_ETAG,
            },
        },
        304: {"description": "The caller holds it already."},
        **openapi.refusals(errors.NotFound, errors.JobFailed),
    }


@router.get(
    "/report",
    summary="Show a release's report",
    response_class=Response,
    responses=_answers("application/json", "text/html", "text/markdown", model=ServedReport),
)
def get_report(services: ServicesDep, principal: PortalDep, request: Request, job_id: str) -> Response:
    """The public part for everyone in the tenant; the comparison with the original for curators.

    JSON, unless `Accept` prefers `text/html` or `text/markdown`.
    """
    found = _edition(request, services, principal, job_id)
    if isinstance(found, Response):
        return found
    form = preferred(request.headers.get("accept", ""), ("application/json", "text/html", "text/markdown"))
    vary = {"Vary": "Accept"}
    if form == "text/html":
        return _page(request, found, vary)
    if form == "text/markdown":
        return _markdown(request, found, vary)
    return _json(request, release_queries.as_json(found), "application/json", vary)


@router.get(
    "/report.html",
    operation_id="get_report_page",
    summary="Show a release's report as a page",
    response_class=Response,
    responses=_answers("text/html"),
)
def get_page(services: ServicesDep, principal: PortalDep, request: Request, job_id: str) -> Response:
    """The report as one self-contained HTML file, in the edition that the caller may see."""
    found = _edition(request, services, principal, job_id)
    return found if isinstance(found, Response) else _page(request, found)


@router.get(
    "/report.md",
    operation_id="get_report_markdown",
    summary="Show a release's report as Markdown",
    response_class=Response,
    responses=_answers("text/markdown"),
)
def get_markdown(services: ServicesDep, principal: PortalDep, request: Request, job_id: str) -> Response:
    """The report as Markdown, in the edition that the caller may see."""
    found = _edition(request, services, principal, job_id)
    return found if isinstance(found, Response) else _markdown(request, found)


@router.get(
    "/card.md",
    summary="Show a release's dataset card",
    response_class=Response,
    responses=_answers("text/markdown"),
)
def get_card(
    services: ServicesDep, principal: PortalDep, request: Request, job_id: str, said: PublicationQuery
) -> Response:
    """Markdown with YAML front matter, as dataset hubs read it; from the public edition for every caller."""
    found = _edition(request, services, principal, job_id)
    if isinstance(found, Response):
        return found
    return conditional.tagged_bytes(request, card.card(found.report.public, said).encode(), MARKDOWN)


@router.get(
    "/metadata/{form}",
    summary="Show a release's metadata for catalogues",
    response_class=Response,
    responses=_answers("application/json", "application/ld+json"),
)
def get_metadata(
    services: ServicesDep,
    principal: PortalDep,
    request: Request,
    job_id: str,
    form: forms.Form,
    said: PublicationQuery,
) -> Response:
    """DCAT or Croissant (JSON-LD), an OpenLineage event, or an entry for the registry of DP deployments.

    From the public edition for every caller. What only the publisher knows is taken from the query.
    """
    found = _edition(request, services, principal, job_id)
    if isinstance(found, Response):
        return found
    context = Context(services.settings.public_url, found.released_on, said)
    return _json(request, forms.metadata(form, found.report.public, context), forms.MEDIA_TYPES[form])


def _edition(request: Request, services: Services, principal: PortalDep, job_id: str) -> Edition | Response:
    """What the caller may see of the report; 202 while the job runs, for this caller and never kept as it."""
    try:
        return release_queries.edition(services, principal, job_id)
    except errors.JobNotFinished as running:
        pending = ReportPending(job_id=job_id, state=running.members["state"])
        pause = int(running.members["retry_after"])
        return conditional.tagged(request, pending, retry_after_seconds=pause, status_code=202)


def _page(request: Request, found: Edition, headers: Mapping[str, str] | None = None) -> Response:
    policy = {"Content-Security-Policy": PAGE_POLICY, **(headers or {})}
    return conditional.tagged_bytes(
        request, _render(found.report, evaluation=unfinished(found)).encode(), HTML, policy
    )


def _markdown(request: Request, found: Edition, headers: Mapping[str, str] | None = None) -> Response:
    text = markdown.markdown(found.report, evaluation=unfinished(found))
    return conditional.tagged_bytes(request, text.encode(), MARKDOWN, headers)


def unfinished(found: Edition) -> Literal["pending", "failed", "erased"] | None:
    """Say why a curator's report has no curator part. None where it has one, and for other callers."""
    return None if found.comparison == "done" else found.comparison


def _json(
    request: Request, value: dict[str, Any], media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    return conditional.tagged_bytes(request, json.dumps(value, allow_nan=False).encode(), media_type, headers)


@router.get(
    "/artifacts",
    summary="List a release's files",
    responses=openapi.refusals(errors.NotFound, errors.JobNotFinished, errors.JobFailed),
)
def list_artifacts(services: ServicesDep, principal: PortalDep, job_id: str) -> Artifacts:
    """Names, sizes and digests of the files that the caller may open."""
    return release_queries.listed(services, principal, job_id)


@router.get(
    "/artifacts/{name}",
    operation_id="download_artifact",
    response_class=StreamingResponse,
    summary="Download a file",
    responses={
        200: {
            "content": _CHUNKS,
            "description": "The file, streamed.",
            "headers": {"ETag": {"schema": {"type": "string"}, "description": "SHA-256 of the file."}},
        },
        206: {"content": _CHUNKS, "description": "The part that `Range` asks for: one range of bytes."},
        304: {"description": "The caller holds the file already."},
        307: {
            "description": "Where the bucket gives the file out, for some minutes; no API key goes there.",
            "headers": {"Location": {"schema": {"type": "string"}, "description": "A signed address."}},
        },
        **openapi.refusals(
            errors.NotFound, errors.JobNotFinished, errors.JobFailed, errors.RangeNotSatisfiable
        ),
    },
)
def download(
    services: ServicesDep,
    principal: PortalDep,
    request: Request,
    job_id: str,
    name: str,
    stream: Annotated[
        bool, Query(description="Through the service even where the storage is an S3 bucket.")
    ] = False,
) -> Response:
    """One file of a release, exactly as the charge that paid for it names it.

    One `Range` of bytes is answered alone, so that a download goes on where it broke off; `If-Range` with
    the `ETag` makes sure of the file. Where the storage is an S3 bucket, the answer is a redirect to it;
    check the file against its digest.
    """
    artifact, chunks = release_queries.open_artifact(services, principal, job_id, name)
    headers = {
        "ETag": f'"{artifact.sha256}"',
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'attachment; filename="{artifact.name}"',
    }
    if conditional.holds(request, headers["ETag"]):
        return conditional.not_modified(headers)
    address = None if stream else release_queries.signed_address(services, artifact)
    if address is not None:
        return Response(
            status_code=307,
            headers={"ETag": headers["ETag"], "Location": address, "Cache-Control": "no-store"},
        )
    tag = headers["ETag"]
    return ranges.answer(request, chunks, artifact.size_bytes, tag, artifact.media_type, headers)

"""Live streams over HTTP. They are opened, fed with snapshots, read, taken home as one file."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from api.deps import (
    MAPPED,
    CuratorDep,
    Cursor,
    IdempotencyKey,
    PortalDep,
    ReaderDep,
    ServicesDep,
    format_options,
)
from api.http import bodies, conditional, streaming
from api.http.auth import Guarded
from api.http.conditional import PAGE_POLICY
from api.http.negotiation import preferred
from api.show import openapi, stream_pages
from core import errors
from core.workflows.streams import lifecycle as streams
from core.workflows.streams import queries as stream_queries
from core.workflows.streams import report as stream_report
from core.workflows.streams import snapshots
from core.workflows.streams.requests import StreamRequest
from graphveil.models.stream_plans import StreamPlan
from graphveil.models.streams import TERMINAL, Snapshot, Snapshots, Stream, StreamReport, Streams

router = APIRouter(prefix="/streams", tags=["streams"], route_class=Guarded)

JSON, HTML, MARKDOWN = "application/json", "text/html", "text/markdown"
ARCHIVES = ("application/zip", "application/octet-stream")
_NAMED = frozenset({"step", "time", "format"})
_LAST_STEP = 2**31 - 1
_EXAMPLES = {
    "a year of weeks": {
        "summary": "Epsilon 1 for any window; the service chooses the method",
        "value": {"dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e", "epsilon": "1"},
    },
    "with gaps": {
        "summary": "One relation, from step 52 on; a step that is left out was empty",
        "value": {
            "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e",
            "method": "psgraph",
            "epsilon": "0.5",
            "window": 4,
            "edge_types": ["contact"],
            "first_step": 52,
            "missing_steps": "empty",
            "label": "contacts, second year",
        },
    },
}
_REPLAY = {
    openapi.REPLAYED: {
        "schema": {"type": "string", "enum": ["true"]},
        "description": "An earlier request did it already.",
    }
}
_PAUSE = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds before a poll."}}
_TAG = {"ETag": {"schema": {"type": "string"}, "description": "Changes when the answer does."}}
_REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {form: {"schema": {"type": "string"}} for form in (HTML, MARKDOWN)},
        "description": "One page of the report.",
        "headers": _TAG,
    },
    304: {"description": "The caller holds it already."},
    **openapi.refusals(errors.NotFound),
}
_AFTER = Query(ge=0, le=_LAST_STEP, description="Only steps after this one.")
After = Annotated[int | None, _AFTER]
Limit = Annotated[int | None, Query(ge=1, le=500, description="Entries on a page.")]
Step = Annotated[int, Path(ge=0, le=_LAST_STEP, description="The step.")]


@router.post(
    "",
    operation_id="open_stream",
    status_code=201,
    response_model=Stream,
    summary="Open a stream, or plan it",
    responses={
        200: {"model": StreamPlan, "description": "`dry_run=true`: what a step and a window would cost."},
        201: {
            "description": "The stream is open. Nothing is reserved yet: each snapshot reserves for itself.",
            "headers": {
                "Location": {"schema": {"type": "string"}, "description": "The stream."},
                **_REPLAY,
            },
        },
        **openapi.refusals(
            errors.IdempotencyKeyMissing,
            errors.NotFound,
            errors.Conflict,
            errors.DatasetNotReady,
            errors.AccountBlocked,
            errors.AccountExposed,
            errors.NotAccepted,
            errors.UnknownMethod,
            errors.WorkerMissing,
            errors.IdempotencyKeyReused,
            errors.KindNotAllowed,
        ),
    },
)
def create(
    services: ServicesDep,
    principal: PortalDep,
    request: Request,
    response: Response,
    body: Annotated[StreamRequest, Body(openapi_examples=_EXAMPLES)],
    key: IdempotencyKey = None,
    dry_run: Annotated[bool, Query(description="Plan only: nothing is opened, no key is needed.")] = False,
) -> Any:
    """A stream of a dataset under unit `w-event`: from now on it takes one snapshot for each step."""
    if dry_run:
        return conditional.as_json(streams.plan_stream(services, principal, body))
    stream, replayed = streams.create_stream(services, principal, body, key)
    response.headers["Location"] = f"{request.url.path.rstrip('/')}/{stream.id}"
    if replayed:
        response.headers[openapi.REPLAYED] = "true"
    return stream


@router.get("", summary="List streams, newest first")
def list_streams(
    services: ServicesDep,
    principal: ReaderDep,
    dataset_id: Annotated[
        str | None, Query(description="Only streams of this dataset.", max_length=64)
    ] = None,
    state: Annotated[str | None, Query(description="Only streams in this state.", max_length=32)] = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Streams:
    """One page of the tenant's streams."""
    return streams.list_streams(services, principal, dataset_id, state, cursor, limit)


@router.get(
    "/{stream_id}",
    response_model=Stream,
    summary="Show a stream",
    responses={
        200: {"headers": _TAG},
        304: {"description": "Nothing has changed since the answer with that ETag."},
        **openapi.refusals(errors.NotFound),
    },
)
def get_stream(services: ServicesDep, principal: ReaderDep, request: Request, stream_id: str) -> Response:
    """The stream's terms, and `next_step`: the step that it waits for."""
    return conditional.tagged(request, streams.get_stream(services, principal, stream_id))


@router.post(
    "/{stream_id}/close",
    operation_id="close_stream",
    summary="Close a stream",
    responses=openapi.refusals(errors.NotFound),
)
def close(services: ServicesDep, principal: PortalDep, stream_id: str) -> Stream:
    """The stream takes no further snapshots; those that wait are published still. Safe to repeat."""
    return streams.close_stream(services, principal, stream_id)


@router.post(
    "/{stream_id}/snapshots",
    operation_id="push_snapshot",
    dependencies=MAPPED,
    status_code=202,
    summary="Send a snapshot",
    responses={
        200: {
            "model": Snapshot,
            "description": "The same was received before: this is what became of it.",
            "headers": {
                "Location": {"schema": {"type": "string"}, "description": "The snapshot."},
                **_REPLAY,
            },
        },
        202: {
            "description": "The snapshot waits to be published and its cost is reserved; both are committed.",
            "headers": {
                "Location": {"schema": {"type": "string"}, "description": "The snapshot."},
                **_PAUSE,
            },
        },
        **openapi.refusals(
            errors.NotFound,
            errors.SnapshotLate,
            errors.SnapshotEarly,
            errors.SnapshotConflict,
            errors.StreamBusy,
            errors.TooManyJobs,
            errors.StreamClosed,
            errors.BudgetExceeded,
            errors.AccountBlocked,
            errors.AccountExposed,
            errors.DatasetNotReady,
            errors.UnknownFormat,
            errors.UnsupportedMediaType,
        ),
    },
    openapi_extra={
        "requestBody": {
            "required": False,
            "description": "The step's rows, as they are; gzip is recognised. No bytes: nothing happened.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def push(
    services: ServicesDep,
    principal: CuratorDep,
    request: Request,
    response: Response,
    stream_id: str,
    step: Annotated[int | None, Query(ge=0, le=_LAST_STEP, description="The step; or give a time.")] = None,
    time: Annotated[
        int | None, Query(ge=-(2**62), le=2**62, description="Any time in the step, on the dataset's grid.")
    ] = None,
    format: Annotated[str, Query(max_length=32, description="csv, tsv or parquet.")] = "csv",
) -> Snapshot:
    """The snapshot is stored, encrypted, and published once every earlier step is.

    Rows have `source,target[,type][,time]`; all must lie in the step. Steps come in order; the same step with
    the same bytes is answered with what stands. Any further query parameter is an option of the format.
    """
    options = format_options(request, _NAMED)
    found, replayed = await streaming.feed(
        request,
        principal,
        lambda chunks: snapshots.receive_snapshot(
            services,
            principal,
            stream_id,
            step=step,
            time=time,
            format=format,
            options=options,
            chunks=chunks,
            length=bodies.announced_bytes(request.headers),
        ),
    )
    response.headers["Location"] = f"{request.url.path.rstrip('/')}/{found.step}"
    if replayed:
        response.status_code = 200
        response.headers[openapi.REPLAYED] = "true"
    if found.state not in TERMINAL:
        response.headers["Retry-After"] = str(services.settings.poll_after_seconds)
    return _shown(request, found)


@router.get(
    "/{stream_id}/snapshots",
    summary="List a stream's snapshots",
    responses=openapi.refusals(errors.NotFound),
)
def list_snapshots(
    services: ServicesDep,
    principal: ReaderDep,
    request: Request,
    stream_id: str,
    after: After = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Snapshots:
    """One page of the stream's steps, in order."""
    page = stream_queries.list_snapshots(services, principal, stream_id, after, cursor, limit)
    return page.model_copy(update={"items": [_shown(request, found) for found in page.items]})


@router.get(
    "/{stream_id}/snapshots/{step}",
    response_model=Snapshot,
    summary="Show a snapshot",
    responses={
        200: {"headers": {**_TAG, **_PAUSE}},
        304: {"description": "Nothing has changed since the answer with that ETag."},
        **openapi.refusals(errors.NotFound),
    },
)
def get_snapshot(
    services: ServicesDep, principal: ReaderDep, request: Request, stream_id: str, step: Step
) -> Response:
    """What was received for the step, and what became of it. Poll with `If-None-Match`."""
    found = stream_queries.get_snapshot(services, principal, stream_id, step)
    pause = None if found.state in TERMINAL else services.settings.poll_after_seconds
    return conditional.tagged(request, _shown(request, found), retry_after_seconds=pause)


@router.get(
    "/{stream_id}/report",
    operation_id="get_stream_report",
    summary="Show a stream's report",
    response_model=StreamReport,
    responses=_REPORT,
)
def get_report(
    services: ServicesDep,
    principal: ReaderDep,
    request: Request,
    stream_id: str,
    after: After = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response:
    """What each step cost, what each window holds, and how the snapshots are; comparisons for curators.

    JSON, unless `Accept` prefers `text/html` or `text/markdown`.
    """
    report = stream_report.stream_report(services, principal, stream_id, after, cursor, limit)
    vary = {"Vary": "Accept"}
    form = preferred(request.headers.get("accept", ""), (JSON, HTML, MARKDOWN))
    if form == HTML:
        return _page(request, report, vary)
    if form == MARKDOWN:
        return _markdown(request, report, vary)
    return conditional.tagged_bytes(request, report.model_dump_json().encode(), JSON, vary)


@router.get(
    "/{stream_id}/report.html",
    operation_id="get_stream_report_page",
    summary="Show a stream's report as a page",
    response_class=Response,
    responses=_REPORT,
)
def get_page(
    services: ServicesDep,
    principal: ReaderDep,
    request: Request,
    stream_id: str,
    after: After = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response:
    """The report as one self-contained HTML file, in the edition that the caller may see."""
    return _page(request, stream_report.stream_report(services, principal, stream_id, after, cursor, limit))


@router.get(
    "/{stream_id}/report.md",
    operation_id="get_stream_report_markdown",
    summary="Show a stream's report as Markdown",
    response_class=Response,
    responses=_REPORT,
)
def get_markdown(
    services: ServicesDep,
    principal: ReaderDep,
    request: Request,
    stream_id: str,
    after: After = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response:
    """The report as Markdown, in the edition that the caller may see."""
    return _markdown(
        request, stream_report.stream_report(services, principal, stream_id, after, cursor, limit)
    )


@router.get(
    "/{stream_id}/download",
    operation_id="download_stream",
    summary="Download a stream's snapshots",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {form: {"schema": {"type": "string", "format": "binary"}} for form in ARCHIVES},
            "description": "A zip: nodes, schema, index, and a folder for each step.",
        },
        **openapi.refusals(errors.NotFound, errors.JobNotFinished),
    },
)
def download(
    services: ServicesDep,
    principal: PortalDep,
    request: Request,
    stream_id: str,
    first: Annotated[int | None, Query(ge=0, le=_LAST_STEP, description="The first step to take.")] = None,
    last: Annotated[int | None, Query(ge=0, le=_LAST_STEP, description="The last step to take.")] = None,
) -> Response:
    """Every published step as one file, streamed; `index.json` names the digest of each."""
    chunks = stream_queries.combined(services, principal, stream_id, first, last)
    headers = {
        "Cache-Control": conditional.REVALIDATE,
        "Content-Disposition": f'attachment; filename="{stream_id}.zip"',
    }
    media_type = preferred(request.headers.get("accept", ""), ARCHIVES)
    return StreamingResponse(streaming.opened(chunks), 200, headers, media_type=media_type)


def _shown(request: Request, found: Snapshot) -> Snapshot:
    """Lead to its report under the path that the routes were called by: empty, or a version."""
    base = request.url.path.partition("/streams/")[0]
    return found if found.report is None else found.model_copy(update={"report": base + found.report})


def _page(request: Request, report: StreamReport, headers: dict[str, str] | None = None) -> Response:
    policy = {"Content-Security-Policy": PAGE_POLICY, **(headers or {})}
    return conditional.tagged_bytes(
        request, stream_pages.render(report).encode(), f"{HTML}; charset=utf-8", policy
    )


def _markdown(request: Request, report: StreamReport, headers: dict[str, str] | None = None) -> Response:
    text = stream_pages.markdown(report)
    return conditional.tagged_bytes(request, text.encode(), f"{MARKDOWN}; charset=utf-8", headers)

"""Jobs of the console. They are listed, watched, cancelled; their reports and files; further samples; a
second person's word."""

from __future__ import annotations

import json
import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from api.console import pages
from api.console.forms import FormDep, mistaken
from api.console.session import Signed, see
from api.deps import CuratorDep, Cursor, PortalDep, ServicesDep
from api.http import ranges
from api.http.event_streams import EventStreams, JobEventStream
from api.routes.evidence import packed
from api.routes.releases import unfinished
from api.schemas.policies import Decision
from core.errors import GraphveilError, InvalidInput
from core.identity.service import Principal
from core.reports.html.render import content_of
from core.reports.pack.model import EditionName
from core.workflows.common.context import Services
from core.workflows.common.paging import Sort
from core.workflows.datasets import queries as datasets
from core.workflows.jobs import events as job_events
from core.workflows.jobs import queries as jobs
from core.workflows.jobs.approvals import approve_job, reject_job
from core.workflows.jobs.cancel import cancel_job
from core.workflows.jobs.samples import SampleRequest, submit_sample
from core.workflows.releases import queries as releases
from core.workflows.releases import zips
from graphveil.models.jobs import AWAITING_APPROVAL, TERMINAL

router = APIRouter(prefix="/console/jobs", route_class=Signed, include_in_schema=False)

STATES = ("awaiting_approval", "queued", "running", "published", "failed", "cancelled", "rejected")
LAST_NUMBER = 2**31 - 1


@router.get("")
def listed(
    request: Request,
    services: ServicesDep,
    principal: PortalDep,
    state: Annotated[str | None, Query(max_length=32)] = None,
    dataset_id: Annotated[str | None, Query(max_length=64)] = None,
    sort: Annotated[str | None, Query(max_length=32)] = None,
    cursor: Cursor = None,
) -> Response:
    """A page of the tenant's jobs, the newest or the oldest first."""
    found = jobs.list_jobs(services, principal, state or None, dataset_id or None, cursor, sort=sort or None)
    content = {
        "jobs": found,
        "states": STATES,
        "state": state or "",
        "dataset_id": dataset_id or "",
        "sort": sort or Sort.NEWEST,
    }
    return pages.page(request, "jobs.html", content)


@router.get("/{job_id}")
def shown(request: Request, services: ServicesDep, principal: PortalDep, job_id: str) -> Response:
    """The job, its stages while it runs, and once it is published its report and files."""
    return _page(request, services, principal, job_id)


@router.get("/{job_id}/stages")
def stages(request: Request, services: ServicesDep, principal: PortalDep, job_id: str) -> Response:
    """The part of the page that changes while the job runs."""
    content = _watched(services, principal, job_id)
    return pages.page(request, "stages.html", content)


@router.get("/{job_id}/events")
def follow(
    request: Request,
    services: ServicesDep,
    principal: PortalDep,
    job_id: str,
    last: Annotated[int, Header(alias="Last-Event-ID", ge=0, le=LAST_NUMBER)] = 0,
) -> Response:
    """The job's steps and states as they happen, as the API tells them."""
    opening = job_events.open_changes(services, principal, job_id, last)
    streams: EventStreams = request.app.state.event_streams
    return JobEventStream(
        streams,
        principal.tenant,
        job_id,
        last,
        opening,
        lambda change: job_events.shown(principal, change),
    )


@router.post("/{job_id}/cancel")
def cancel(services: ServicesDep, principal: PortalDep, job_id: str, form: FormDep) -> Response:
    """The job is cancelled, or will be; its page says what returns."""
    cancel_job(services, principal, job_id)
    return see(f"/console/jobs/{job_id}?done=cancelled")


@router.post("/{job_id}/samples")
def sample(
    request: Request, services: ServicesDep, principal: PortalDep, job_id: str, form: FormDep
) -> Response:
    """A further graph from the job's model, at no charge, as a job of its own."""
    try:
        try:
            asked = SampleRequest(label=form.get("label") or None)
        except ValidationError as error:
            raise mistaken(error) from None
        job, _ = submit_sample(services, principal, job_id, asked, form.get("idempotency_key"))
    except GraphveilError as error:
        return _page(request, services, principal, job_id, pages.problem_of(request, error))
    return see(f"/console/jobs/{job.id}?done=submitted")


@router.post("/{job_id}/approve")
def approve(
    request: Request, services: ServicesDep, principal: CuratorDep, job_id: str, form: FormDep
) -> Response:
    """The job is queued. Another person than asked decides."""
    approve_job(services, principal, job_id, reason=decision(form.get("reason", "")))
    return see("/console/approvals?done=approved")


@router.post("/{job_id}/reject")
def reject(
    request: Request, services: ServicesDep, principal: CuratorDep, job_id: str, form: FormDep
) -> Response:
    """The job has ended, and its budget is free again. Another person than asked decides."""
    reject_job(services, principal, job_id, reason=decision(form.get("reason", "")))
    return see("/console/approvals?done=rejected")


@router.get("/{job_id}/files/{name}")
def download(
    request: Request, services: ServicesDep, principal: PortalDep, job_id: str, name: str
) -> Response:
    """One file of a release, through the service, exactly as the charge that paid for it names it."""
    artifact, chunks = releases.open_artifact(services, principal, job_id, name)
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{artifact.name}"',
    }
    tag = f'"{artifact.sha256}"'
    return ranges.answer(request, chunks, artifact.size_bytes, tag, artifact.media_type, headers)


@router.get("/{job_id}/release.zip")
def zipped(services: ServicesDep, principal: PortalDep, job_id: str) -> Response:
    """All files of a release that may be handed on, as one archive."""
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{job_id}.zip"',
    }
    return StreamingResponse(
        zips.release_zip(services, principal, job_id), 200, headers, media_type="application/zip"
    )


@router.get("/{job_id}/report.json")
def report(services: ServicesDep, principal: PortalDep, job_id: str) -> Response:
    """The report in full, as the API gives it."""
    found = releases.as_json(releases.edition(services, principal, job_id))
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{job_id}-report.json"',
    }
    return Response(json.dumps(found, allow_nan=False), 200, headers, media_type="application/json")


@router.get("/{job_id}/evidence.zip")
def evidence(
    request: Request,
    services: ServicesDep,
    principal: PortalDep,
    job_id: str,
    edition: Annotated[EditionName | None, Query()] = None,
) -> Response:
    """The evidence pack, as the API gives it."""
    return packed(request, services, principal, job_id, edition)


def decision(reason: str) -> str:
    """Return the reason, as the API takes one. InvalidInput."""
    try:
        return Decision(reason=reason).reason
    except ValidationError:
        raise InvalidInput("a decision has a reason of 1 to 256 characters", field="reason") from None


def _watched(services: Services, principal: Principal, job_id: str) -> dict[str, Any]:
    job = jobs.get_job(services, principal, job_id)
    steps = jobs.events(services, principal, job_id)
    latest = {each.stage: each for each in steps}
    return {"job": job, "stages": list(latest.values()), "ended": job.state in TERMINAL}


def _page(
    request: Request,
    services: Services,
    principal: Principal,
    job_id: str,
    problem: dict[str, Any] | None = None,
) -> Response:
    content = _watched(services, principal, job_id)
    job = content["job"]
    content |= {
        "dataset_of": datasets.get_dataset(services, principal, job.dataset_id),
        "waits": job.state == AWAITING_APPROVAL,
        "own": job.requested_by == principal.key_id,
        "report": None,
        "files": (),
        "problem": problem,
        "idempotency_key": secrets.token_hex(16),
        "poll_seconds": services.settings.poll_after_seconds,
    }
    if job.state == "published":
        found = releases.edition(services, principal, job_id)
        shown = content_of(found.report.public, found.report.curator, unfinished(found))
        content |= shown | {"report": found, "files": releases.listed(services, principal, job_id).items}
    return pages.page(request, "job.html", content, status=problem["status"] if problem else 200)

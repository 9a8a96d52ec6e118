"""Audits: requested, watched, read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response

from api.deps import Cursor, IdempotencyKey, ReaderDep, ServicesDep
from api.http import conditional
from api.http.auth import Guarded
from api.show import openapi
from core import errors
from core.workflows.audits import queries
from core.workflows.audits import requests as audits
from graphveil.models.audits import TERMINAL, Audit, Audits

router = APIRouter(prefix="/audits", tags=["audits"], route_class=Guarded)

_EXAMPLES = {
    "a mechanism": {
        "summary": "Laplace noise at epsilon 1",
        "value": {"method": "laplace", "unit": "edge", "epsilon": "1"},
    },
    "a training": {
        "summary": "DP-SGD, four steps on a quarter of the edges",
        "value": {
            "method": "dp_sgd",
            "parameters": {"rate": 0.25, "steps": 4},
            "unit": "event",
            "epsilon": "2",
            "delta": "0.01",
            "runs": 10000,
        },
    },
    "a method": {
        "summary": "PSGraph on windows of two steps",
        "value": {"method": "psgraph", "unit": "w-event", "window": 2, "epsilon": "2"},
    },
}


@router.post(
    "",
    operation_id="submit_audit",
    status_code=202,
    summary="Audit a method's promise",
    responses={
        **openapi.queued("The audit is queued.", "audit"),
        **openapi.refusals(
            errors.IdempotencyKeyMissing,
            errors.Conflict,
            errors.NotAccepted,
            errors.UnknownMethod,
            errors.WorkerMissing,
            errors.IdempotencyKeyReused,
        ),
    },
)
def submit(
    services: ServicesDep,
    principal: ReaderDep,
    request: Request,
    response: Response,
    body: Annotated[audits.AuditRequest, Body(openapi_examples=_EXAMPLES)],
    key: IdempotencyKey = None,
) -> Audit:
    """The method and a copy with half the noise will be run many times on public canary graphs.

    No dataset is read and no budget is spent.
    """
    audit, replayed = audits.submit_audit(services, principal, body, key)
    response.headers["Location"] = f"{request.url.path.rstrip('/')}/{audit.id}"
    response.headers["Retry-After"] = str(services.settings.poll_after_seconds)
    if replayed:
        response.headers[openapi.REPLAYED] = "true"
    return audit


@router.get("", summary="List audits, newest first")
def list_audits(
    services: ServicesDep,
    principal: ReaderDep,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=500, description="Audits on a page.")] = None,
) -> Audits:
    """One page of the tenant's audits."""
    return queries.list_audits(services, principal, cursor, limit)


@router.get(
    "/{audit_id}",
    response_model=Audit,
    summary="Show an audit",
    responses={
        200: {
            "headers": {
                "ETag": {"schema": {"type": "string"}, "description": "Changes when the audit does."},
                "Retry-After": {
                    "schema": {"type": "integer"},
                    "description": "Seconds before the next poll; absent once the audit has ended.",
                },
            }
        },
        304: {"description": "Nothing has changed since the answer with that ETag."},
        **openapi.refusals(errors.NotFound),
    },
)
def get_audit(services: ServicesDep, principal: ReaderDep, request: Request, audit_id: str) -> Response:
    """The audit, its progress, and its result once it is done."""
    view = queries.get_audit(services, principal, audit_id)
    pause = None if view.state in TERMINAL else services.settings.poll_after_seconds
    return conditional.tagged(request, view, retry_after_seconds=pause)

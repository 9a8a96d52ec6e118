"""Webhooks of a tenant. They say where it is notified of what happens, and what was sent there."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request, Response

from api.deps import Cursor, ServicesDep
from api.http.auth import Caller, Guarded
from api.show import openapi
from core import errors
from core.identity.service import Principal
from core.workflows.webhooks import deliveries
from core.workflows.webhooks import endpoints as webhooks
from graphveil.models.webhooks import Deliveries, Delivery, Webhook, Webhooks

router = APIRouter(prefix="/webhooks", tags=["webhooks"], route_class=Guarded)

ManagerDep = Annotated[Principal, Depends(Caller(*webhooks.ROLES))]
Limit = Annotated[int | None, Query(ge=1, le=500, description="Entries on a page.")]

_EXAMPLES = {
    "releases": {
        "summary": "Told when a job has ended",
        "value": {
            "url": "https://hooks.example.org/graphveil",
            "events": ["job.published", "job.failed", "job.cancelled", "job.rejected"],
        },
    },
    "curator": {
        "summary": "Told when somebody has to act",
        "value": {
            "url": "https://hooks.example.org/curators",
            "events": ["job.awaiting_approval", "dataset.rejected", "budget.low", "budget.exhausted"],
        },
    },
    "catalogue": {
        "summary": "Every release pushed to a catalogue",
        "value": {
            "url": "https://datahub-gms.example.org",
            "catalogue": "datahub",
            "token": "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl",
        },
    },
}


@router.post(
    "",
    operation_id="add_webhook",
    status_code=201,
    summary="Add a webhook",
    responses={
        201: {"headers": {"Location": {"schema": {"type": "string"}, "description": "The webhook."}}},
        **openapi.refusals(errors.Conflict),
    },
)
def add(
    services: ServicesDep,
    principal: ManagerDep,
    request: Request,
    response: Response,
    body: Annotated[webhooks.NewWebhook, Body(openapi_examples=_EXAMPLES)],
) -> Webhook:
    """The address is told of its events from now on, or a catalogue is sent each release.

    The `secret` is in this answer and in no later one.
    """
    added = webhooks.add_webhook(services, principal, body)
    response.headers["Location"] = f"{request.url.path.rstrip('/')}/{added.id}"
    return added


@router.get("", summary="List webhooks, newest first")
def list_webhooks(
    services: ServicesDep, principal: ManagerDep, cursor: Cursor = None, limit: Limit = None
) -> Webhooks:
    """One page of the tenant's webhooks."""
    return webhooks.list_webhooks(services, principal, cursor, limit)


@router.get(
    "/{webhook_id}",
    operation_id="get_webhook",
    summary="Show a webhook",
    responses=openapi.refusals(errors.NotFound),
)
def get(services: ServicesDep, principal: ManagerDep, webhook_id: str) -> Webhook:
    """The webhook, without its secret."""
    return webhooks.get_webhook(services, principal, webhook_id)


@router.delete(
    "/{webhook_id}",
    operation_id="delete_webhook",
    status_code=204,
    summary="Delete a webhook",
    responses=openapi.refusals(errors.NotFound),
)
def delete(services: ServicesDep, principal: ManagerDep, webhook_id: str) -> None:
    """The address is told nothing any more; what waits for it is dropped."""
    webhooks.delete_webhook(services, principal, webhook_id)


@router.post(
    "/{webhook_id}/enable",
    operation_id="enable_webhook",
    summary="Enable a webhook again",
    responses=openapi.refusals(errors.NotFound),
)
def enable(services: ServicesDep, principal: ManagerDep, webhook_id: str) -> Webhook:
    """The address is told again, what waits first. What happened while it was disabled is not made up for."""
    return webhooks.enable_webhook(services, principal, webhook_id)


@router.post(
    "/{webhook_id}/rotate",
    operation_id="rotate_webhook_secret",
    summary="Give a webhook a new secret",
    responses=openapi.refusals(errors.NotFound, errors.Conflict),
)
def rotate(services: ServicesDep, principal: ManagerDep, webhook_id: str) -> Webhook:
    """Deliveries carry a signature by the new `secret`, shown here once, and for a day by the one before."""
    return webhooks.rotate_webhook(services, principal, webhook_id)


@router.post(
    "/{webhook_id}/test",
    operation_id="test_webhook",
    status_code=202,
    summary="Send a webhook a test",
    responses=openapi.refusals(errors.NotFound, errors.Conflict),
)
def test(services: ServicesDep, principal: ManagerDep, webhook_id: str) -> Delivery:
    """A `webhook.test` will be sent, once. Its delivery shows what came of it."""
    return deliveries.try_webhook(services, principal, webhook_id)


@router.get(
    "/{webhook_id}/deliveries",
    summary="List a webhook's deliveries, newest first",
    responses=openapi.refusals(errors.NotFound),
)
def list_deliveries(
    services: ServicesDep,
    principal: ManagerDep,
    webhook_id: str,
    state: Annotated[
        str | None, Query(max_length=16, description="Only those pending, delivered or given_up.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Deliveries:
    """What was sent, how often, and what came of it."""
    return deliveries.list_deliveries(services, principal, webhook_id, state, cursor, limit)


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/retry",
    operation_id="retry_delivery",
    status_code=202,
    summary="Send a delivery again",
    responses=openapi.refusals(errors.NotFound, errors.Conflict),
)
def retry(services: ServicesDep, principal: ManagerDep, webhook_id: str, delivery_id: str) -> Delivery:
    """It is due now; one that was given up, or delivered, is sent once more under the same `webhook-id`."""
    return deliveries.retry_delivery(services, principal, webhook_id, delivery_id)

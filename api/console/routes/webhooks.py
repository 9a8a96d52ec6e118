"""Webhooks of the console. They say where the tenant is notified of what happens, and what became of it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from api.console import pages
from api.console.forms import Form, FormDep, mistaken
from api.console.session import Signed, see
from api.deps import Cursor, ServicesDep
from api.routes.webhooks import ManagerDep
from core.errors import GraphveilError
from core.identity.service import Principal
from core.reports.pushes import catalogues
from core.webhooks.models import EventType
from core.workflows.common.context import Services
from core.workflows.webhooks import deliveries
from core.workflows.webhooks import endpoints as webhooks
from graphveil.models.webhooks import Webhook

router = APIRouter(prefix="/console/webhooks", route_class=Signed, include_in_schema=False)


@router.get("")
def listed(request: Request, services: ServicesDep, principal: ManagerDep, cursor: Cursor = None) -> Response:
    """The tenant's webhooks, newest first, and the form for another."""
    return _page(request, services, principal, cursor=cursor)


@router.post("")
def add(request: Request, services: ServicesDep, principal: ManagerDep, form: FormDep) -> Response:
    """The address is told of its events from now on; its secret is on this page and on no later one."""
    try:
        try:
            asked = webhooks.NewWebhook(
                url=form.get("url", ""),
                events=form.many("events"),
                catalogue=form.get("catalogue") or None,
                token=form.get("token") or None,
            )
        except ValidationError as error:
            raise mistaken(error) from None
        made = webhooks.add_webhook(services, principal, asked)
    except GraphveilError as error:
        return _page(request, services, principal, filled=form, problem=pages.problem_of(request, error))
    return _page(request, services, principal, made=made)


@router.get("/{webhook_id}")
def shown(
    request: Request,
    services: ServicesDep,
    principal: ManagerDep,
    webhook_id: str,
    state: Annotated[str | None, Query(max_length=16)] = None,
    cursor: Cursor = None,
) -> Response:
    """One webhook and what was sent to it."""
    webhook = webhooks.get_webhook(services, principal, webhook_id)
    return _one(request, services, principal, webhook, state, cursor)


@router.post("/{webhook_id}/rotate")
def rotate(
    request: Request, services: ServicesDep, principal: ManagerDep, webhook_id: str, form: FormDep
) -> Response:
    """What is sent is signed with a new secret, which is on this page and on no later one."""
    return _one(request, services, principal, webhooks.rotate_webhook(services, principal, webhook_id))


@router.post("/{webhook_id}/delete")
def delete(services: ServicesDep, principal: ManagerDep, webhook_id: str, form: FormDep) -> Response:
    """The address is told nothing any more."""
    webhooks.delete_webhook(services, principal, webhook_id)
    return see("/console/webhooks?done=deleted")


@router.post("/{webhook_id}/enable")
def enable(services: ServicesDep, principal: ManagerDep, webhook_id: str, form: FormDep) -> Response:
    """The address is told again."""
    webhooks.enable_webhook(services, principal, webhook_id)
    return see(f"/console/webhooks/{webhook_id}?done=enabled")


@router.post("/{webhook_id}/test")
def test(services: ServicesDep, principal: ManagerDep, webhook_id: str, form: FormDep) -> Response:
    """A trial is sent, once."""
    deliveries.try_webhook(services, principal, webhook_id)
    return see(f"/console/webhooks/{webhook_id}?done=tested")


def _one(
    request: Request,
    services: Services,
    principal: Principal,
    webhook: Webhook,
    state: str | None = None,
    cursor: str | None = None,
) -> Response:
    sent = deliveries.list_deliveries(services, principal, webhook.id, state, cursor)
    return pages.page(request, "webhook.html", {"webhook": webhook, "deliveries": sent})


def _page(
    request: Request,
    services: Services,
    principal: Principal,
    *,
    cursor: str | None = None,
    made: Webhook | None = None,
    filled: Form | None = None,
    problem: dict[str, Any] | None = None,
) -> Response:
    content = {
        "webhooks": webhooks.list_webhooks(services, principal, cursor),
        "events": [str(event) for event in EventType if event is not EventType.TEST],
        "catalogues": catalogues(),
        "made": made,
        "filled": filled or Form([]),
        "problem": problem,
    }
    return pages.page(request, "webhooks.html", content, status=problem["status"] if problem else 200)

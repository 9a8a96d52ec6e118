"""What keeps the service in order. There are the ledger's promises, audits of methods, keys, sessions,
webhooks."""

from __future__ import annotations

import secrets
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from api.console import pages
from api.console.forms import Form, FormDep, mistaken, whole_number
from api.console.session import Signed, see
from api.deps import Cursor, LedgerDep, OperatorDep, ReaderDep, ServicesDep
from api.routes.ledger import WatcherDep
from core.errors import GraphveilError
from core.identity.models import Role
from core.workflows.audits import queries as audit_queries
from core.workflows.audits import requests as audits
from core.workflows.identity import api_keys, sessions
from core.workflows.jobs import queries as jobs
from core.workflows.ledger import health
from graphveil.models.audits import TERMINAL

router = APIRouter(prefix="/console", route_class=Signed, include_in_schema=False)


@router.get("/ledger")
def ledger(request: Request, services: ServicesDep, principal: WatcherDep) -> Response:
    """Every promise of the ledger as the verifier last found it."""
    return pages.page(request, "ledger.html", {"health": health.ledger_health(services, principal)})


@router.get("/datasets/{dataset_id}/verify")
def verify(request: Request, services: ServicesDep, principal: LedgerDep, dataset_id: str) -> Response:
    """The account's chain and balances, recomputed now."""
    found = health.verify_account(services, principal, dataset_id)
    return pages.page(request, "verified.html", {"found": found, "dataset_id": dataset_id})


@router.get("/keys")
def keys(request: Request, services: ServicesDep, principal: OperatorDep, cursor: Cursor = None) -> Response:
    """The tenant's keys, newest first, and who is signed in."""
    return _keys(request, services, principal, cursor=cursor)


@router.post("/keys")
def create_key(request: Request, services: ServicesDep, principal: OperatorDep, form: FormDep) -> Response:
    """A key is made; its token is on this page and on no later one."""
    try:
        made = api_keys.create_key(services, principal, _new_key(form))
    except GraphveilError as error:
        return _keys(request, services, principal, filled=form, problem=pages.problem_of(request, error))
    return _keys(request, services, principal, made=made)


@router.post("/keys/{key_id}/revoke")
def revoke_key(
    request: Request, services: ServicesDep, principal: OperatorDep, key_id: str, form: FormDep
) -> Response:
    """The key opens nothing any more, nor does any session that it opened."""
    api_keys.revoke_key(services, principal, key_id)
    request.app.state.authenticator.forget()
    return see("/console/keys?done=revoked")


@router.post("/sessions/{session_id}/end")
def end_session(services: ServicesDep, principal: OperatorDep, session_id: str, form: FormDep) -> Response:
    """Whoever is signed in there is out at the next request."""
    sessions.end_session(services, principal, session_id)
    return see("/console/keys?done=ended")


@router.get("/audits")
def listed(request: Request, services: ServicesDep, principal: ReaderDep, cursor: Cursor = None) -> Response:
    """The tenant's audits, newest first, and the form for another."""
    return _audits(request, services, principal, cursor=cursor)


@router.post("/audits")
def submit(request: Request, services: ServicesDep, principal: ReaderDep, form: FormDep) -> Response:
    """A method's promise is put to the test, on public canary graphs; no budget is spent."""
    try:
        audit, _ = audits.submit_audit(services, principal, _new_audit(form), form.get("idempotency_key"))
    except GraphveilError as error:
        return _audits(request, services, principal, filled=form, problem=pages.problem_of(request, error))
    return see(f"/console/audits/{audit.id}")


@router.get("/audits/{audit_id}")
def audit(request: Request, services: ServicesDep, principal: ReaderDep, audit_id: str) -> Response:
    """The audit, its progress, and its result once it is done."""
    found = audit_queries.get_audit(services, principal, audit_id)
    content = {
        "audit": found,
        "ended": found.state in TERMINAL,
        "poll_seconds": services.settings.poll_after_seconds,
    }
    return pages.page(request, "audit.html", content)


def _new_key(form: Form) -> api_keys.NewKey:
    values: dict[str, Any] = form.given("name", "person", "team")
    try:
        return api_keys.NewKey(**values, roles=form.many("roles"), days=whole_number(form, "days"))  # type: ignore[arg-type]
    except ValidationError as error:
        raise mistaken(error) from None


def _new_audit(form: Form) -> audits.AuditRequest:
    values: dict[str, Any] = form.given("method", "unit", "epsilon", "delta")
    numbers = {name: whole_number(form, name) for name in ("runs", "window")}
    try:
        return audits.AuditRequest(**values | {k: v for k, v in numbers.items() if v is not None})
    except ValidationError as error:
        raise mistaken(error) from None


def _keys(
    request: Request,
    services: Any,
    principal: Any,
    *,
    cursor: str | None = None,
    made: Any = None,
    filled: Form | None = None,
    problem: dict[str, Any] | None = None,
) -> Response:
    content = {
        "keys": api_keys.list_keys(services, principal, cursor=cursor, limit=None),
        "sessions": sessions.list_sessions(services, principal, cursor=None, limit=None),
        "roles": [role.value for role in Role],
        "made": made,
        "filled": filled or Form([]),
        "problem": problem,
    }
    return pages.page(request, "keys.html", content, status=problem["status"] if problem else 200)


def _audits(
    request: Request,
    services: Any,
    principal: Any,
    *,
    cursor: str | None = None,
    filled: Form | None = None,
    problem: dict[str, Any] | None = None,
) -> Response:
    content = {
        "audits": audit_queries.list_audits(services, principal, cursor),
        "methods": [
            "laplace",
            "dp_sgd",
            *(each.name for each in jobs.methods() if {"none", "unread"}.isdisjoint(each.kinds)),
        ],
        "filled": filled or Form([]),
        "problem": problem,
        "idempotency_key": secrets.token_hex(16),
    }
    return pages.page(request, "audits.html", content, status=problem["status"] if problem else 200)

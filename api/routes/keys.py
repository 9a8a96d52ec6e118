"""API keys of the tenant, for its operators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response

from api.deps import Cursor, OperatorDep, ServicesDep
from api.http.auth import Guarded
from api.show import openapi
from core import errors
from core.workflows.identity import api_keys
from core.workflows.identity.api_keys import NewKey
from graphveil.models.identity import CreatedKey, Key, Keys

router = APIRouter(prefix="/keys", tags=["identity"], route_class=Guarded)

_EXAMPLES = {
    "a requester of one team": {
        "value": {
            "name": "portal of the epidemiology team",
            "person": "requester-a",
            "team": "epidemiology",
            "roles": ["requester"],
            "days": 90,
        }
    },
    "a second person": {"value": {"name": "curator-b", "roles": ["curator"]}},
}


@router.post(
    "",
    status_code=201,
    summary="Make an API key",
    responses={201: {"headers": {"Location": {"schema": {"type": "string"}, "description": "The key."}}}},
)
def create_key(
    services: ServicesDep,
    principal: OperatorDep,
    request: Request,
    response: Response,
    body: Annotated[NewKey, Body(openapi_examples=_EXAMPLES)],
) -> CreatedKey:
    """A key of the caller's tenant, of any role. The answer holds the token: it is shown this once."""
    key = api_keys.create_key(services, principal, body)
    response.headers["Location"] = f"{request.url.path.rstrip('/')}/{key.id}"
    response.headers["Cache-Control"] = "no-store"
    return key


@router.get("", summary="List API keys, newest first")
def list_keys(
    services: ServicesDep,
    principal: OperatorDep,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=500, description="Keys on a page.")] = None,
) -> Keys:
    """One page of the tenant's keys, revoked and expired ones included."""
    return api_keys.list_keys(services, principal, cursor=cursor, limit=limit)


@router.get("/{key_id}", summary="Show an API key", responses=openapi.refusals(errors.NotFound))
def get_key(services: ServicesDep, principal: OperatorDep, key_id: str) -> Key:
    """Whose it is, what it may do, and whether it still opens anything."""
    return api_keys.get_key(services, principal, key_id)


@router.delete(
    "/{key_id}",
    status_code=204,
    summary="Revoke an API key",
    responses=openapi.refusals(errors.NotFound),
)
def revoke_key(services: ServicesDep, principal: OperatorDep, request: Request, key_id: str) -> None:
    """The key opens nothing any more: here at once, in other processes within seconds. Safe to repeat."""
    api_keys.revoke_key(services, principal, key_id)
    request.app.state.authenticator.forget()

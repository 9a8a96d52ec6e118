"""``Authorization: Bearer ...``: the credentials of a request, and who they say is calling."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from api.http.limits import Limits, Standing
from core.errors import RateLimited, Unauthenticated
from core.identity.service import Principal
from core.workflows.identity.authenticate import Authenticator

_scheme = HTTPBearer(
    auto_error=False,
    scheme_name="ApiKey",
    description="An API key, `gv_...`, made by an operator; or a token of the OpenID Connect issuer.",
)


async def authenticate(request: Request) -> None:
    """``state.principal`` is who calls, ``state.rate_limit`` how its key stands. Nothing but headers is read.

    Raises Unauthenticated, IssuerUnavailable, RateLimited. An address that came too often without credentials
    that hold is not listened to for a while, except with a key that was checked a moment ago.
    """
    sent = await _scheme(request)
    token = sent.credentials if sent is not None else None
    request.state.principal = await to_thread.run_sync(_checked, request, token)


async def principal_of(
    request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]
) -> Principal:
    """Who calls, as it was found before the body was read. Fails on a route that does not ask first."""
    return request.state.principal


def _checked(request: Request, token: str | None) -> Principal:
    state = request.app.state
    authenticator: Authenticator = state.authenticator
    limits: Limits = state.limits
    principal = authenticator.remembered(token) if token is not None else None
    if principal is None:
        client = request.client.host if request.client else ""
        limits.check_attempts(client)
        try:
            if token is None:
                raise Unauthenticated("send an API key as Authorization: Bearer gv_...")
            principal = authenticator.principal(state.services, token)
        except Unauthenticated:
            limits.refused_attempt(client)
            raise
    route = getattr(request.scope.get("route"), "path", "").removeprefix("/v1")
    try:
        request.state.rate_limit = limits.take(principal.key_id, request.method, route)
    except RateLimited as refused:
        members = refused.members
        request.state.rate_limit = Standing(members["limit"], 0, members["retry_after"])
        raise
    return principal

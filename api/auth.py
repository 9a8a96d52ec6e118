"""``Authorization: Bearer ...``: the credentials of a request, and who they say is calling."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from api.limits import Limits, Standing
from core.errors import RateLimited, Unauthenticated
from core.identity.service import Principal
from core.workflows.authenticate import Authenticator

_scheme = HTTPBearer(
    auto_error=False,
    scheme_name="ApiKey",
    description="An API key, `gv_...`, made by an operator; or a token of the OpenID Connect issuer.",
)


async def bearer_token(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]) -> str:
    """The token as sent; Unauthenticated when there is none."""
    if credentials is None:
        raise Unauthenticated("send an API key as Authorization: Bearer gv_...")
    return credentials.credentials


def principal_of(request: Request, token: Annotated[str, Depends(bearer_token)]) -> Principal:
    """Who calls, within the limits of its key. Sets ``state.rate_limit`` for the answer's headers.

    Raises Unauthenticated, IssuerUnavailable, RateLimited. An address whose credentials were refused too
    often is not listened to for a while, except with a key that was checked a moment ago.
    """
    state = request.app.state
    authenticator: Authenticator = state.authenticator
    limits: Limits = state.limits
    principal = authenticator.remembered(token)
    if principal is None:
        client = request.client.host if request.client else ""
        limits.check_attempts(client)
        try:
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

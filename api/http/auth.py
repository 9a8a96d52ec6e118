"""Credentials of a request. They are ``Authorization: Bearer ...``, and say who is calling."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from anyio import to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from fastapi.security.base import SecurityBase

from api.http import bodies
from api.http.limits import Limits, client_of
from core.errors import RateLimited, Unauthenticated
from core.identity import service as identity
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.identity.authenticate import Authenticator
from graphveil.models.identity import RateLimit

_scheme = HTTPBearer(
    auto_error=False,
    scheme_name="ApiKey",
    description="An API key, `gv_...`, made by an operator; or a token of the OpenID Connect issuer.",
)


async def authenticate(request: Request) -> None:
    """Identify the caller. ``state.principal`` is who calls, ``state.rate_limit`` how its key stands. Nothing
    but headers is read.

    Raises Unauthenticated, IssuerUnavailable, RateLimited. An address that came too often without credentials
    that hold is not listened to for a while, except with a key that was checked a moment ago.
    """
    sent = await _scheme(request)
    token = sent.credentials if sent is not None else None
    request.state.principal = await to_thread.run_sync(_checked, request, token)


class Caller(SecurityBase):
    """The dependency on who calls, as it was checked before the body. One of the roles is asked for, if any.

    It is the scheme of the API's description as well, so that a request resolves one dependency, not three.
    Fails on a route that does not ask first.
    """

    model, scheme_name = _scheme.model, _scheme.scheme_name

    def __init__(self, *roles: Role) -> None:
        self._roles = roles

    # Not a plain `def`: it waits for nothing, and a thread for it would cost more than it does.
    async def __call__(self, request: Request) -> Principal:
        principal: Principal = request.state.principal
        if self._roles:
            identity.require(principal, *self._roles)
        return principal


# FastAPI takes the annotations of an object as they stand: as types, not as the names of types.
Caller.__call__.__annotations__ = {"request": Request}


class Guarded(APIRoute):
    """A route that knows its caller before it reads a byte of what was sent: head, then body, then parsing.

    FastAPI reads and parses a body before it asks any dependency. Every router whose routes have a caller
    makes them of this class: ``APIRouter(route_class=Guarded)``. A route that is not, and asks for its
    caller, fails.

    Bodies that the route declares are held whole, within the limits of JSON. One that it reads by itself, it
    paces and counts by itself (``api.http.streaming``). Others are never read.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        takes_body = self.body_field is not None

        async def guarded(request: Request) -> Response:
            await authenticate(request)
            if takes_body:
                request = await bodies.held(request, request.app.state.services.settings)
            return await handler(request)

        return guarded


def _checked(request: Request, token: str | None) -> Principal:
    state = request.app.state
    authenticator: Authenticator = state.authenticator
    limits: Limits = state.limits
    principal = authenticator.remembered(token) if token is not None else None
    if principal is None:
        client = client_of(request)
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
        request.state.rate_limit = RateLimit(
            limit=members["limit"], remaining=0, reset_seconds=members["retry_after"]
        )
        raise
    return principal

"""What routes ask for: the services, the caller, the idempotency key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Annotated

from fastapi import Depends, Header, Query, Request

from api.http.auth import principal_of
from core.identity import service as identity
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.common.context import Services


async def services_of(request: Request) -> Services:
    """Return the services that the app was created with."""
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(services_of)]


def allow(*roles: Role) -> Callable[[Principal], Awaitable[Principal]]:
    """A dependency: the caller, who holds at least one of the roles."""

    # Not a plain `def`: it waits for nothing, and a thread for it would cost more than it does.
    async def allowed(principal: Annotated[Principal, Depends(principal_of)]) -> Principal:
        identity.require(principal, *roles)
        return principal

    return allowed


CallerDep = Annotated[Principal, Depends(principal_of)]
OperatorDep = Annotated[Principal, Depends(allow(Role.OPERATOR))]
CuratorDep = Annotated[Principal, Depends(allow(Role.CURATOR))]
PortalDep = Annotated[Principal, Depends(allow(Role.CURATOR, Role.REQUESTER))]
ReaderDep = Annotated[Principal, Depends(allow(Role.CURATOR, Role.REQUESTER, Role.AUDITOR))]
LedgerDep = Annotated[Principal, Depends(allow(Role.CURATOR, Role.AUDITOR))]


Cursor = Annotated[
    str | None,
    Query(
        description="`next_cursor` of the page before, with the same filters: it leads to the next page.",
        max_length=512,
    ),
]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Chosen by the caller, one for each job or stream: 1 to 255 visible ASCII characters. A "
        "repeat is answered with the same one.",
        examples=["6f1c3a52-8a5e-4a0e-9f0e-0d8f6e9a2b11"],
    ),
]


def format_options(request: Request, named: Collection[str]) -> dict[str, str | list[str]]:
    """Collect the query parameters that the route does not name: texts, or a list where one is repeated."""
    query = request.query_params
    options: dict[str, str | list[str]] = {}
    for name in query:
        if name not in named:
            values = query.getlist(name)
            options[name] = values[0] if len(values) == 1 else values
    return options

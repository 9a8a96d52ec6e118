"""What routes ask for: the services, the caller, the idempotency key."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from fastapi import Depends, Header, Query, Request

from api.http.auth import Caller
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.common.context import Services


async def services_of(request: Request) -> Services:
    """Return the services that the app was created with."""
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(services_of)]


CallerDep = Annotated[Principal, Depends(Caller())]
OperatorDep = Annotated[Principal, Depends(Caller(Role.OPERATOR))]
CuratorDep = Annotated[Principal, Depends(Caller(Role.CURATOR))]
PortalDep = Annotated[Principal, Depends(Caller(Role.CURATOR, Role.REQUESTER))]
ReaderDep = Annotated[Principal, Depends(Caller(Role.CURATOR, Role.REQUESTER, Role.AUDITOR))]
LedgerDep = Annotated[Principal, Depends(Caller(Role.CURATOR, Role.AUDITOR))]


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


Columns = Annotated[
    str | None,
    Query(
        description="What columns are, by name or by number from 1: `source=caller,target=callee,time=when`. "
        "Or names in the order of the file, `-` for one that is left alone: `source,target,-,time`. As JSON "
        'where names have commas: `{"source": "Last, first", "target": 2}`.',
        max_length=1_024,  # an address has its bound, and a letter may be twelve bytes of it
    ),
]
Switch = Literal["auto", "true", "false"] | None


def say_mapping(
    columns: Columns = None,
    delimiter: Annotated[
        str | None, Query(description="One character, `::`, `tab` or `space`.", max_length=9)
    ] = None,
    header: Annotated[Switch, Query(description="Whether the first record names the columns.")] = None,
    decimal: Annotated[
        Literal["auto", ".", ","] | None, Query(description="The decimal mark of numbers.")
    ] = None,
    encoding: Annotated[
        str | None, Query(description="utf-8, utf-16, latin-1, windows-1252.", max_length=32)
    ] = None,
    bipartite: Annotated[
        Switch, Query(description="Whether the ends are two sorts of nodes, such as users and items.")
    ] = None,
    dates: Annotated[
        Literal["auto", "dmy", "mdy", "ymd"] | None,
        Query(description="What stands first in dates such as 03/04/2024; ymd: eight digits are a day."),
    ] = None,
) -> None:
    """Declare how a caller says what a delimited file is. What is left out is guessed, and requested in
    doubt.

    The values are taken as options of the format (:func:`format_options`), like any other.
    """


def say_attributes(
    extra_columns: Annotated[
        Literal["refuse", "ignore"] | None,
        Query(description="What becomes of columns that are not declared."),
    ] = None,
    value: Annotated[
        str | None,
        Query(description="Of a matrix: the attribute of edges that its entries hold.", max_length=64),
    ] = None,
) -> None:
    """Declare how a caller says what becomes of what a file carries. Taken as :func:`say_mapping`."""


MAPPED = [Depends(say_mapping), Depends(say_attributes)]
"""Of routes that take a file."""


def format_options(request: Request, named: Collection[str]) -> dict[str, str | list[str]]:
    """Collect the unnamed query parameters. The route does not name them: texts, or a list where one is
    repeated."""
    query = request.query_params
    options: dict[str, str | list[str]] = {}
    for name in query:
        if name not in named:
            values = query.getlist(name)
            options[name] = values[0] if len(values) == 1 else values
    return options

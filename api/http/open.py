"""Routes that need no key. Each request is counted against its address before anything is done for it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.http.limits import Limits, client_of

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Open(APIRoute):
    """A route for everybody, within the limit of its address. Its answer is made of what is held already.

    Every route is of this class, or knows its caller first, or stands in the list of the test that asks.
    """

    def get_route_handler(self) -> Handler:
        return counted(super().get_route_handler())


def counted(handler: Handler) -> Handler:
    """Count the request against its address, then ask the handler. Raises RateLimited."""

    async def asked(request: Request) -> Response:
        count(request)
        return await handler(request)

    return asked


def count(request: Request) -> None:
    """Count the request against its address's minute. Raises RateLimited."""
    limits: Limits = request.app.state.limits
    limits.open(client_of(request))

"""The order in which a request is taken: its headers say who calls; then its body is read; then it is parsed.

FastAPI reads and parses a body before it asks any dependency. Every router whose routes have a caller makes
them of this class: ``APIRouter(route_class=Guarded)``. A route that is not, and asks for its caller, fails.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.http import bodies
from api.http.auth import authenticate


class Guarded(APIRoute):
    """A route that knows its caller before it reads a byte of what was sent.

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

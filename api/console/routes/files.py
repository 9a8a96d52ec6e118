"""The console's own style sheet and scripts. Here is too what answers at no address of it."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api.console import static
from api.console.session import Page
from core.errors import NotFound

router = APIRouter(prefix="/console", route_class=Page, include_in_schema=False)
nothing = APIRouter(prefix="/console", route_class=Page, include_in_schema=False)


@router.get("/static/{digest}/{name}")
def asset(digest: str, name: str) -> Response:
    """One file, which never changes under its address."""
    found = static.assets().get(name)
    if found is None or found.digest != digest:
        raise NotFound("there is no such file")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found.body, 200, headers, media_type=found.media_type)


@nothing.get("/{path:path}")
def missing(path: str) -> Response:
    """Nothing is here."""
    raise NotFound("there is no page at this address")

"""The documentation page of each problem type. It is at the address that the problem's ``type`` names."""

from __future__ import annotations

import html

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from api.http import problems
from api.http.open import Open
from api.show import openapi, pages
from core.errors import NotFound, RateLimited

router = APIRouter(tags=["service"], route_class=Open, responses=openapi.refusals(RateLimited))


@router.get(
    "/problems",
    operation_id="list_problems",
    response_class=HTMLResponse,
    summary="Every kind of problem",
    responses={200: {"content": {"text/html": {}}}},
)
def index() -> HTMLResponse:
    """A list of all problem types."""
    rows = sorted(problems.rows().values(), key=lambda row: row.slug)
    items = "".join(f'<li><a href="{row.type}">{row.slug}</a>: {html.escape(row.title)}</li>' for row in rows)
    return pages.framed("Problems", f"<h1>Problems</h1><ul>{items}</ul>")


@router.get(
    "/problems/{slug}",
    operation_id="get_problem",
    response_class=HTMLResponse,
    summary="What a kind of problem means and how to mend it",
    responses={200: {"content": {"text/html": {}}}, **openapi.refusals(NotFound)},
)
def page(slug: str) -> HTMLResponse:
    """The page of one problem type."""
    if slug not in problems.rows():
        raise NotFound("there is no problem type of that name")
    return pages.page(pages.PROBLEMS / f"{slug}.md")

"""What the service is, and its documentation. Here is where that stands, and the documentation itself. Open
to everybody."""

from __future__ import annotations

import html
from functools import cache

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount

from api.http import conditional
from api.http.negotiation import preferred
from api.http.open import Open
from api.schemas.health import Entrance
from api.show import openapi, pages, reference
from core.errors import NotFound, RateLimited
from core.version import package_version

JSON, HTML = "application/json", "text/html"
WAYS = {
    "tutorial": "For a data steward: a release in ten minutes, with pictures",
    "integrate": "For a portal engineer: nine calls, in curl and Python",
    "python": "For a data scientist: in Python, without a service",
    "operations": "For an operator: running it",
}
"""Where each reader begins."""

router = APIRouter(tags=["service"], route_class=Open, responses=openapi.refusals(RateLimited))


@router.get(
    "/",
    operation_id="get_entrance",
    response_model=Entrance,
    summary="What this is, and where to go",
    responses={200: {"content": {HTML: {}}}},
)
def entrance(request: Request) -> Response:
    """A page for a browser; the same addresses as JSON for everybody else."""
    if preferred(request.headers.get("accept", ""), (JSON, HTML)) == JSON:
        told = Entrance(version=package_version())
        return JSONResponse(told.model_dump(), headers={"Vary": "Accept"})
    answer = pages.framed("Graphveil", _welcome())
    answer.headers["Vary"] = "Accept"
    return answer


@router.get(
    "/docs",
    operation_id="get_reference",
    response_class=HTMLResponse,
    summary="The API's reference, to try it on",
    responses={200: {"content": {HTML: {}}}},
)
def reference_page() -> HTMLResponse:
    """Swagger UI over this API's own description; a browser asks nobody else for it."""
    return reference.page()


@router.get("/docs/start.js", include_in_schema=False)
def reference_script() -> Response:
    """What the reference's page starts with."""
    return reference.script()


@router.get(
    "/handbook",
    operation_id="get_handbook",
    response_class=HTMLResponse,
    summary="The documentation",
    responses={
        200: {"content": {HTML: {}}},
        307: {"description": "The handbook has been built, and begins there."},
    },
)
def handbook(request: Request) -> Response:
    """Where the site has been built, its first page; else a list of all pages but those of problems."""
    if any(
        getattr(route, "name", None) == "handbook" and isinstance(route, Mount)
        for route in request.app.routes
    ):
        return RedirectResponse("/handbook/")
    return _index()


@router.get("/openapi.json", include_in_schema=False)
def description(request: Request) -> Response:
    """The API's description, made once; 304 when the caller holds it."""
    document: openapi.Description = request.app.state.description
    return _made_once(request, *document.read())


@router.get("/postman.json", include_in_schema=False)
def requests(request: Request) -> Response:
    """Every request of the API with an example, as Postman and Bruno import it."""
    document: openapi.Description = request.app.state.description
    return _made_once(request, *document.collection())


def _made_once(request: Request, body: bytes, tag: str) -> Response:
    headers = {"ETag": tag, "Cache-Control": "public, no-cache"}
    if conditional.holds(request, tag):
        return conditional.not_modified(headers)
    return Response(body, 200, headers, media_type=JSON)


def _index() -> HTMLResponse:
    return pages.framed("Documentation", _listed())


@cache
def _listed() -> str:
    begun = {pages.DOCS / f"{name}.md" for name in WAYS}
    listed = [f for f in pages.addresses() if f.parent != pages.PROBLEMS and f not in begun]
    of_methods = [f for f in listed if f.parent != pages.DOCS]
    others = "".join(_item(pages.addresses()[f], pages.title_of(f)) for f in listed if f not in of_methods)
    methods = "".join(_item(pages.addresses()[f], pages.title_of(f)) for f in of_methods)
    return (
        f"<h1>Documentation</h1><h2>Begin here</h2><ul>{_ways()}</ul><h2>Every subject</h2><ul>{others}</ul>"
        f"<details><summary>Every method</summary><ul>{methods}</ul></details>"
    )


def _ways() -> str:
    return "".join(_item(pages.addresses()[pages.DOCS / f"{name}.md"], text) for name, text in WAYS.items())


@router.get(
    "/docs/{name}",
    operation_id="get_guide",
    response_class=HTMLResponse,
    summary="A page of the documentation",
    responses={200: {"content": {HTML: {}}}, **openapi.refusals(NotFound)},
)
def guide(name: str) -> HTMLResponse:
    """The page of that name."""
    return _page(f"/docs/{name}")


@router.get(
    "/docs/generators/{method}",
    operation_id="get_method_guide",
    response_class=HTMLResponse,
    summary="The page of a method",
    responses={200: {"content": {HTML: {}}}, **openapi.refusals(NotFound)},
)
def method_page(method: str) -> HTMLResponse:
    """What the method does, its parameters, and how its plan is made."""
    return _page(f"/docs/generators/{method}")


def _page(address: str) -> HTMLResponse:
    found = [file for file, at in pages.addresses().items() if at == address]
    if not found:
        raise NotFound("there is no page of that name")
    return pages.page(found[0])


@cache
def _welcome() -> str:
    others = "".join(
        (
            _item("/console", "The console: sign in with a key"),
            _item("/handbook", "All of the documentation"),
            _item("/docs", "The API's reference, to try it on"),
            _item("/problems", "What each refusal means, and how to mend it"),
            _item("/openapi.json", "The API's description (OpenAPI)"),
            _item("/postman.json", "Every request with an example, for Postman and Bruno"),
            _item("/healthz", "Whether the service is alive"),
        )
    )
    return (
        f"<h1>Graphveil {html.escape(package_version())}</h1>"
        "<p>Graphveil turns a sensitive graph into a synthetic graph that you may publish, under "
        "differential privacy. The guarantee is computed from what was read of the data, and charged to a "
        "budget.</p>"
        "<p>Calls carry an API key, as <code>Authorization: Bearer gv_…</code>. Operators make keys. Without "
        "one you see these pages, and whether the service is well.</p>"
        f"<h2>Begin here</h2><ul>{_ways()}</ul><h2>Everything</h2><ul>{others}</ul>"
    )


def _item(address: str, title: str) -> str:
    return f'<li><a href="{html.escape(address)}">{html.escape(title)}</a></li>'

"""The API's description as a page to try it on. It is Swagger UI over ``/openapi.json``, all of it from
here."""

from __future__ import annotations

from fastapi.responses import HTMLResponse, Response

from api.show.folders import POLICY

START = (
    'SwaggerUIBundle({url: "/openapi.json", dom_id: "#reference", deepLinking: true, filter: true, '
    'docExpansion: "none", defaultModelsExpandDepth: 0, tryItOutEnabled: false, persistAuthorization: false, '
    "validatorUrl: null});"
)
"""A key that somebody types in stays in the page's memory, and goes to this address alone."""

PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>API reference - Graphveil</title>"
    '<link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/assets/swagger-ui.css"></head><body>'
    '<main id="reference"><noscript><p>This page needs scripts. The same is told by '
    '<a href="/openapi.json">the description itself</a> and by <a href="/docs/api">the tour of the API</a>.'
    "</p></noscript></main>"
    '<script src="/docs/assets/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script>'
    "</body></html>"
)


def page() -> HTMLResponse:
    """Write the page, which loads its parts from this service."""
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": POLICY})


def script() -> Response:
    """Write the script that starts the page."""
    return Response(START, media_type="text/javascript")

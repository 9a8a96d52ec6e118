"""A span for every request. It has what the access log says of it, and nothing else."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from fastapi.telemetry import TelemetryConfig
from starlette.datastructures import Headers
from starlette.types import Scope

from core.tracing import spans

UNTRACED = frozenset({"/healthz", "/readyz"})
"""Asked for every few seconds by whoever runs the service."""

NOT_THE_FRAMEWORKS_OWN = TelemetryConfig(
    tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
)
"""FastAPI's own telemetry, which an environment variable would switch on, tells paths, queries and errors."""


def of_request(scope: Scope) -> AbstractContextManager[None]:
    """Open the request's span. It is the first of a trace of ours; :func:`tell` says what became of it.

    A ``traceparent`` of the caller's is referred to, if there is exactly one and it is one. It is no parent:
    neither its trace nor its flags decide what is recorded here. ``tracestate`` and ``baggage`` are not read.
    """
    if not spans.on() or scope["path"] in UNTRACED:
        return nullcontext()
    sent = Headers(scope=scope).getlist("traceparent")
    return spans.span("request", "server", link=sent[0] if len(sent) == 1 else None)


def tell(scope: Scope, method: str | None, route: str | None, status: int) -> None:
    """Name the request's span. It gets a known method, the route's template and the status; 5xx is an error.

    A method that is not known is none of the span's name; a request that met no route has none.
    """
    name = " ".join(each for each in (method or "HTTP", route) if each)
    told = {} if route is None else {"route": route}
    scheme = "https" if scope.get("scheme") == "https" else "http"
    failed = str(status) if status >= 500 else None
    spans.tell(name=name, failed=failed, method=method or spans.OTHER, status=status, scheme=scheme, **told)

"""What every request passes through: id, log, metrics, headers. Plain ASGI, so that bodies stream."""

from __future__ import annotations

import re
import time

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http import problems, traces
from api.http.limits import headers_of
from api.serve.metrics import METHODS, HttpMetrics
from core import ids
from graphveil.models.identity import RateLimit

REQUEST_ID = "X-Request-ID"
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_DISCONNECTED_STATUS = 499  # the log's word for a caller who left before the answer

log = structlog.get_logger(component="api.access")

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Strict-Transport-Security": "max-age=31536000",
    "Cache-Control": "no-store",  # unless the route says otherwise
}


class AnswerBroken(Exception):
    """An answer that had begun cannot be finished. The log says why, without values."""


class Boundary:
    """Serves every request within bounds. It has an id, one log line, one observation, the security headers,
    and an answer.

    The log names the route's template, never the address or the body: both may carry parameters. An id that
    the caller sends is kept when it looks like one. No other origin may read an answer: there is no CORS.
    """

    def __init__(self, app: ASGIApp, metrics: HttpMetrics, max_header_bytes: int) -> None:
        self.app = app
        self.metrics = metrics
        self.max_header_bytes = max_header_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = sent if _ACCEPTED_ID.fullmatch(sent) else ids.new_id("req")
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                standing: RateLimit | None = scope["state"].get("rate_limit")
                if standing is not None:
                    headers.update(headers_of(standing))
            await send(message)

        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id), traces.of_request(scope):
            try:
                detail = self._malformed(scope)
                if detail is not None:
                    refusal = problems.response(problems.BAD_REQUEST, request_id, detail=detail)
                    refusal.headers["Connection"] = "close"  # where its end is, only its sender knows
                    await refusal(scope, receive, answer)
                else:
                    await self.app(scope, receive, answer)
            except ClientDisconnect:
                status = status or _DISCONNECTED_STATUS
            except Exception as error:
                problems.log_failure("unexpected_failure", error)
                if status:
                    # Too late for a problem: the connection breaks, and nobody takes half for whole. The
                    # server logs what it is given whole, so it is given nothing.
                    raise AnswerBroken from None
                await problems.response(problems.INTERNAL, request_id)(scope, receive, answer)
            finally:
                self._observe(scope, status, time.perf_counter() - started)

    def _malformed(self, scope: Scope) -> str | None:
        """Say what is wrong with the request's head, if anything."""
        names = {name for name, _ in scope["headers"]}
        if b"transfer-encoding" in names and (b"content-length" in names or scope["http_version"] == "1.0"):
            # RFC 9112, sections 6.1 and 6.3: perhaps two requests that somebody before us took for one.
            return "a body has a Content-Length or comes in chunks of HTTP/1.1, not both"
        if _head_bytes(scope) > self.max_header_bytes:  # the server stops reading a head at the same
            return f"the address and headers are over the limit of {self.max_header_bytes} bytes"
        return None

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        matched = getattr(scope.get("route"), "path", None)
        route = matched or "unmatched"
        self.metrics.observe(route, scope["method"], status, seconds, scope["state"].get("problem"))
        method = scope["method"] if scope["method"] in METHODS else "other"  # its text is the caller's
        traces.tell(scope, method if method in METHODS else None, matched, status)
        log.info("request", method=method, route=route, status=status, duration_seconds=round(seconds, 4))


def _head_bytes(scope: Scope) -> int:
    fields = sum(len(name) + len(value) for name, value in scope["headers"])
    return fields + len(scope.get("raw_path") or b"") + len(scope["query_string"])

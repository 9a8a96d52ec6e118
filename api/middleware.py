"""What every request passes through: id, log, metrics, headers, limits. Plain ASGI, so that bodies stream."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import problems
from api.metrics import HttpMetrics
from core import errors, ids

REQUEST_ID = "X-Request-ID"
_ACCEPTED_ID = re.compile(r"^[A-Za-z0-9._-]{8,64}$")
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


class Boundary:
    """Every request has an id, one log line, one observation, the security headers, and an answer.

    The log names the route's template, never the address or the body: both may carry parameters. An id that
    the caller sends is kept when it looks like one.
    """

    def __init__(self, app: ASGIApp, metrics: HttpMetrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = sent if _ACCEPTED_ID.match(sent) else ids.new_id("req")
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
            await send(message)

        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self.app(scope, receive, answer)
            except ClientDisconnect:
                status = status or _DISCONNECTED_STATUS
            except Exception as error:
                problems.log_failure("unexpected_failure", error)
                if status:
                    raise  # too late for a problem: the connection breaks, and nobody takes half for whole
                await problems.response(problems.INTERNAL, request_id)(scope, receive, answer)
            finally:
                self._observe(scope, status, time.perf_counter() - started)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        self.metrics.observe(route, scope["method"], status, seconds)
        log.info(
            "request", method=scope["method"], route=route, status=status, duration_seconds=round(seconds, 4)
        )


class BodyLimit:
    """A body over the route's limit is refused with a problem before the route runs.

    The body is held whole, which bounds the memory of a request by the limit; routes for which ``limit_of``
    says None stream their body and count for themselves.
    """

    def __init__(self, app: ASGIApp, limit_of: Callable[[Scope], int | None]) -> None:
        self.app = app
        self.limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = self.limit_of(scope) if scope["type"] == "http" else None
        if limit is None:
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        body = None if declared.isdigit() and int(declared) > limit else await _read(receive, limit)
        if body is None:
            error = errors.PayloadTooLarge(f"the body is over the limit of {limit} bytes", limit_bytes=limit)
            await problems.of_error(error, scope["state"]["request_id"])(scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)


async def _read(receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None when it passes the limit."""
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            return None
        more = message.get("more_body", False)
    return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive channel that gives the body once, then what the connection says."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed

"""What every request passes through: id, log, metrics, headers, limits. Plain ASGI, so that bodies stream."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import problems, traces
from api.limits import Standing
from api.metrics import METHODS, HttpMetrics
from api.streaming import announced_bytes
from core import errors, ids

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
    """Every request has an id, one log line, one observation, the security headers, and an answer.

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
                standing: Standing | None = scope["state"].get("rate_limit")
                if standing is not None:
                    headers.update(standing.headers())
            await send(message)

        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id), traces.of_request(scope):
            try:
                if _head_bytes(scope) > self.max_header_bytes:  # the server stops reading a head at the same
                    detail = f"the address and headers are over the limit of {self.max_header_bytes} bytes"
                    refusal = problems.response(problems.BAD_REQUEST, request_id, detail=detail)
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

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        self.metrics.observe(route, scope["method"], status, seconds, scope["state"].get("problem"))
        method = scope["method"] if scope["method"] in METHODS else "other"  # its text is the caller's
        traces.tell(method, route, status)
        log.info("request", method=method, route=route, status=status, duration_seconds=round(seconds, 4))


def _head_bytes(scope: Scope) -> int:
    fields = sum(len(name) + len(value) for name, value in scope["headers"])
    return fields + len(scope.get("raw_path") or b"") + len(scope["query_string"])


class BodyLimit:
    """A body over the route's limit, or later than ``seconds``, is refused before the route runs.

    The body is held whole, which bounds the memory of a request by the limit; routes for which ``limit_of``
    says None stream their body and count for themselves: there each pause is bounded by ``seconds``.
    """

    def __init__(self, app: ASGIApp, limit_of: Callable[[Scope], int | None], seconds: float) -> None:
        self.app = app
        self.limit_of = limit_of
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.limit_of(scope)
        if limit is None:
            await self.app(scope, _paced(receive, self.seconds), send)
            return
        try:
            body = await self._whole(Headers(scope=scope), receive, limit)
        except (errors.PayloadTooLarge, errors.RequestTimeout) as error:
            answer = problems.of_error(error, scope["state"]["request_id"])
            answer.headers["Connection"] = "close"  # the rest of the body is not waited for
            await answer(scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)

    async def _whole(self, headers: Headers, receive: Receive, limit: int) -> bytes:
        announced = announced_bytes(headers)
        body = None
        if announced is None or announced <= limit:
            try:
                async with asyncio.timeout(self.seconds):
                    body = await _read(receive, limit)
            except TimeoutError:
                raise _too_late(self.seconds) from None
        if body is None:
            raise errors.PayloadTooLarge(f"the body is over the limit of {limit} bytes", limit_bytes=limit)
        return body


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


def _paced(receive: Receive, seconds: float) -> Receive:
    """A receive channel that waits so long for each piece of a body, and then without an end."""
    more = True

    async def paced() -> Message:
        nonlocal more
        if not more:
            return await receive()
        try:
            async with asyncio.timeout(seconds):
                message = await receive()
        except TimeoutError:
            raise _too_late(seconds) from None
        more = message.get("more_body", False)
        return message

    return paced


def _too_late(seconds: float) -> errors.RequestTimeout:
    return errors.RequestTimeout(f"nothing more of the body arrived within {seconds:g} seconds")


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

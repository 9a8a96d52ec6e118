"""The request's way in and out, on bare ASGI apps."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs

from api.http.middleware import AnswerBroken, Boundary
from api.serve.metrics import HttpMetrics

HEAD_BYTES = 4_096


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(body)(scope, receive, send)


def served(app: ASGIApp) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(Boundary(app, HttpMetrics(), HEAD_BYTES))
    return httpx.AsyncClient(transport=transport, base_url="http://test")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_failure_in_the_middle_of_an_answer_breaks_it_off():
    def half() -> Iterator[bytes]:
        yield b"the first half"
        raise RuntimeError("person 17 knows person 4")

    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        await StreamingResponse(half())(scope, receive, send)

    async with served(failing) as http:
        with pytest.raises(AnswerBroken) as broken:
            await http.get("/")
    # The server logs what reaches it whole; what broke the answer may quote values.
    assert "person 17" not in "".join(traceback.format_exception(broken.value))


@pytest.mark.anyio
async def test_a_head_over_the_limit_never_reaches_the_app():
    async with served(echo) as http:
        assert (await http.get("/" + "x" * 3_000)).status_code == 200
        for answer in (
            await http.get("/" + "x" * HEAD_BYTES),
            await http.get("/?q=" + "x" * HEAD_BYTES),
            await http.get("/", headers={"X-Long": "x" * HEAD_BYTES}),
        ):
            assert (answer.status_code, answer.json()["type"]) == (400, "/problems/bad-request")


@pytest.mark.anyio
async def test_the_log_keeps_no_word_that_the_caller_chose():
    async with served(echo) as http:
        with capture_logs() as lines:
            await http.request("TOPSECRET", "/topsecret?topsecret=topsecret", headers={"X-A": "topsecret"})
    assert [line["method"] for line in lines] == ["other"]
    assert "secret" not in str(lines).lower()


@pytest.mark.anyio
async def test_a_caller_who_leaves_is_no_failure():
    metrics = HttpMetrics()

    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        async for _ in Request(scope, receive).stream():
            pass

    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def nobody(message: object) -> None:
        raise AssertionError("there is nobody to answer")

    scope = {"type": "http", "method": "PUT", "path": "/x", "query_string": b"", "headers": []}
    await Boundary(reading, metrics, HEAD_BYTES)(scope, gone, nobody)
    counted = metrics.registry.get_sample_value(
        "graphveil_http_requests_total", {"route": "unmatched", "method": "PUT", "code": "499"}
    )
    assert counted == 1

"""The request's way in and out, on bare ASGI apps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from api.metrics import HttpMetrics
from api.middleware import BodyLimit, Boundary

LIMIT = 1000


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(body)(scope, receive, send)


def served(app: ASGIApp) -> httpx.AsyncClient:
    limited = BodyLimit(app, limit_of=lambda scope: None if scope["path"] == "/stream" else LIMIT)
    transport = httpx.ASGITransport(Boundary(limited, HttpMetrics()))
    return httpx.AsyncClient(transport=transport, base_url="http://test")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def pieces(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


@pytest.mark.anyio
async def test_bodies_up_to_the_limit_pass_whole():
    async with served(echo) as http:
        assert (await http.post("/", content=b"y" * LIMIT)).content == b"y" * LIMIT
        assert (await http.post("/", content=pieces(10, 100))).content == b"x" * LIMIT
        assert (await http.post("/")).content == b""


@pytest.mark.anyio
async def test_bodies_over_the_limit_never_reach_the_app():
    reached: list[bytes] = []

    async def witness(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(await Request(scope, receive).body())

    async with served(witness) as http:
        for content in (b"y" * (LIMIT + 1), pieces(11, 100)):
            answer = await http.post("/", content=content)
            assert (answer.status_code, answer.json()["limit_bytes"]) == (413, LIMIT)
    assert reached == []


@pytest.mark.anyio
async def test_routes_that_count_for_themselves_are_left_alone():
    async with served(echo) as http:
        assert len((await http.post("/stream", content=pieces(50, 100))).content) == 5000


@pytest.mark.anyio
async def test_a_failure_in_the_middle_of_an_answer_breaks_it_off():
    def half() -> Iterator[bytes]:
        yield b"the first half"
        raise RuntimeError("no more")

    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        await StreamingResponse(half())(scope, receive, send)

    async with served(failing) as http:
        with pytest.raises(RuntimeError):
            await http.get("/")


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

    scope = {"type": "http", "method": "PUT", "path": "/x", "headers": []}
    await Boundary(reading, metrics)(scope, gone, nobody)
    counted = metrics.registry.get_sample_value(
        "graphveil_http_requests_total", {"route": "unmatched", "method": "PUT", "code": "499"}
    )
    assert counted == 1

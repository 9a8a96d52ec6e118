"""Bodies are held, paced and measured within their limits; uploads take turns."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from api.http import bodies, problems
from api.http.streaming import UploadSlots
from core.errors import GraphveilError, InvalidInput, RequestTimeout, TooManyUploads, UploadsFull
from core.settings import Settings
from tests.support.serving import Leaping

LIMIT = 1000
SETTINGS = Settings(max_request_bytes=LIMIT, body_seconds=0.3)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Pauses are as long as they say, and take no time: what a busy machine adds to them is none of them."""
    return "asyncio", {"loop_factory": Leaping}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        request = await bodies.held(Request(scope, receive), SETTINGS)
    except GraphveilError as error:
        await problems.of_error(error, "req_test")(scope | {"state": {}}, receive, send)
    else:
        await PlainTextResponse(await request.body())(scope, receive, send)


def served() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(echo), base_url="http://test")


async def pieces(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


@pytest.mark.anyio
async def test_bodies_up_to_the_limit_pass_whole():
    async with served() as http:
        assert (await http.post("/", content=b"y" * LIMIT)).content == b"y" * LIMIT
        assert (await http.post("/", content=pieces(10, 100))).content == b"x" * LIMIT
        assert (await http.post("/")).content == b""


@pytest.mark.anyio
async def test_bodies_over_the_limit_never_reach_the_app():
    async with served() as http:
        for content in (b"y" * (LIMIT + 1), pieces(11, 100)):
            answer = await http.post("/", content=content)
            assert (answer.status_code, answer.json()["limit_bytes"]) == (413, LIMIT)


@pytest.mark.anyio
async def test_a_body_that_does_not_come_is_a_problem():
    async def late() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(5)

    async with served() as http:
        answer = await asyncio.wait_for(http.post("/", content=late()), 1)
    assert (answer.status_code, answer.json()["type"]) == (408, "/problems/request-timeout")
    assert answer.headers["Connection"] == "close"


def channel(sent: Iterable[tuple[float, int]]) -> Receive:
    """A body whose pieces of so many bytes come after so many seconds each."""
    coming = iter(sent)

    async def receive() -> Message:
        after, size = next(coming)
        await asyncio.sleep(after)
        return {"type": "http.request", "body": b"x" * size, "more_body": size > 0}

    return receive


async def received(sent: Iterable[tuple[float, int]], reading_seconds: float = 0.0) -> int:
    receive = bodies.paced(channel(sent), pause_seconds=0.4, bytes_per_second=1_000)
    total = 0
    while size := len((await receive())["body"]):
        total += size
        await asyncio.sleep(reading_seconds)
    return total


@pytest.mark.anyio
async def test_a_body_that_drips_is_ended():
    """Each byte comes in time; all of them together do not."""
    with pytest.raises(RequestTimeout, match="1000 bytes a second"):
        await received([(0.05, 1)] * 1_000)


@pytest.mark.anyio
async def test_what_came_fast_at_first_is_no_credit():
    with pytest.raises(RequestTimeout):
        await received([(0.0, 10**7)] + [(0.1, 1)] * 100)


@pytest.mark.anyio
async def test_a_body_that_pauses_is_ended():
    with pytest.raises(RequestTimeout, match="nothing more"):
        await received([(0.0, 10**6), (5.0, 1)])


@pytest.mark.anyio
async def test_the_readers_own_pauses_are_not_the_senders():
    assert await received([(0.0, 1)] * 12 + [(0.0, 0)], reading_seconds=0.05) == 12
    assert await received([(0.02, 1_000)] * 25 + [(0.0, 0)]) == 25_000


def nest(depth: int, leaf: str) -> str:
    return (
        "".join("[" if level % 3 else '{"a[{":' for level in range(depth))
        + leaf
        + "".join("]" if level % 3 else "}" for level in reversed(range(depth)))
    )


@pytest.mark.parametrize("depth", [1, 31, 32])
def test_as_deep_as_the_limit_is_not_too_deep(depth: int):
    text = nest(depth, '"\\\\"')
    json.loads(text)
    bodies.check_depth(text.encode(), 32)
    bodies.check_depth(b"\xef\xbb\xbf" + text.encode(), 32)


@pytest.mark.parametrize("depth", [33, 64, 65, 1_000, 100_000])
def test_deeper_is_refused(depth: int):
    for text in (nest(depth, "1"), nest(depth, '"\\"]]]}}}"'), "[" * 40 + nest(depth, "1")):
        with pytest.raises(InvalidInput, match="32 deep"):
            bodies.check_depth(text.encode(), 32)


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


TEXTS = st.text(st.sampled_from('[]{}"\\a∢\u2200'), max_size=6)
VALUES = st.recursive(
    TEXTS | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.integers(0, 6))
def test_the_depth_is_that_of_the_parsed_value(value: Any, ascii_only: bool, limit: int):
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    if depth_of(value) <= limit:
        bodies.check_depth(body, limit)
    else:
        with pytest.raises(InvalidInput):
            bodies.check_depth(body, limit)


@pytest.mark.parametrize(
    "text", ['"', '"\\', '\\"' * 500_000, '"' + '\\"' * 500_000, "[" * 10**6, "[]" * 500_000, "{}[" * 300_000]
)
def test_looking_takes_one_pass(text: str):
    body, began = b"[" * 40 + text.encode(), time.process_time()
    bodies.check_depth(body, 32)  # none of them closes what it opens: the parser refuses
    assert time.process_time() - began < 60.0  # days, where each of them is looked at again


def slots(**limits: Any) -> UploadSlots:
    return UploadSlots(Settings(**{"upload_wait_seconds": 0.2, **limits}))


@pytest.mark.anyio
async def test_a_tenant_leaves_turns_to_others():
    turns = slots(max_uploads=3, max_tenant_uploads=2)
    async with turns.taken("a"), turns.taken("a"):
        with pytest.raises(TooManyUploads) as refused:
            async with turns.taken("a"):
                pytest.fail("a third turn")
        assert refused.value.members == {"limit": 2, "retry_after": 2}
        async with turns.taken("b"):
            with pytest.raises(UploadsFull):
                async with turns.taken("c"):
                    pytest.fail("a fourth turn")
    async with turns.taken("a"), turns.taken("a"), turns.taken("b"):
        assert len(turns._tenants) == 2
    assert turns._tenants == {}


@pytest.mark.anyio
async def test_a_turn_that_becomes_free_is_taken():
    turns = slots(max_uploads=1, max_tenant_uploads=1, upload_wait_seconds=20)
    order: list[str] = []

    async def send(tenant: str, seconds: float) -> None:
        async with turns.taken(tenant):
            order.append(tenant)
            await asyncio.sleep(seconds)

    await asyncio.wait_for(asyncio.gather(send("a", 0.1), send("b", 0.1), send("c", 0.0)), 10)
    assert order == ["a", "b", "c"]

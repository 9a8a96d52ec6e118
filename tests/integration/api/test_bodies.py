"""Who calls is known before a body is read, a body is read within its route's limits, and parsed last."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.requests import Request

from api.app import create_app
from api.http.auth import Guarded
from core.identity.models import Role
from core.settings import Settings
from core.workflows.common.context import Services
from tests.integration.api.conftest import EDGES, Tenant

PIECE = 16 * 1024
PIECES = 200  # 3 MiB, 50 times what the service takes as JSON


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def app(api_services: Services) -> FastAPI:
    return create_app(api_services)


class Sender:
    """A body that counts the pieces that were taken of it."""

    def __init__(self) -> None:
        self.taken = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        for _ in range(PIECES):
            self.taken += 1
            yield b" " * PIECE


async def send(app: FastAPI, method: str, path: str, token: str | None, **options: Any) -> httpx.Response:
    headers = {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(8)}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        return await http.request(method, path, headers=headers, **options)


LOOKALIKES = [
    ("PUT", "/v1/datasets/x/budget/quotas/team/content"),
    ("PUT", "/datasets/x/budget/quotas/project/sensitive-links"),
    ("PUT", "/v1/nothing/here/content"),
    ("POST", "/snapshots"),
    ("PUT", "/healthz/content"),
]
"""They end as a route that streams its body does, and are none."""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "path"), [*LOOKALIKES, ("PUT", "/v1/datasets/x/content"), ("POST", "/jobs")]
)
async def test_nothing_of_a_strangers_body_is_read(app: FastAPI, method: str, path: str):
    sender = Sender()
    answer = await send(app, method, path, None, content=sender.pieces())
    assert answer.status_code in (401, 404)
    assert sender.taken == 0


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "path"), LOOKALIKES[:2])
async def test_a_body_is_limited_by_the_route_that_takes_it(
    app: FastAPI, tenant: Tenant, method: str, path: str
):
    sender, limit = Sender(), tenant.services.settings.max_request_bytes
    answer = await send(app, method, path, tenant.token(Role.CURATOR), content=sender.pieces())
    assert (answer.status_code, answer.json()["limit_bytes"]) == (413, limit)
    assert sender.taken <= limit // PIECE + 1


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/nowhere", "/v1/jobs/job_1/report/x/y", "/healthz"])
async def test_what_no_route_takes_is_not_read(app: FastAPI, tenant: Tenant, path: str):
    sender = Sender()
    answer = await send(app, "POST", path, tenant.token(Role.CURATOR), content=sender.pieces())
    assert answer.status_code in (404, 405)
    assert sender.taken == 0


@pytest.mark.anyio
async def test_a_strangers_body_never_reaches_the_parser(
    app: FastAPI, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    reached: list[str] = []
    for name in ("body", "json", "stream"):
        plain = getattr(Request, name)

        def told(request: Request, name: str = name, plain: Any = plain) -> Any:
            reached.append(name)
            return plain(request)

        monkeypatch.setattr(Request, name, told)
    body = b'{"parameters": [' + b"{}," * (tenant.services.settings.max_request_bytes // 4) + b"{}]}"
    for token in (None, "gv_" + "x" * 43, "no.such.token"):
        answer = await send(app, "POST", "/v1/jobs", token, content=body)
        assert answer.status_code == 401
    assert reached == []
    assert (
        await send(app, "POST", "/v1/jobs", tenant.token(Role.REQUESTER), content=body)
    ).status_code == 422
    assert "json" in reached


def test_every_route_asks_who_calls_first(app: FastAPI):
    """But those that say nothing of anybody, which take no body, and pages that ask for a session instead."""
    open_to_all = set()
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if isinstance(route, APIRoute) and not isinstance(route, Guarded):
            assert route.body_field is None
            if route.path.startswith("/console"):
                continue  # test_console_pages asks for every one of them without a session
            open_to_all.add(route.path)
    health, pages = (
        {"/healthz", "/readyz"},
        {"/", "/handbook", "/docs", "/docs/start.js", "/docs/{name}", "/docs/generators/{method}"},
    )
    assert open_to_all == health | pages | {"/problems", "/problems/{slug}", "/openapi.json", "/postman.json"}


def nested(depth: int) -> Any:
    found: Any = 1
    for level in range(depth):
        found = {"a": found} if level % 2 else [found]
    return found


@pytest.mark.parametrize("depth", [33, 100, 300, 900, 5_000])
@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/jobs", "parameters"),
        ("/streams", "parameters"),
        ("/audits", "parameters"),
        ("/datasets", "graph_schema"),
        ("/datasets/ds_1/uploads", "options"),
        ("/webhooks", "events"),
        ("/keys", "roles"),
    ],
)
def test_a_body_that_is_nested_too_deep_is_a_problem(house: Tenant, path: str, field: str, depth: int):
    body = f'{{"{field}": {"[" * (depth - 1)}{"]" * (depth - 1)}}}'
    answer = house.call("POST", path, content=body, headers=json_headers())
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-input"), answer.text
    (found,) = answer.json()["errors"]
    assert found["field"] == "body"
    assert "32" in found["message"]


def test_a_body_may_be_as_deep_as_the_limit(house: Tenant):
    deepest = Settings.model_fields["max_body_depth"].default
    answer = house.call(
        "POST", "/audits", content=json.dumps({"parameters": nested(deepest - 1)}), headers=json_headers()
    )
    assert answer.status_code == 422
    assert "body" not in {each["field"] for each in answer.json()["errors"]}


def test_brackets_in_a_text_are_no_depth(house: Tenant):
    answer = house.call(
        "POST", "/datasets", content=json.dumps({"name": '\\"[{' * 500}), headers=json_headers()
    )
    assert answer.status_code == 422
    assert "body" not in {each["field"] for each in answer.json()["errors"]}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32-le"])
def test_json_is_utf_8(house: Tenant, encoding: str):
    """In another encoding, a text could hide how deep the rest is."""
    answer = house.call("POST", "/datasets", content='{"name": "é"}'.encode(encoding), headers=json_headers())
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body")


def json_headers() -> dict[str, str]:
    return {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(8)}


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/datasets/{}/content"), ("PUT", "/datasets/{}/sensitive-links")]
)
def test_a_form_around_a_file_is_refused_with_the_way_out(tenant: Tenant, method: str, path: str):
    dataset_id = tenant.register()["id"]
    answer = tenant.call(method, path.format(dataset_id), files={"file": ("edges.csv", EDGES)})
    assert answer.status_code == 415, answer.text
    assert answer.json()["type"] == "/problems/unsupported-media-type"
    assert "--upload-file" in answer.json()["detail"]

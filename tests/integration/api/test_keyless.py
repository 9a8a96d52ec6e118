"""Every route that answers without a key, and what a stranger can make it cost."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event
from starlette.routing import BaseRoute

from api.app import create_app
from api.console import static
from api.console.session import Signed
from api.http.auth import Guarded
from core.identity.models import Role
from core.workflows.common.context import Services
from tests.integration.api.conftest import Tenant
from tests.support.console import Steward, csrf_in

_hosts = itertools.count(1)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
STATIC = static.address("console.css")


class Cost(NamedTuple):
    """What one request may cost: an address that serves it, and the bounds."""

    address: str
    counted: str  # by what its address is bounded: pages, attempts, or nothing
    reads_bytes: int = 0
    queries: int = 0


KEYLESS = {
    "GET /": Cost("/", "pages"),
    "GET /docs": Cost("/docs", "pages"),
    "GET /docs/assets": Cost(
        "/docs/assets/swagger-ui.css", "pages", reads_bytes=2**20
    ),  # dropped piece by piece, while the file is sent
    "GET /docs/generators/{method}": Cost("/docs/generators/dcsbm", "pages"),
    "GET /docs/start.js": Cost("/docs/start.js", "pages"),
    "GET /docs/{name}": Cost("/docs/api", "pages"),
    "GET /handbook": Cost("/handbook", "pages"),
    "GET /openapi.json": Cost("/openapi.json", "pages"),
    "GET /postman.json": Cost("/postman.json", "pages"),
    "GET /problems": Cost("/problems", "pages"),
    "GET /problems/{slug}": Cost("/problems/not-found", "pages"),
    "GET /healthz": Cost("/healthz", "nothing"),  # a constant
    "GET /readyz": Cost("/readyz", "pages", queries=10),  # each probe one at a time, whoever asks
    "GET /console/static/{digest}/{name}": Cost(STATIC, "pages"),
    "GET /console/sign-in": Cost("/console/sign-in", "pages"),
    "GET /console/sign-in/issuer": Cost("/console/sign-in/issuer", "pages"),
    "GET /console/sign-in/callback": Cost("/console/sign-in/callback", "attempts"),
    "GET /console/{path:path}": Cost("/console/nothing/here", "pages"),
    "POST /console/sign-in": Cost("/console/sign-in", "attempts", reads_bytes=4_096, queries=1),
}
"""A route that needs no key is listed here with its cost, or this file fails."""


def served(routes: list[BaseRoute]) -> Iterator[tuple[str, BaseRoute]]:
    """Every route of the app, those of its routers too: method and path."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from served(inner.routes)
        else:
            for method in getattr(route, "methods", None) or {"GET"}:
                yield f"{method} {route.path}", route  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def limited(api_services: Services) -> Iterator[TestClient]:
    """The service under limits that are soon reached."""
    limits = {"rate_limit_open_per_minute": 2, "rate_limit_attempts_per_minute": 2}
    settings = api_services.settings.model_copy(update=limits)
    app = create_app(Services(api_services.db, api_services.store, settings))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def stranger(limited: TestClient) -> TestClient:
    """Somebody without a key, at an address that nobody has asked from."""
    host = f"203.0.{next(_hosts)}.{secrets.randbelow(250)}"
    return TestClient(limited.app, client=(host, 1), raise_server_exceptions=False, follow_redirects=False)


def send(
    app: Any, client: str, method: str, path: str, headers: dict[str, str], size: int
) -> tuple[int, int]:
    """Send a body of that size in pieces; the answer's status, and how many bytes the app took."""
    taken, status = 0, 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        if taken == size:
            await asyncio.Event().wait()  # the caller stays
        piece = b"a" * min(1_024, size - taken)
        taken += len(piece)
        return {"type": "http.request", "body": piece, "more_body": taken < size}

    async def answer(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "http_version": "1.1", "scheme": "http", "client": (client, 1), "server": ("testserver", 80),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    asyncio.run(app(scope, receive, answer))
    return status, taken


def test_every_route_without_a_key_is_listed(http: TestClient):
    found = {name for name, route in served(http.app.routes) if not isinstance(route, (Guarded, Signed))}
    assert found - {"GET /handbook/"} == set(KEYLESS)


@pytest.mark.parametrize("name", KEYLESS)
def test_strangers_are_counted_by_their_address(stranger: TestClient, name: str):
    cost, method = KEYLESS[name], name.partition(" ")[0]
    answers = [stranger.request(method, cost.address) for _ in range(3)]
    codes = [answer.status_code for answer in answers]
    assert 429 not in codes[:2]
    assert (codes[2] == 429) == (cost.counted != "nothing")
    if cost.counted != "nothing":
        assert 1 <= int(answers[2].headers["Retry-After"]) <= 60


@pytest.mark.parametrize("name", KEYLESS)
def test_no_route_takes_or_asks_more_than_it_says(stranger: TestClient, api_services: Services, name: str):
    cost, method = KEYLESS[name], name.partition(" ")[0]
    asked: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(api_services.db.engine, "before_cursor_execute", note)
    try:
        _, taken = send(stranger.app, f"198.51.{next(_hosts)}.9", method, cost.address, FORM, 2**20)
    finally:
        event.remove(api_services.db.engine, "before_cursor_execute", note)
    assert taken <= cost.reads_bytes + 1_024  # the piece that shows it to be too much
    assert len(asked) <= cost.queries


def test_the_form_of_the_sign_in_has_room_for_what_its_page_sends(app: Any, tenant: Tenant):
    steward = Steward(app)
    longest = "/console/" + "a" * 2_900
    answer = steward.sign_in(tenant.token(Role.CURATOR), next=longest)
    assert (answer.status_code, answer.headers["Location"]) == (303, longest)
    assert Steward(app).sign_in("gv_" + "x" * 43, next="/console/" + "a" * 4_096).status_code == 413


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"key=" + b"x" * 5_000, 413),
        (b"key=gv_x&csrf=none", 403),
        (b"key=\xff", 422),
        (b"&".join([b"a=1"] * 300), 422),
    ],
    ids=["too large", "of no page", "not ASCII", "many fields"],
)
def test_a_form_that_is_refused_is_an_attempt(limited: TestClient, sent: bytes, status: int):
    host = f"198.51.{next(_hosts)}.{secrets.randbelow(250)}"
    guest = TestClient(limited.app, client=(host, 1), raise_server_exceptions=False)
    codes = [guest.post("/console/sign-in", content=sent, headers=FORM).status_code for _ in range(3)]
    assert codes == [status, status, 429]
    assert send(limited.app, host, "POST", "/console/sign-in", FORM, 2**20) == (429, 0)


def test_cookies_that_open_nothing_are_attempts_and_a_session_that_was_open_goes_on(
    stranger: TestClient, limited: TestClient, tenant: Tenant
):
    page = stranger.get("/console/sign-in")
    sent = {"csrf": csrf_in(page.text), "key": tenant.token(Role.CURATOR)}
    assert stranger.post("/console/sign-in", data=sent).status_code == 303
    assert stranger.get("/console").status_code == 200
    codes = []
    for turn in range(2):
        other = TestClient(limited.app, client=stranger._transport.client, follow_redirects=False)  # type: ignore[attr-defined]
        other.cookies.set("graphveil-session", f"guess{turn}")
        codes.append(other.get("/console").status_code)
    assert codes == [303, 429]
    assert stranger.get("/console").status_code == 200


def test_the_description_is_made_once_and_told_to_be_unchanged(http: TestClient):
    first = http.get("/openapi.json")
    assert first.status_code == 200
    assert http.app.state.description.read()[0] is http.app.state.description.read()[0]
    again = http.get("/openapi.json", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")

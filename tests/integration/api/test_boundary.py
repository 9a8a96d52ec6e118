"""What stands between a hostile connection and the service, and what the log keeps of a request."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from core.identity.models import Role
from core.settings import Settings
from core.workflows.common.context import Services
from deploy.local.servers import free_port
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.faults import until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.serving import Clock, said_by, serving

ROOT = Path(__file__).resolve().parents[3]
HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


HEAD_SECONDS, BODY_SECONDS = 30.0, 1_000.0


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def hurried(api_services: Services, clock: Clock) -> Iterator[tuple[str, int]]:
    """The service on a socket, as ``python -m api`` runs it, by a clock that its tests turn."""
    changes = {"head_seconds": HEAD_SECONDS, "body_seconds": BODY_SECONDS, "max_header_bytes": 4_096}
    changes |= {"max_connections": 40, "upload_wait_seconds": 5.0, "upload_bytes_per_second": 100}
    settings = api_services.settings.model_copy(update=changes)
    app = create_app(Services(api_services.db, api_services.store, settings))
    with serving(app, settings, clock) as (_, address):
        yield address


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
        yield connection


def until_closed(connection: socket.socket) -> bytes:
    """What the service said before it closed the connection."""
    said = b""
    try:
        while piece := connection.recv(65_536):
            said += piece
    except ConnectionResetError:  # it hung up before it had read everything
        said = said or b"(reset)"
    return said


def until_tired(connection: socket.socket, clock: Clock, step_seconds: float) -> tuple[bytes, float]:
    """What the service said before it closed the silent connection, and the seconds of its own until then."""
    with ThreadPoolExecutor(1) as aside:
        began, said = clock.seconds, aside.submit(until_closed, connection)
        until(lambda: clock.turn(step_seconds) or said.done(), what="the end of the connection")
        return said.result(), clock.seconds - began


def hangs_up(connection: socket.socket, pieces: list[bytes], clock: Clock, step_seconds: float) -> bool:
    """Whether the service hung up before all the pieces were sent, that much of its time between them."""
    for piece in pieces:
        try:
            connection.sendall(piece)
            clock.turn(step_seconds)
            connection.settimeout(0.02)
            if connection.recv(65_536) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def answered(connection: socket.socket) -> bytes:
    """The answer to a probe."""
    connection.sendall(HEAD + b"\r\n")
    return said_by(connection)


def test_a_silent_connection_is_closed(hurried: tuple[str, int], clock: Clock):
    with connected(hurried) as connection:
        said, seconds = until_tired(connection, clock, 5)
    assert said == b""
    assert seconds >= HEAD_SECONDS


def test_a_head_that_drips_is_cut_off(hurried: tuple[str, int], clock: Clock):
    with connected(hurried) as connection:
        pieces = [b"GET /healthz HTTP/1.1\r\n", *(f"X-{n}: y\r\n".encode() for n in range(60))]
        assert hangs_up(connection, pieces, clock, 4)


def test_a_second_head_that_drips_is_cut_off_too(hurried: tuple[str, int], clock: Clock):
    with connected(hurried) as connection:
        assert b"alive" in answered(connection)
        assert hangs_up(connection, [bytes([letter]) for letter in HEAD * 2], clock, 4)


def test_a_patient_caller_keeps_its_connection(hurried: tuple[str, int], clock: Clock):
    with connected(hurried) as connection:
        for _ in range(10):
            assert answered(connection).startswith(b"HTTP/1.1 200")
            clock.turn(4)  # longer than a head may take, all in all


def test_a_body_that_drips_is_a_problem_and_ends_the_connection(
    hurried: tuple[str, int], clock: Clock, tenant: Tenant
):
    head = (
        f"POST /datasets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tenant.token(Role.CURATOR)}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    )
    with connected(hurried) as connection:
        connection.sendall(head.encode() + b"{")
        said, seconds = until_tired(connection, clock, 100)
    assert said.startswith(b"HTTP/1.1 408")
    assert b"/problems/request-timeout" in said
    assert seconds >= BODY_SECONDS


def test_an_upload_may_be_long_but_not_pause(hurried: tuple[str, int], clock: Clock, tenant: Tenant):
    dataset = tenant.register()["id"]
    token = tenant.token(Role.CURATOR, Role.REQUESTER)
    head = (
        f"PUT /datasets/{dataset}/content?part=edges&format=csv HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: 1000000\r\n\r\n"
    )
    with connected(hurried) as connection:
        connection.sendall(head.encode())
        for _ in range(15):
            connection.sendall(b"source,target\n" * 1_500)
            clock.turn(100)  # longer than a pause may be, all in all
        said, seconds = until_tired(connection, clock, 100)
    assert said.startswith(b"HTTP/1.1 408")
    assert seconds >= BODY_SECONDS - 100


def test_uploads_that_drip_hold_neither_others_nor_their_turns(
    hurried: tuple[str, int], clock: Clock, tenant: Tenant
):
    """Each byte comes in time, as an attacker's would; another tenant's upload goes through beside them."""
    token, other = tenant.token(Role.CURATOR), Tenant(tenant._http, tenant.services, tenant._process)
    datasets = [tenant.register()["id"] for _ in range(4)]
    held = [socket.create_connection(hurried, timeout=PATIENCE_SECONDS) for _ in datasets]
    url = f"http://{hurried[0]}:{hurried[1]}"

    def sent(who: Tenant, key: str) -> httpx.Response:
        """The answer to another upload, which may wait for its turn."""
        path, mine = f"{url}/datasets/{who.register()['id']}/content", {"Authorization": f"Bearer {key}"}
        with ThreadPoolExecutor(1) as aside:
            answer = aside.submit(httpx.put, path, headers=mine, content=EDGES, timeout=PATIENCE_SECONDS)
            until(lambda: clock.turn(0.5) or answer.done(), what="the answer")
            return answer.result()

    try:
        for connection, dataset in zip(held, datasets, strict=True):
            head = (
                f"PUT /datasets/{dataset}/content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                "Content-Length: 100000\r\n\r\n"
            )
            connection.sendall(head.encode() + b"s")
        # One that overtakes those that drip is received.
        late = until(lambda: not (answer := sent(tenant, token)).is_success and answer, what="their turns")
        assert (late.status_code, late.json()["type"]) == (429, "/problems/too-many-uploads")
        assert int(late.headers["Retry-After"]) >= 1
        theirs = sent(other, other.token(Role.CURATOR))
        assert theirs.status_code == 200, theirs.text
        for connection in held:
            assert hangs_up(connection, [b"s"] * 100, clock, 30)
    finally:
        for connection in held:
            connection.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 8_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        HEAD + b"Authorization: Bearer " + b"s" * 8_000 + b"\r\n\r\n",
        HEAD + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 50) for n in range(200)) + b"\r\n",
        b"POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        HEAD + b"Folded: a\r\n b\x00c\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 40 + b"\r\n\r\n",
    ],
)
def test_heads_that_are_too_large_or_malformed_are_refused(hurried: tuple[str, int], head: bytes):
    with connected(hurried) as connection:
        connection.sendall(head)
        said = until_closed(connection)
    assert said.startswith((b"HTTP/1.1 400 ", b"(reset)"))
    assert b"ssss" not in said


def test_connections_are_bounded(hurried: tuple[str, int]):
    held = [socket.create_connection(hurried, timeout=PATIENCE_SECONDS) for _ in range(45)]
    try:
        held[-1].sendall(HEAD + b"Connection: close\r\n\r\n")
        assert held[-1].recv(65_536).startswith(b"HTTP/1.1 503")
    finally:
        for connection in held:
            connection.close()

    def forgotten() -> bool:
        with connected(hurried) as connection:
            return answered(connection).startswith(b"HTTP/1.1 200")

    until(forgotten, what="room for whoever comes next")


def test_no_other_origin_may_read_an_answer(http: TestClient, house: Tenant):
    origin = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    answers = [
        http.options("/jobs", headers=origin),
        http.get("/healthz", headers=origin),
        house.call("GET", "/methods", headers=origin),
    ]
    for answer in answers:
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
    assert answers[0].status_code == 405


def test_a_body_is_held_to_its_limit_whatever_its_length_claims(http: TestClient, house: Tenant):
    limit = house.services.settings.max_request_bytes
    body = b"[" + b" " * limit + b"]"
    claims: list[dict[str, Any]] = [{}, {"Content-Length": "9" * 400}, {"Content-Length": b"\xb2"}]
    for claimed in claims:
        answer = house.call("POST", "/jobs", content=body, headers=claimed)
        assert (answer.status_code, answer.json()["type"]) == (413, "/problems/payload-too-large")


def test_nothing_of_a_request_reaches_the_log(api_settings: Settings, tenant: Tenant, tmp_path: Path):
    """The whole process, its libraries included, at its most talkative level."""
    port, secret = free_port(), "topsecret"
    token = tenant.token(Role.CURATOR, Role.REQUESTER)
    environment = {
        **os.environ,
        "GRAPHVEIL_DATABASE_URL": api_settings.database_url,
        "GRAPHVEIL_REDIS_URL": api_settings.redis_url,
        "GRAPHVEIL_STORAGE_URL": api_settings.storage_url,
        "GRAPHVEIL_MASTER_KEY": api_settings.master_key.get_secret_value(),
        "GRAPHVEIL_FINGERPRINT_KEY": api_settings.fingerprint_key.get_secret_value(),
        "GRAPHVEIL_PORT": str(port),
        "GRAPHVEIL_METRICS_PORT": str(free_port()),
        "GRAPHVEIL_LOG_LEVEL": "DEBUG",
    }
    written = tmp_path / "log"
    with written.open("wb") as log_file:
        process = subprocess.Popen(
            [sys.executable, "-m", "api"], cwd=ROOT, env=environment, stdout=log_file, stderr=log_file
        )
    made = ""
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz")
        mine = {"Authorization": f"Bearer {token}"}
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers=mine, timeout=PATIENCE_SECONDS
        ) as client:
            for path in ("/jobs", "/jobs/" + secret, "/" + secret, "/datasets", "/problems/" + secret):
                client.get(path, params={"cursor": secret, secret: secret})
            client.post("/datasets", json={"name": secret, secret: secret})
            client.post("/jobs", content=secret, headers={"Idempotency-Key": secret, "Cookie": secret})
            client.post("/jobs", json={"dataset_id": secret}, headers={"Idempotency-Key": secret})
            client.request("TOPSECRET", "/jobs")
            client.get("/jobs", headers={"X-Request-ID": f"<{secret}>", "User-Agent": secret})
            for wrong in ("gv_" + "x" * 40 + "top", "topsecret.topsecret.topsecret", "topsecret"):
                client.get("/me", headers={"Authorization": f"Bearer {wrong}"})
            client.get("/me", headers={"Authorization": f"Basic {secret}"})
            roles = {"name": secret, "person": secret, "roles": ["requester"]}
            operator = {"Authorization": f"Bearer {tenant.token(Role.OPERATOR)}"}
            made = client.post("/keys", json=roles, headers=operator).json()["token"]
        with connected(("127.0.0.1", port)) as connection:
            connection.sendall(b"topsecret\r\n\r\n")
            until_closed(connection)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_SECONDS)
    log = written.read_text()
    assert log.count('"event": "request"') >= 14
    assert "key_created" in log
    lowered = log.lower()
    for hidden in (secret, token[3:].lower(), made[3:].lower(), "x" * 40, "authorization", "bearer"):
        assert hidden not in lowered


def wait_for(url: str) -> None:
    """The service answers."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            httpx.get(url, timeout=PATIENCE_SECONDS)
            return
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)

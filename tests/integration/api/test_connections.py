"""What a connection may take, and what it is told when it takes more."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
import uvicorn

from api.app import create_app
from core.identity.models import Role
from core.workflows.common.context import Services
from tests.integration.api.conftest import Tenant
from tests.support.faults import until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.serving import Clock, said_by, serving

HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"

Served = tuple[uvicorn.Server, tuple[str, int]]


@pytest.fixture(scope="module")
def served(api_services: Services) -> Iterator[Served]:
    """The service as ``python -m api`` runs it."""
    with serving(create_app(api_services), api_services.settings) as running:
        yield running


def test_an_answer_does_not_wait_for_the_acknowledgement_of_its_head(served: Served):
    """Head and body are two writes: with Nagle's algorithm on, the second waits 40 ms for the first."""
    server, address = served
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(HEAD + b"\r\n")
        assert said_by(connection).startswith(b"HTTP/1.1 200")
        until(lambda: len(server.server_state.connections) == 1, what="the end of those before it")
        (accepted,) = server.server_state.connections
        option = accepted.transport.get_extra_info("socket").getsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY
        )
    assert option != 0


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\nHost: x\n\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n\tfolded\r\n\r\n",
        b"\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /console/sign-out HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n",
    ],
    ids=["LF alone", "one LF", "folded", "folded by a tab", "an empty line of LF", "a trailer"],
)
def test_a_head_whose_lines_are_not_plain_is_refused(served: Served, head: bytes):
    with socket.create_connection(served[1], timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(HEAD + b"A: b\r\n\r\n")
        assert said_by(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(head)
        assert not connection.recv(65_536).startswith(b"HTTP/1.1 200")


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def narrow(api_services: Services, clock: Clock) -> Iterator[tuple[str, int]]:
    """The service with room for few, and for little that it does not read, by a clock that tests turn."""
    changes = {"max_connections": 30, "max_address_connections": 10, "max_unread_bytes": 2**20}
    settings = api_services.settings.model_copy(
        update={**changes, "head_seconds": 3.0, "trusted_proxies": "127.0.0.9"}
    )
    app = create_app(Services(api_services.db, api_services.store, settings))
    with serving(app, settings, clock) as (_, address):
        yield address


def connected(address: tuple[str, int], own: str = "127.0.0.1") -> socket.socket:
    """A connection from one of the addresses that a machine has for itself."""
    return socket.create_connection(address, timeout=PATIENCE_SECONDS, source_address=(own, 0))


def asked(address: tuple[str, int], own: str = "127.0.0.1") -> bytes:
    """What a fresh connection is answered to a probe, or without one."""
    with connected(address, own) as connection:
        connection.sendall(HEAD + b"\r\n")
        return said_by(connection)


def free(address: tuple[str, int], own: str) -> None:
    """Connections that were closed have been forgotten."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not asked(address, own).startswith(b"HTTP/1.1 200"):
        assert time.monotonic() < deadline


def test_one_address_leaves_connections_to_others(narrow: tuple[str, int]):
    with ExitStack() as undo:
        for _ in range(10):
            undo.enter_context(connected(narrow, "127.0.0.2"))
        refused = undo.enter_context(connected(narrow, "127.0.0.2"))
        said = said_by(refused)
        assert said.startswith(b"HTTP/1.1 429 ")
        assert b"/problems/too-many-connections" in said
        assert b"\r\nretry-after: " in said.lower()
        assert refused.recv(1) == b""
        assert asked(narrow).startswith(b"HTTP/1.1 200")
    free(narrow, "127.0.0.2")


def test_a_trusted_proxy_comes_for_many(narrow: tuple[str, int]):
    with ExitStack() as undo:
        for _ in range(15):
            undo.enter_context(connected(narrow, "127.0.0.9"))
        assert asked(narrow, "127.0.0.9").startswith(b"HTTP/1.1 200")
    free(narrow, "127.0.0.9")


def test_many_addresses_together_are_bounded(narrow: tuple[str, int]):
    with ExitStack() as undo:
        for number in range(30):
            undo.enter_context(connected(narrow, f"127.0.1.{1 + number // 10}"))
        said = asked(narrow)
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"/problems/connections-full" in said
        assert b"\r\nretry-after: " in said.lower()
    free(narrow, "127.0.0.1")


BOTH = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n" + BOTH + b"\r\n" + CHUNKS,
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + BOTH + b"\r\n" + CHUNKS,
        b"POST /v1/jobs HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
        b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS,
    ],
)
def test_two_lengths_are_an_error_and_the_end_of_the_connection(
    narrow: tuple[str, int], request_bytes: bytes
):
    """RFC 9112, section 6.3: what follows such a body may be another's request. It is not read as one."""
    with connected(narrow) as connection:
        connection.sendall(request_bytes + HEAD + b"\r\n")
        said = said_by(connection)
        assert said.startswith(b"HTTP/1.1 400 ")
        assert b"/problems/bad-request" in said
        assert b"\r\nconnection: close" in said.lower()
        with suppress(ConnectionResetError):  # it hung up before it had read everything
            assert connection.recv(1) == b""


def test_an_answer_before_the_body_has_come_is_heard(narrow: tuple[str, int], tenant: Tenant):
    """And the next request on the same connection is answered as well."""
    body = b" " * 900_000
    with connected(narrow) as connection:
        for _ in range(2):
            head = f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            assert said_by(connection).startswith(b"HTTP/1.1 401 ")
        token = tenant.token(Role.CURATOR)
        connection.sendall(f"GET /me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert said_by(connection).startswith(b"HTTP/1.1 200 ")


UNREAD = (
    b"PUT /v1/datasets/x/budget/quotas/team/content HTTP/1.1\r\nHost: x\r\nContent-Length: 800000000\r\n\r\n"
)


def borne(address: tuple[str, int], clock: Clock, piece: bytes, pause_seconds: float) -> tuple[int, float]:
    """The bytes of an unread body that the service takes before it hangs up, and the seconds of its own."""
    with connected(address) as connection:
        connection.sendall(UNREAD)
        assert said_by(connection).startswith(b"HTTP/1.1 401 ")
        began, sent = clock.seconds, 0
        with suppress(ConnectionError):
            while sent < 100 * 2**20 and clock.seconds - began < 20:
                sent += connection.send(piece)
                clock.turn(pause_seconds)
        return sent, clock.seconds - began


def test_a_body_that_nobody_reads_ends_its_connection(narrow: tuple[str, int], clock: Clock):
    """By its size, or by the time that it takes."""
    assert (
        borne(narrow, clock, b" " * 2**18, 0.0)[0] < 20 * 2**20
    )  # what the kernel holds is beside the limit
    assert borne(narrow, clock, b" ", 0.2)[1] < 15

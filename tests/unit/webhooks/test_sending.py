"""One webhook over real sockets: what an endpoint may do, and what is made of it."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpcore
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from core.webhooks.addresses import Rules
from core.webhooks.models import Trouble
from core.webhooks.sending import Limits, Outcome, send
from tests.support.faults import until
from tests.support.patience import PATIENCE_SECONDS

NAME = "hooks.example.org"
LIMITS = Limits(seconds=60.0, answer_bytes=64 * 1024)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Answering = Callable[[socket.socket], None]


@contextmanager
def listening(
    answer: bytes | Answering, context: ssl.SSLContext | None = None
) -> Iterator[tuple[int, list[bytes]]]:
    """A server on this machine that answers every connection so; its port, and the requests that it got."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        done = threading.Event()

        def serve() -> None:
            while not done.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                except OSError:
                    return  # closed
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(plain: socket.socket) -> None:
            try:
                plain.settimeout(PATIENCE_SECONDS)
                connection = context.wrap_socket(plain, server_side=True) if context else plain
                requests.append(request_of(connection))
                if isinstance(answer, bytes):
                    connection.sendall(answer)
                else:
                    answer(connection)
                connection.close()
            except OSError:
                plain.close()  # the other side has left: many of these tests are about that

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], requests
        done.set()
        thread.join(timeout=PATIENCE_SECONDS)


def request_of(connection: socket.socket) -> bytes:
    """A whole request: its head, and as much of a body as it declares."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length: ")
    )
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def posted(port: int, limits: Limits = LIMITS, **options: object) -> Outcome:
    rules = Rules(ports=(port,), private=True)
    given = {"rules": rules, "limits": limits, "resolver": here, **options}
    return send(f"http://{NAME}:{port}/in?team=a", b'{"a":1}', {"webhook-id": "whd_1"}, **given)  # type: ignore[arg-type]


def test_it_is_posted_as_it_is_with_the_name_as_host() -> None:
    with listening(OK) as (port, requests):
        assert posted(port) == Outcome(200)
    head, _, body = requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /in?team=a HTTP/1.1"
    assert f"Host: {NAME}:{port}" in lines
    assert "webhook-id: whd_1" in lines
    assert body == b'{"a":1}'


@pytest.mark.parametrize(
    ("head", "outcome"),
    [
        (b"200 OK", Outcome(200)),
        (b"204 No Content", Outcome(204)),
        (b"400 Bad Request", Outcome(400, Trouble.STATUS)),
        (b"410 Gone", Outcome(410, Trouble.GONE)),
        (b"500 Internal Server Error", Outcome(500, Trouble.STATUS)),
        (b"503 Busy\r\nRetry-After: 120", Outcome(503, Trouble.STATUS, 120)),
        (b"503 Busy\r\nRetry-After: 99999999", Outcome(503, Trouble.STATUS, 86_400)),
        (b"503 Busy\r\nRetry-After: -5", Outcome(503, Trouble.STATUS)),
        (b"503 Busy\r\nRetry-After: tomorrow", Outcome(503, Trouble.STATUS)),
        (b"101 Switching Protocols", Outcome(trouble=Trouble.BROKEN)),
    ],
)
def test_a_status_says_what_came_of_it(head: bytes, outcome: Outcome) -> None:
    with listening(b"HTTP/1.1 " + head + b"\r\nContent-Length: 0\r\n\r\n") as (port, _):
        assert posted(port) == outcome


def test_a_redirect_is_a_failure_and_is_not_followed() -> None:
    with listening(OK) as (inner, reached):
        moved = (
            f"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{inner}/\r\nContent-Length: 0\r\n\r\n".encode()
        )
        with listening(moved) as (port, _):
            assert posted(port) == Outcome(307, Trouble.REDIRECT)
    assert reached == []


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\x01\x02",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(30_000)) + b"\r\n",
    ],
    ids=["nothing", "noise", "another protocol", "a long line", "many lines"],
)
def test_what_is_no_answer_is_broken(answer: bytes) -> None:
    with listening(answer) as (port, _):
        assert posted(port) == Outcome(trouble=Trouble.BROKEN)


def test_nobody_listens() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can meanwhile
        assert posted(bound.getsockname()[1]) == Outcome(trouble=Trouble.UNREACHABLE)


def silent(connection: socket.socket) -> None:
    connection.recv(1)


def byte_by_byte(connection: socket.socket) -> None:
    for byte in OK:  # eight seconds, none of which passes without one
        connection.sendall(bytes([byte]))
        time.sleep(0.2)


@pytest.mark.parametrize("answer", [silent, byte_by_byte])
def test_the_whole_exchange_has_one_time_limit(answer: Answering) -> None:
    with listening(answer) as (port, _):
        assert posted(port, Limits(0.6, 1_024)) == Outcome(trouble=Trouble.TIMEOUT)


def test_a_huge_answer_is_cut() -> None:
    sent = 0

    def endless(connection: socket.socket) -> None:
        nonlocal sent
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            sent += connection.send(b"x" * 65_536)

    with listening(endless) as (port, _):
        assert posted(port) == Outcome(200)
    assert sent < 32 * 2**20  # what the sockets buffered


def test_a_status_counts_though_the_rest_never_comes() -> None:
    def halting(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nha")
        connection.recv(1)

    with listening(halting) as (port, _):
        until(lambda: posted(port, Limits(0.5, 1_024)) == Outcome(200), what="an answer within half a second")


# where it goes


@pytest.mark.parametrize(
    "found",
    [
        ["10.0.0.1"],
        ["8.8.8.8", "10.0.0.1"],
        ["8.8.8.8", "::1"],
        ["::ffff:8.8.8.8"],
        ["fe80::1%lo"],
        ["nowhere"],
    ],
)
def test_one_address_that_is_not_public_spoils_the_name(
    found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = recorded(monkeypatch)
    outcome = send(
        f"https://{NAME}/", b"{}", {}, rules=Rules(), limits=LIMITS, resolver=lambda host, port: found
    )
    assert outcome == Outcome(trouble=Trouble.NOT_PUBLIC)
    assert connected == []


def test_a_name_that_stands_for_nothing() -> None:
    def lost(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror("no such name")

    for resolver in (lost, lambda host, port: []):
        outcome = send(f"https://{NAME}/", b"{}", {}, rules=Rules(), limits=LIMITS, resolver=resolver)
        assert outcome == Outcome(trouble=Trouble.UNRESOLVED)


def test_a_name_that_answers_differently_the_second_time_gains_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connected = recorded(monkeypatch)
    answers = iter([["93.184.216.34", "2606:4700:4700::1111"], ["127.0.0.1"], ["127.0.0.1"]])
    asked = []

    def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    outcome = send(f"https://{NAME}/", b"{}", {}, rules=Rules(), limits=LIMITS, resolver=rebinding)
    assert outcome == Outcome(trouble=Trouble.UNREACHABLE)
    assert asked == [NAME]
    assert connected == [("93.184.216.34", 443), ("2606:4700:4700::1111", 443)]


def test_an_address_that_the_settings_no_longer_allow_is_not_asked_for() -> None:
    outcome = send(f"http://{NAME}/", b"{}", {}, rules=Rules(), limits=LIMITS, resolver=here)
    assert outcome == Outcome(trouble=Trouble.NOT_PUBLIC)


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Where connections were tried to; none succeeds. The outside world cannot be had in a test."""
    connected: list[tuple[str, int]] = []

    def refuse(self: object, host: str, port: int, **_: object) -> httpcore.NetworkStream:
        connected.append((host, port))
        raise httpcore.ConnectError("refused")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", refuse)
    return connected


# TLS


@contextmanager
def certified(folder: Path, name: str) -> Iterator[tuple[ssl.SSLContext, ssl.SSLContext]]:
    """A server's context with a certificate for the name, and a client's that trusts its maker."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "certificate.pem", folder / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem, private)
    yield server, ssl.create_default_context(cafile=str(pem))


def test_the_connection_goes_to_the_checked_address_and_tls_verifies_the_name(tmp_path: Path) -> None:
    with certified(tmp_path, NAME) as (server, client), listening(OK, server) as (port, requests):
        rules = Rules(ports=(port,), private=True)
        for name, outcome in ((NAME, Outcome(200)), ("other.example.org", Outcome(trouble=Trouble.TLS))):
            url = f"https://{name}:{port}/"
            found = send(url, b"{}", {}, rules=rules, limits=LIMITS, resolver=here, context=client)
            assert found == outcome
    assert len(requests) == 1


def test_a_certificate_of_nobody_known_is_refused(tmp_path: Path) -> None:
    with certified(tmp_path, NAME) as (server, _), listening(OK, server) as (port, requests):
        rules = Rules(ports=(port,), private=True)
        found = send(f"https://{NAME}:{port}/", b"{}", {}, rules=rules, limits=LIMITS, resolver=here)
    assert found == Outcome(trouble=Trouble.TLS)
    assert requests == []

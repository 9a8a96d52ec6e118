"""A gate before an S3 server: it lets requests through, refuses them all, or refuses what would be stored."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"})
SECONDS = 60.0


class Gate(StrEnum):
    """What the storage is like. REFUSING: 503 to everything; FULL: 507 to whatever would store bytes."""

    OPEN = "open"
    REFUSING = "refusing"
    FULL = "full"


@dataclass
class StoreGate:
    """``state`` may be changed at any moment; ``answered``: how many were turned away in each."""

    port: int
    state: Gate = Gate.OPEN
    answered: Counter[Gate] = field(default_factory=Counter)

    def refusal(self, method: str) -> int | None:
        """The status with which the request is turned away, if it is."""
        if self.state is Gate.REFUSING:
            return 503
        return 507 if self.state is Gate.FULL and method in ("PUT", "POST") else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    gate: StoreGate
    port: int

    def pass_on(self) -> None:
        body = self._body()
        refused = self.gate.refusal(self.command)
        self.gate.answered[self.gate.state] += refused is not None
        if refused is not None:
            code = {503: "ServiceUnavailable", 507: "InsufficientStorage"}[refused]
            self._answer(refused, [], f"<Error><Code>{code}</Code></Error>".encode())
            return
        beyond = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            headers = {n: v for n, v in headers.items() if n.lower() != "transfer-encoding"}
            beyond.request(self.command, self.path, body=body, headers=headers)
            answer = beyond.getresponse()
            self._answer(answer.status, answer.getheaders(), answer.read())
        except OSError:
            self.close_connection = True
        finally:
            beyond.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = pass_on

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        length = str(len(body))
        self.send_response(status)
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            elif name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed in the middle of its request is no news."""


@contextmanager
def store_gate(port: int, beyond: int) -> Iterator[StoreGate]:
    """A gate on one port of the loopback interface, before the server on another."""
    gate = StoreGate(port)
    handler = type("Handler", (_Handler,), {"gate": gate, "port": beyond})
    server = _Server(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever, name="store-gate", daemon=True)
    thread.start()
    try:
        yield gate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""A receiver of webhooks on this machine: it keeps what it gets and answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

from tests.support.patience import PATIENCE_SECONDS


@dataclass(frozen=True)
class Received:
    """One request as it came: its headers in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> Any:
        """The content, if the specification's library accepts its signature."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass
class Receiver:
    """``statuses`` are answered one after the other, the last of them for ever; ``answer``: with what."""

    port: int
    statuses: list[int] = field(default_factory=lambda: [200])
    received: list[Received] = field(default_factory=list)
    answer: Callable[[Received], bytes] = lambda _: b""

    @property
    def url(self) -> str:
        return f"http://hooks.example.org:{self.port}/in"


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver that listens on the loopback interface as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            got = Received(self.path, headers, body, self.command)
            kept.received.append(got)
            content = kept.answer(got)
            status = kept.statuses.pop(0) if len(kept.statuses) > 1 else kept.statuses[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_PATCH = do_POST

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept = Receiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=PATIENCE_SECONDS)

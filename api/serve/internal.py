"""The internal port. It has what the processes counted, and probes that callers cannot keep from being
answered.

A probe goes through to every process that serves, by a socket of each in a private folder: one that hangs is
noticed. No limit of connections holds there, and nobody else comes that way.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

PROBES = frozenset({"/healthz", "/readyz"})
SECONDS = 4.0  # longer than the checks of readiness take, shorter than a probe waits


def listen(
    host: str, port: int, registry: CollectorRegistry, doors: Callable[[], Iterable[Path]]
) -> Callable[[], None]:
    """Serve ``/metrics``, ``/healthz`` and ``/readyz``. Returned is the call that ends it.

    Raises OSError when the port is taken. ``doors`` are the sockets of the processes that should serve.
    """
    app = _application(make_wsgi_app(registry), doors)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server_class: type[ThreadingWSGIServer] = type(
        "Server", (ThreadingWSGIServer,), {"address_family": family}
    )
    server = make_server(host, port, app, server_class, _Handler)
    thread = threading.Thread(target=server.serve_forever, name="internal-port", daemon=True)
    thread.start()

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return end


def door(folder: Path, place: int) -> tuple[socket.socket, Path]:
    """Open a listening socket for a process. It is for the process of that place; where it lies comes too."""
    path = folder / f"process-{place}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    return listener, path


class _Handler(WSGIRequestHandler):
    disable_nagle_algorithm = True
    timeout = 10.0

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: whoever runs the service asks every few seconds."""


def _application(metrics: WSGIApplication, doors: Callable[[], Iterable[Path]]) -> WSGIApplication:
    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path not in PROBES:
            return metrics(environ, start_response)
        status, body = _worst_answer(path, list(doors()))
        phrase = f"{status} {http.client.responses[status]}"
        start_response(phrase, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return application


def _worst_answer(path: str, doors: list[Path]) -> tuple[int, bytes]:
    """Ask the processes; return the answer of the first that is not well, of any where all are."""
    with ThreadPoolExecutor(len(doors)) as pool:
        answers = list(pool.map(lambda each: _answer(path, each), doors))
    return next((answer for answer in answers if answer[0] != 200), answers[0])


def _answer(path: str, door: Path) -> tuple[int, bytes]:
    connection = _Through(door)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        return 503, json.dumps({"status": "silent", "error": type(error).__name__}).encode()
    finally:
        connection.close()


class _Through(http.client.HTTPConnection):
    """HTTP through a socket in a folder."""

    def __init__(self, door: Path) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._door = door

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._door))

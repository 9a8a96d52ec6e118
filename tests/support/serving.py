"""An app behind a real socket, under the options of ``python -m api``."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from api.serve import connections, processes
from core.settings import Settings
from tests.support.patience import PATIENCE_SECONDS


@contextmanager
def serving(app: FastAPI, settings: Settings) -> Iterator[tuple[uvicorn.Server, tuple[str, int]]]:
    """The server, in a thread, and its address; it has ended after the block."""
    (listener,) = processes.listening(settings.model_copy(update={"port": 0, "api_processes": 1}))
    server = uvicorn.Server(uvicorn.Config(app, timeout_graceful_shutdown=1, **connections.limits(settings)))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield server, listener.getsockname()
    server.should_exit = True
    thread.join(timeout=PATIENCE_SECONDS)


def said_by(connection: socket.socket) -> bytes:
    """One answer with a Content-Length, whole; what came until then where the service hung up."""
    said = b""
    while b"\r\n\r\n" not in said:
        piece = connection.recv(65_536)
        if not piece:
            return said
        said += piece
    head, _, body = said.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    (length,) = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
    while len(body) < length:
        piece = connection.recv(65_536)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body

"""An app behind a real socket, under the options of ``python -m api``."""

from __future__ import annotations

import asyncio
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from fastapi import FastAPI

from api.serve import connections, processes
from core.settings import Settings
from tests.support.patience import PATIENCE_SECONDS


class Clock(asyncio.SelectorEventLoop):
    """A server's event loop whose time stands still until a test turns it.

    What the service bears is then counted in its own time: no machine is so slow that it hangs up too early,
    and no test waits for a limit.
    """

    seconds = 0.0

    def time(self) -> float:
        """What every timer of the server goes by."""
        return self.seconds

    def pass_by(self, seconds: float) -> None:
        """The same within the loop."""
        self.seconds += seconds

    def turn(self, seconds: float) -> None:
        """So much time has passed, and what it brought about in the loop has begun."""
        done = threading.Event()

        def turned() -> None:
            self.pass_by(seconds)
            self.call_soon(self.call_soon, done.set)

        self.call_soon_threadsafe(turned)
        assert done.wait(PATIENCE_SECONDS), "the server stands still"


class Leaping(asyncio.SelectorEventLoop):
    """An event loop whose time leaps to its next timer once nothing else is left to be done.

    For what needs neither threads nor other processes: those would take no time at all.
    """

    def __init__(self) -> None:
        super().__init__(_Leaps(self))
        self.seconds = 0.0

    def time(self) -> float:
        """What every timer goes by."""
        return self.seconds


class _Leaps(selectors.DefaultSelector):
    def __init__(self, loop: Leaping) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; where nothing is, the time of the wait has gone by."""
        ready = super().select(timeout if timeout is None else 0)
        if not ready and timeout:
            self._loop.seconds += timeout
        return ready


@contextmanager
def serving(
    app: FastAPI, settings: Settings, clock: Clock | None = None
) -> Iterator[tuple[uvicorn.Server, tuple[str, int]]]:
    """The server, in a thread, and its address; it has ended after the block."""
    (listener,) = processes.listening(settings.model_copy(update={"port": 0, "api_processes": 1}))
    server = uvicorn.Server(uvicorn.Config(app, timeout_graceful_shutdown=1, **connections.limits(settings)))
    thread = threading.Thread(target=_run, args=(server, listener, clock), daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield server, listener.getsockname()
    server.should_exit = True
    while clock is not None and thread.is_alive() and not clock.is_closed():
        with suppress(RuntimeError):  # it was closed in between
            clock.call_soon_threadsafe(clock.pass_by, 0.1)
        time.sleep(0.01)
    thread.join(timeout=PATIENCE_SECONDS)


def _run(server: uvicorn.Server, listener: socket.socket, clock: Clock | None) -> None:
    with asyncio.Runner(loop_factory=None if clock is None else lambda: clock) as runner:
        runner.run(server.serve([listener]))


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

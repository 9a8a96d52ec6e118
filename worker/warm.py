"""The worker's end of its fork server. It is started when it is needed, replaced when it has died."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from core.logging import get_logger
from worker.limits import child_environment

COMMAND: tuple[str, ...] = (sys.executable, "-m", "worker.fork_server")
FORK, REAP = b"fork", b"reap"
MAX_MESSAGE_BYTES = 4096
REAP_SECONDS = 60.0
"""How long a killed child may take to die; one that held much memory gives it back slowly."""

log = get_logger(__name__)


class ServerLost(OSError):
    """The fork server is gone, and with it the child that it had."""


@dataclass(frozen=True)
class Start:
    """How a fork server is started. One that was started otherwise is not used."""

    command: Sequence[str]
    environment: Mapping[str, str]
    process: int


class ForkServer:
    """A running fork server: :mod:`worker.fork_server` says what it holds. It ends with this thread."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [*start.command, "--control", str(theirs.fileno()), "--parent", str(start.process)],
                env=dict(start.environment),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._control.setblocking(False)

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    def fileno(self) -> int:
        """Return a descriptor of the server's messages. It can be read once there is something to be
        heard."""
        return self._control.fileno()

    def runs(self) -> bool:
        """Tell whether it was not ended, by us or by itself."""
        return self._control.fileno() >= 0 and self._process.poll() is None

    def fork(self, given: Sequence[int]) -> None:
        """Ask for a child with these descriptors. ServerLost."""
        try:
            socket.send_fds(self._control, [FORK], list(given))
        except OSError as error:
            raise ServerLost("the fork server takes no word") from error

    def heard(self) -> Iterator[dict[str, Any]]:
        """Yield what it has sent so far. ServerLost once it is gone."""
        while True:
            try:
                message = self._control.recv(MAX_MESSAGE_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                raise ServerLost("the fork server is gone") from error
            if not message:
                raise ServerLost("the fork server is gone")
            yield json.loads(message)

    def reap(self) -> dict[str, Any]:
        """Have the child killed and let go: how much it used. ServerLost."""
        try:
            self._control.send(REAP)
        except OSError as error:
            raise ServerLost("the fork server takes no word") from error
        while select.select([self._control], [], [], REAP_SECONDS)[0]:
            for message in self.heard():
                if "used" in message:
                    return dict(message["used"])
        raise ServerLost("the fork server does not answer")

    def __del__(self) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, and any child that it has."""
        self._control.close()
        if self.start.process != os.getpid():
            return  # this process was forked from the one that it serves
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()


_own = threading.local()
"""A server belongs to a thread: the kernel ends it with the thread that started it, and it has one child."""


def preload() -> None:
    """Start this thread's server with libraries loaded. They are those of jobs, loaded now and whenever it is
    replaced."""
    _own.preload = True
    server()


def server() -> ForkServer:
    """Return this thread's server, started or replaced where that is needed."""
    command = (*COMMAND, "--preload") if getattr(_own, "preload", False) else COMMAND
    start = Start(command, child_environment(), os.getpid())
    running: ForkServer | None = getattr(_own, "server", None)
    if running is not None:
        if running.start == start and running.runs():
            return running
        if running.start == start:
            log.warning("fork_server_replaced")
        running.stop()
    running = ForkServer(start)
    _own.server = running
    return running


def stop() -> None:
    """End this thread's server, if it has one."""
    running: ForkServer | None = getattr(_own, "server", None)
    if running is not None:
        running.stop()
        _own.server = None

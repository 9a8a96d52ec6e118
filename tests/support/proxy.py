"""A wire to PostgreSQL that breaks when it is told to: before, in the middle of, or after a chosen statement.

Or PostgreSQL itself is killed at that moment, and started again when the wire is mended. The wire reads the
messages of the frontend/backend protocol (version 3) as they pass, so that it breaks at moments that a test
can name, and not by chance.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from sqlalchemy.engine import make_url

from tests.support.patience import PATIENCE_SECONDS

CHUNK = 2**16
PARTS = (b"P", b"B", b"D", b"E", b"C")  # Parse, Bind, Describe, Execute, Close: nobody waits before the Sync
ENDS = (b"Q", b"S")  # a simple query; the Sync that ends an extended one
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 s. The peer sees a reset, not an orderly end


class Moment(StrEnum):
    """Where the wire breaks: at a COMMIT, or at any statement."""

    BEFORE_COMMIT = "the COMMIT never arrives"
    DURING_COMMIT = "the COMMIT arrives, and nobody waits for its answer"
    AFTER_COMMIT = "the COMMIT has happened, and its answer never arrives"
    IN_STATEMENT = "half of a statement arrives"
    AFTER_STATEMENT = "the statement has run, and its answer never arrives"
    KILLED_BEFORE_COMMIT = "PostgreSQL is killed before the COMMIT"
    KILLED_DURING_COMMIT = "PostgreSQL is killed as the COMMIT arrives"
    KILLED_AFTER_COMMIT = "PostgreSQL is killed after the COMMIT"
    KILLED_AT_STATEMENT = "PostgreSQL is killed at a statement"

    @property
    def at_commit(self) -> bool:
        return "COMMIT" in self.value

    @property
    def kills(self) -> bool:
        return "killed" in self.value


CUTS = tuple(moment for moment in Moment if not moment.kills)
"""What a wire can do without a server of its own."""


class Killable(Protocol):
    """A server that can be killed, and started again with what it had kept."""

    def kill(self) -> None: ...

    def start(self) -> None: ...


@dataclass
class Wire:
    """A proxy before one server. One cut at a time is armed; it happens once.

    ``server`` is needed by the moments that kill it.
    """

    upstream: str
    port: int
    server: Killable | None = None
    fired: bool = False
    killed: bool = False
    _armed: tuple[Moment, int] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cut(self, moment: Moment, number: int) -> None:
        """The ``number``-th (from 1) COMMIT, or statement, that passes from now on breaks its connection."""
        with self._lock:
            self.fired, self._armed = False, (moment, number)

    def mend(self) -> bool:
        """Nothing is armed any more, and the server runs; whether the cut had happened."""
        with self._lock:
            self._armed = None
            if self.killed and self.server is not None:
                self.server.start()
            self.killed = False
            return self.fired

    def kill(self) -> None:
        """The server is dead."""
        assert self.server is not None, "this wire leads to a server that others need"
        with self._lock:
            self.killed = True
            self.server.kill()

    @contextlib.contextmanager
    def counting(self, moment: Moment) -> Iterator[Callable[[], int]]:
        """How many COMMITs, or statements, have passed since; nothing is cut."""
        many = 10**9
        self.cut(moment, many)
        yield lambda: many - (self._armed or (moment, many))[1]
        self.mend()

    def due(self, *, commit: bool) -> Moment | None:
        """The moment at which the statement that passes now breaks its connection, if it does."""
        with self._lock:
            if self._armed is None or (self._armed[0].at_commit and not commit):
                return None
            moment, left = self._armed
            self._armed = None if left == 1 else (moment, left - 1)
            self.fired = left == 1
            return moment if self.fired else None

    def address(self, database_url: str) -> str:
        """SQLAlchemy's address of the same database, by way of this wire."""
        url = make_url(database_url).set(host="127.0.0.1", port=self.port)
        query = {"sslmode": "disable", "gssencmode": "disable"}
        return url.set(query=query).render_as_string(hide_password=False)


@contextlib.contextmanager
def wire(database_url: str, server: Killable | None = None) -> Iterator[Wire]:
    """A wire to the server of the address, which listens on a Unix socket; gone with the context."""
    folder = make_url(database_url).query["host"]
    assert isinstance(folder, str)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Wire(str(Path(folder) / ".s.PGSQL.5432"), listening.getsockname()[1], server)
        threading.Thread(target=_accept, args=(made, listening), daemon=True).start()
        yield made
        listening.shutdown(socket.SHUT_RDWR)


def _accept(made: Wire, listening: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the context has ended
        while True:
            client, _ = listening.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(made.upstream)
            except OSError:  # it was killed
                client.close()
                server.close()
                continue
            threading.Thread(target=_Connection(made, client, server).run, daemon=True).start()


class _Connection:
    def __init__(self, made: Wire, client: socket.socket, server: socket.socket) -> None:
        self._wire, self._client, self._server = made, client, server
        self._muted = threading.Event()  # the server's answers go nowhere any more
        self._answered = threading.Event()

    def run(self) -> None:
        """Messages pass until one side ends, or the cut that is armed comes."""
        threading.Thread(target=self._back, daemon=True).start()
        try:
            self._server.sendall(self._startup())
            statement = b""
            while (message := self._message()) is not None:
                statement += message
                if message[:1] in PARTS:
                    continue
                moment = self._wire.due(commit=_is_commit(message)) if message[:1] in ENDS else None
                if moment is not None:
                    self._cut(moment, statement)
                    return
                self._server.sendall(statement)
                statement = b""
        except OSError:
            return  # one side has gone
        finally:
            self._close()

    def _cut(self, moment: Moment, message: bytes) -> None:
        if moment in (Moment.KILLED_BEFORE_COMMIT, Moment.KILLED_AT_STATEMENT):
            self._wire.kill()
        if moment in (Moment.BEFORE_COMMIT, Moment.KILLED_BEFORE_COMMIT, Moment.KILLED_AT_STATEMENT):
            return
        if moment is Moment.IN_STATEMENT:
            self._server.sendall(message[: len(message) // 2])
            return
        if moment in (Moment.DURING_COMMIT, Moment.KILLED_DURING_COMMIT):
            self._server.sendall(message)
            if moment.kills:
                self._wire.kill()
            return
        self._answered.clear()
        self._muted.set()
        self._server.sendall(message)
        assert self._answered.wait(PATIENCE_SECONDS), "the server did not answer"
        if moment.kills:
            self._wire.kill()

    def _startup(self) -> bytes:
        """The first message has no type byte."""
        length = self._exactly(4)
        return length + self._exactly(int.from_bytes(length) - 4)

    def _message(self) -> bytes | None:
        kind = self._client.recv(1)
        if not kind:
            return None
        length = self._exactly(4)
        return kind + length + self._exactly(int.from_bytes(length) - 4)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._client.recv(count - len(data))
            if not piece:
                raise ConnectionError("the client has gone")
            data += piece
        return data

    def _back(self) -> None:
        """What the server says passes; while muted, it is only noticed."""
        with contextlib.suppress(OSError):
            while data := self._server.recv(CHUNK):
                if not self._muted.is_set():
                    self._client.sendall(data)
                elif data[-6:-1] == b"Z\0\0\0\5":  # ReadyForQuery: the statement has ended
                    self._answered.set()
        self._answered.set()
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        for end in (self._client, self._server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _is_commit(message: bytes) -> bool:
    return message[:1] == b"Q" and message[5:].rstrip(b"\0") == b"COMMIT"

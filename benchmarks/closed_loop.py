"""A closed loop of HTTP/1.1 requests over persistent sockets: each connection sends its next request once it
has read the answer to its last. One thread and one selector, so that the load takes little from the loaded.
"""

from __future__ import annotations

import resource
import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

END = b"\r\n\r\n"
CHUNK = 65_536

Next = Callable[[], bytes]
"""The next request as it goes over the wire."""


@dataclass
class Loop:
    """What was sent and seen. ``seconds`` per request, ``cpu_seconds`` of the loop itself."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    heads: list[bytes] = field(default_factory=list)
    elapsed_seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass
class _Connection:
    socket: socket.socket
    received: bytes = b""
    length: int | None = None
    began: float = 0.0


def request(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """One request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def run(address: tuple[str, int], following: Next, *, connections: int, seconds: float) -> Loop:
    """``connections`` callers at once for that long; every request that was sent is answered before it ends.

    The heads of the answers are kept. Raises ConnectionError when the service hangs up.
    """
    found, before = Loop(), resource.getrusage(resource.RUSAGE_SELF)
    open_ones = [_Connection(socket.create_connection(address)) for _ in range(connections)]
    started = time.perf_counter()
    with selectors.DefaultSelector() as waiting:
        for one in open_ones:
            one.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.register(one.socket, selectors.EVENT_READ, one)
            _send(one, following)
        under_way = connections
        while under_way:
            for key, _ in waiting.select():
                status = _answer(key.data, found)
                if status is None:
                    continue
                if time.perf_counter() - started < seconds:
                    _send(key.data, following)
                else:
                    under_way -= 1
    found.elapsed_seconds = time.perf_counter() - started
    for one in open_ones:
        one.socket.close()
    after = resource.getrusage(resource.RUSAGE_SELF)
    found.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found


def _send(one: _Connection, following: Next) -> None:
    one.received, one.length = b"", None
    wire = following()
    one.began = time.perf_counter()
    one.socket.sendall(wire)


def _answer(one: _Connection, found: Loop) -> int | None:
    """The status, once the answer is whole."""
    piece = one.socket.recv(CHUNK)
    if not piece:
        raise ConnectionError("the service closed the connection")
    one.received += piece
    if one.length is None:
        end = one.received.find(END)
        if end < 0:
            return None
        one.length = end + len(END) + _content_length(one.received[:end])
    if len(one.received) < one.length:
        return None
    found.seconds.append(time.perf_counter() - one.began)
    status = int(one.received[9:12])
    found.statuses[status] += 1
    found.heads.append(one.received[: one.received.find(END)])
    return status


def _content_length(head: bytes) -> int:
    length = value_of(head, b"content-length")
    return int(length) if length else 0


def value_of(head: bytes, name: bytes) -> bytes:
    """One header of an answer; empty where it has none."""
    at = head.lower().find(b"\r\n" + name + b":")
    return b"" if at < 0 else head[at + len(name) + 3 :].split(b"\r\n", 1)[0].strip()

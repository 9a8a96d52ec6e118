"""How many connections there are, and for how long. One may dawdle so long; here is what it reads when it
takes too much.

Uvicorn times the pause between two requests, not the arrival of one: a client that sends a byte a minute
would hold its connection for ever. Bodies are timed where they are read, in ``api.http.bodies``.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from functools import lru_cache
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.http import problems
from api.http.limits import network_of
from api.http.problems import Row
from core import ids
from core.settings import Settings

KEEP_ALIVE_SECONDS = 5


def limits(settings: Settings) -> dict[str, Any]:
    """Return Uvicorn's options that bound connections. Its logs name no request."""
    return {
        "http": protocol(settings),
        "ws": "none",
        "h11_max_incomplete_event_size": settings.max_header_bytes,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "proxy_headers": True,
        "forwarded_allow_ips": settings.trusted_proxies,
        "access_log": False,
        "log_config": None,
        "server_header": False,
    }


_LOOSE = re.compile(rb"(?<!\r)\n|\r(?!\n)|\r\n[ \t]")
"""A line that ends without CR LF, or goes on in the next: what is before us may have read another request."""


class StrictLines(ReceiveBuffer):
    """Heads and trailers whose lines end in CR LF and are not folded (RFC 9112, sections 2.2 and 5.2)."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines of a whole head. Raises LocalProtocolError, which h11 makes the peer's."""
        held = bytes(self)
        lines: list[bytearray] | None = super().maybe_extract_lines()
        if lines is not None and _LOOSE.search(held[: len(held) - len(self)]):
            raise h11.LocalProtocolError("a line of the head does not end in CR LF, or is folded")
        return lines


def protocol(settings: Settings) -> type[H11Protocol]:
    """Make Uvicorn's HTTP/1.1 with limits. Its connections are counted, and end when they dawdle.

    Together they are ``max_connections``, those of one address ``max_address_connections``, but for trusted
    proxies, which come for many. One more is told so and closed. Those that came through the machine itself,
    without an address, are the internal port's, and always served.
    """
    proxies = ProxyHeadersMiddleware(_nobody, settings.trusted_proxies).trusted_hosts
    addresses: Counter[str] = Counter()

    class PatientProtocol(H11Protocol):
        _network: str | None = None  # whose connection is counted
        _awaited: str | None = None  # what the clock runs for
        _timer: asyncio.TimerHandle | None = None
        _unread_bytes = 0

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.conn._receive_buffer = StrictLines()

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if self.client is not None:
                if len(self.connections) > settings.max_connections:  # itself among them
                    self._refuse(problems.CONNECTIONS_FULL, None)
                    return
                network = network_of(self.client[0])
                counted = self.client[0] not in proxies
                if counted and addresses[network] >= settings.max_address_connections:
                    limit = settings.max_address_connections
                    self._refuse(
                        problems.TOO_MANY_CONNECTIONS, f"{limit} connections of this address are open"
                    )
                    return
                self._network = network
                addresses[network] += 1
            self._time()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            if self._network is not None:
                addresses[self._network] -= 1
                if not addresses[self._network]:  # who has left is forgotten
                    del addresses[self._network]
                self._network = None
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._rest_is_unread():
                self._unread_bytes += len(data)
                if self._unread_bytes > settings.max_unread_bytes:
                    self.timeout_keep_alive_handler()
                    return
            super().data_received(data)

        def handle_events(self) -> None:
            super().handle_events()
            self._time()

        def on_response_complete(self) -> None:
            self._unread_bytes = 0
            super().on_response_complete()
            self._time()

        def send_400_response(self, msg: str) -> None:
            self._refuse(problems.BAD_REQUEST, "this is no HTTP/1.1 request, or its head is too large")

        def _refuse(self, row: Row, detail: str | None) -> None:
            """End the connection: with this problem, unless an answer has begun."""
            if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.close()
                return
            self.transport.write(_refusal(row, detail))
            self.transport.close()

        def _rest_is_unread(self) -> bool:
            """Tell whether the request was answered before its body had come, for which nobody waits now."""
            return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

        def _time(self) -> None:
            """Run the clock while a head is awaited, or the end of a body that nobody reads."""
            awaited = None
            if not self.transport.is_closing():
                if self.conn.their_state is h11.IDLE:
                    awaited = "head"
                elif self._rest_is_unread():
                    awaited = "rest"
            if awaited != self._awaited:
                self._stop_timer()
                self._awaited = awaited
                if awaited is not None:
                    self._timer = self.loop.call_later(settings.head_seconds, self.timeout_keep_alive_handler)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return PatientProtocol


@lru_cache(maxsize=16)
def _refusal(row: Row, detail: str | None) -> bytes:
    """Encode the problem for the wire, once: who opens a thousand connections costs no more."""
    answer = problems.response(row, ids.new_id("req"), detail=detail)  # no log names this id
    answer.headers["Connection"] = "close"
    head = h11.Response(status_code=answer.status_code, headers=answer.raw_headers)
    wire = h11.Connection(h11.SERVER)
    return b"".join(
        wire.send(part) or b"" for part in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage())
    )


async def _nobody(*_: Any) -> None:
    raise AssertionError("asked for its list of proxies only")

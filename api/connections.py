"""Connections that dawdle are closed: a request's head must arrive in time.

Uvicorn times the pause between two requests, not the arrival of one: a client that sends a byte a minute
would hold its connection for ever. Bodies are timed where they are read, in ``api.middleware``.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from core.settings import Settings

KEEP_ALIVE_SECONDS = 5


def limits(settings: Settings) -> dict[str, Any]:
    """Uvicorn's options that bound what connections may take. Its logs name no request."""
    return {
        "http": protocol(settings.head_seconds),
        "ws": "none",
        "h11_max_incomplete_event_size": settings.max_header_bytes,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "limit_concurrency": settings.max_connections,
        "proxy_headers": True,
        "forwarded_allow_ips": settings.trusted_proxies,
        "access_log": False,
        "log_config": None,
        "server_header": False,
    }


def protocol(head_seconds: float) -> type[H11Protocol]:
    """Uvicorn's HTTP/1.1, whose connections end when a head is not complete after ``head_seconds``."""

    class PatientProtocol(H11Protocol):
        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._time_head()

        def handle_events(self) -> None:
            super().handle_events()
            self._time_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _time_head(self) -> None:
            """The clock runs while a head is awaited, from its first moment on, and at no other time."""
            if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
                self._stop_timer()
            elif self._head_timer is None:
                self._head_timer = self.loop.call_later(head_seconds, self.timeout_keep_alive_handler)

        def _stop_timer(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return PatientProtocol

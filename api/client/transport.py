"""Requests with a key, retries where they are safe, and problems as exceptions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from api.client.errors import ProblemError, TransportError

RETRIES = 4
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 10.0
_SAFE = frozenset({"GET", "PUT", "DELETE"})
_AGAIN = frozenset({429, 502, 503, 504})


class Transport:
    """One connection pool to one service, as one key.

    A request is tried again after a lost connection or a 429, 502, 503 or 504, when repeating it cannot act
    twice: GET, PUT, DELETE, a POST with an ``Idempotency-Key``, and one that its caller calls repeatable.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout_seconds: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=base_url.rstrip("/") + "/v1",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "graphveil-client"},
            timeout=httpx.Timeout(timeout_seconds, connect=10.0),
            transport=transport,
        )

    def close(self) -> None:
        """Every connection is closed."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Callable[[], Iterator[bytes]] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        **options: Any,
    ) -> httpx.Response:
        """The answer, if it is a success or a 304; ProblemError or TransportError otherwise.

        ``body`` opens the content anew for each attempt, so that a large file streams and can be sent again.
        """
        repeatable = repeatable or method in _SAFE or "Idempotency-Key" in (headers or {})
        for attempt in range(RETRIES + 1):
            last = attempt == RETRIES or not repeatable
            try:
                answer = self._http.request(
                    method, path, headers=headers, content=body() if body else None, **options
                )
            except httpx.TransportError as error:
                if last:
                    raise TransportError(f"no answer from {self._http.base_url.host}: {error}") from error
                self._pause(attempt, None)
                continue
            if answer.status_code in _AGAIN and not last:
                self._pause(attempt, answer)
                continue
            return checked(answer)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        silence_seconds: float | None = None,
    ) -> Iterator[httpx.Response]:
        """The answer to a GET, its body still to be read. Redirects elsewhere are followed without the key.

        ``silence_seconds``: how long nothing at all may come before it counts as broken off.
        """
        limits: dict[str, Any] = {}
        if silence_seconds is not None:
            limits["timeout"] = httpx.Timeout(silence_seconds, connect=10.0)
        try:
            with self._http.stream(
                "GET", path, params=params, headers=headers, follow_redirects=True, **limits
            ) as answer:
                if answer.is_error:
                    answer.read()
                yield checked(answer)
        except httpx.TransportError as error:
            raise TransportError(f"the download broke off: {error}") from error

    def sleep(self, seconds: float) -> None:
        """Sleeps as long."""
        self._sleep(seconds)

    def pause(self, answer: httpx.Response, default_seconds: float) -> None:
        """Sleeps as long as the answer's ``Retry-After`` asks."""
        self._sleep(_retry_after(answer, default_seconds))

    def _pause(self, attempt: int, answer: httpx.Response | None) -> None:
        backoff = min(FIRST_PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS)
        self._sleep(backoff if answer is None else _retry_after(answer, backoff))


def _retry_after(answer: httpx.Response, default_seconds: float) -> float:
    asked = answer.headers.get("Retry-After", "")
    return min(float(asked), LONGEST_PAUSE_SECONDS) if asked.isdigit() else default_seconds


def checked(answer: httpx.Response) -> httpx.Response:
    """The answer, if it is a success or a 304; ProblemError otherwise."""
    if answer.is_success or answer.status_code == 304:
        return answer
    try:
        body = answer.json()
    except ValueError:
        body = {}  # a proxy in between, perhaps: the status is all there is
    raise ProblemError(answer.status_code, body if isinstance(body, dict) else {})

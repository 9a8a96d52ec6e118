"""Authenticated requests, safe retries, and problems as exceptions. Requests have a key."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import httpx
from pydantic import BaseModel
from typing_extensions import Self

from graphveil.errors import TransportError, WaitTimeout, problem

RETRIES = 4
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 10.0
POLL_SECONDS = 2.0
# These act once, however often they arrive: an answer that was lost may be of a request that was not.
_SAFE = frozenset({"GET", "PUT", "DELETE"})
_AGAIN = frozenset({429, 502, 503, 504})

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")
Item = TypeVar("Item", covariant=True)


class Page(Protocol[Item]):
    """One page of a listing, as the service answers it."""

    @property
    def items(self) -> Sequence[Item]: ...

    @property
    def next_cursor(self) -> str | None: ...

    @classmethod
    def model_validate(cls, obj: Any) -> Self: ...


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
        self.sleep = sleep
        self._http = httpx.Client(
            base_url=base_url.rstrip("/") + "/v1",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "graphveil-client"},
            timeout=httpx.Timeout(timeout_seconds, connect=10.0),
            transport=transport,
        )

    def close(self) -> None:
        """Close every connection."""
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
        """Send a request and return the answer.

        It is a success, or a 304. Raises ProblemError or TransportError.

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

    def read(self, model: type[Model], method: str, path: str, **options: Any) -> Model:
        """Send a request, and read the answer as the model. It is sent as :meth:`request` does."""
        return model.model_validate(self.request(method, path, **options).json())

    def pages(self, model: type[Page[Item]], path: str, **query: Any) -> Iterator[Item]:
        """Iterate over a listing, page by page. What is None in ``query`` is left out."""
        query = given(query)
        while True:
            page = model.model_validate(self.request("GET", path, params=query).json())
            yield from page.items
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor

    def poll(
        self,
        path: str,
        settled: Callable[[httpx.Response], Result | None],
        timeout_seconds: float | None,
        *,
        late: str | None = None,
        pause_seconds: float = POLL_SECONDS,
    ) -> Result:
        """Poll ``path`` until ``settled`` makes something of it.

        That is returned. WaitTimeout, which says what is ``late``, once the time is over.
        """
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            answer = self.request("GET", path)
            result = settled(answer)
            if result is not None:
                return result
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout(f"{late or f'{path} has not settled'} within {timeout_seconds} seconds")
            self.sleep(_retry_after(answer, pause_seconds))

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        silence_seconds: float | None = None,
    ) -> Iterator[httpx.Response]:
        """Open the streamed answer to a GET.

        Its body is still to be read. Redirects are followed without the key.

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

    def _pause(self, attempt: int, answer: httpx.Response | None) -> None:
        backoff = min(FIRST_PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS)
        self.sleep(backoff if answer is None else _retry_after(answer, backoff))


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is not None. They are the parts of a request that its caller gave."""
    return {name: value for name, value in values.items() if value is not None}


def once(idempotency_key: str | None) -> dict[str, str]:
    """Return headers with which a request acts once.

    It does however often it is sent; a fresh key for None.
    """
    return {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}


def _retry_after(answer: httpx.Response, default_seconds: float) -> float:
    # Bounded, and seconds only: a date or an hour, from a proxy say, would look like a call that hangs.
    asked = answer.headers.get("Retry-After", "")
    return min(float(asked), LONGEST_PAUSE_SECONDS) if asked.isdigit() else default_seconds


def checked(answer: httpx.Response) -> httpx.Response:
    """Return the answer if it is a success or a 304. Else raise :func:`graphveil.errors.problem`."""
    if answer.is_success or answer.status_code == 304:
        return answer
    try:
        body = answer.json()
    except ValueError:
        body = {}  # a proxy in between, perhaps: the status is all there is
    raise problem(answer.status_code, body if isinstance(body, dict) else {})

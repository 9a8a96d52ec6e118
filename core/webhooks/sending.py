"""One webhook over the network. It is resolved once, checked, connected where it was checked, bounded
throughout.

The name is resolved once; every address that it stands for must be allowed; the connection goes to one of
those very addresses, while TLS verifies the name. Nothing is looked up again, so that a name which answers
differently the second time gains nothing. No proxy is used, no redirect followed, no cookie kept.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

import httpcore

from core.errors import InvalidInput
from core.webhooks.addresses import Rules, Target, checked_url, may_connect
from core.webhooks.models import Trouble

MAX_TRIED = 3
MAX_PAUSE_SECONDS = 86_400
GONE = 410

Resolver = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True)
class Limits:
    """Limits of one exchange. They are seconds for the whole of it, from the first packet on; bytes of an
    answer that are read."""

    seconds: float
    answer_bytes: int


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt. It was received (``trouble`` None), or not, and why.

    ``pause_seconds``: how long the receiver asked to be left alone. ``content``: the answer as far as it was
    read, for whoever sent; it is recorded nowhere.
    """

    status: int | None = None
    trouble: Trouble | None = None
    pause_seconds: int = 0
    content: bytes = field(default=b"", repr=False, compare=False)


class _NotAllowedError(Exception):
    """The name stands for an address that must not be connected to."""


def resolve(host: str, port: int) -> list[str]:
    """Resolve the name to its addresses. OSError where it stands for none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    method: str = "POST",
    rules: Rules,
    limits: Limits,
    resolver: Resolver = resolve,
    context: ssl.SSLContext | None = None,
) -> Outcome:
    """Send the body to the address. Returned is what came of it; it never raises for what the other side
    does.

    ``context``: whom TLS trusts; the system's authorities by default.
    """
    try:
        target = checked_url(url, rules)
    except InvalidInput:
        return Outcome(
            trouble=Trouble.NOT_PUBLIC
        )  # the settings have become stricter since it was registered
    try:
        addresses = _allowed(target, rules, resolver)
    except _NotAllowedError:
        return Outcome(trouble=Trouble.NOT_PUBLIC)
    except OSError:
        return Outcome(trouble=Trouble.UNRESOLVED)
    try:
        return _sent(
            target, addresses, method, body, headers, limits, context or ssl.create_default_context()
        )
    except httpcore.TimeoutException:
        return Outcome(trouble=Trouble.TIMEOUT)
    except httpcore.ConnectError as error:
        tls = isinstance(error.__cause__, ssl.SSLError) or isinstance(error.__context__, ssl.SSLError)
        return Outcome(trouble=Trouble.TLS if tls else Trouble.UNREACHABLE)
    except (httpcore.NetworkError, httpcore.ProtocolError):
        return Outcome(trouble=Trouble.BROKEN)


def _allowed(target: Target, rules: Rules, resolver: Resolver) -> list[str]:
    """Resolve the name and check each address: one that is not allowed spoils them all."""
    found = resolver(target.host, target.port)
    if not found:
        raise OSError("the name stands for no address")
    for text in found:
        try:
            address = ip_address(text)
        except ValueError as error:
            raise _NotAllowedError from error
        if not may_connect(address, target, rules):
            raise _NotAllowedError
    return list(found)


def _sent(
    target: Target,
    addresses: Sequence[str],
    method: str,
    body: bytes,
    headers: Mapping[str, str],
    limits: Limits,
    context: ssl.SSLContext,
) -> Outcome:
    deadline = time.monotonic() + limits.seconds
    connection = httpcore.HTTPConnection(
        origin=httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port),
        ssl_context=context,
        network_backend=_Pinned(addresses, deadline),
    )
    sent = {**headers, "Host": target.authority, "Content-Length": str(len(body)), "Connection": "close"}
    with (
        connection,
        connection.stream(method, target.url, headers=list(sent.items()), content=body) as answer,
    ):
        content = bytearray()
        # The status is known by now: whether the rest of the answer arrives changes nothing of it.
        with contextlib.suppress(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
            _read(answer.iter_stream(), limits.answer_bytes, content)
        return replace(_outcome(answer), content=bytes(content))


def _read(chunks: Iterable[bytes], limit: int, content: bytearray) -> None:
    """Read the answer into ``content``, so that its sender sees it taken; not beyond the limit."""
    for chunk in chunks:
        content += chunk[: limit - len(content)]
        if len(content) >= limit:
            return


def _outcome(answer: httpcore.Response) -> Outcome:
    status = answer.status
    if 200 <= status < 300:
        return Outcome(status)
    if 300 <= status < 400:
        return Outcome(status, Trouble.REDIRECT)
    if status == GONE:
        return Outcome(status, Trouble.GONE)
    retry_after = next((value for name, value in answer.headers if name.lower() == b"retry-after"), b"")
    # In seconds alone: a date counts as no word, and so does a number of ten digits.
    pause = min(int(retry_after), MAX_PAUSE_SECONDS) if retry_after.isdigit() and len(retry_after) < 10 else 0
    return Outcome(status, Trouble.STATUS, pause)


class _Pinned(httpcore.NetworkBackend):
    """Connects to the given addresses, whatever the host is called, and to nothing else."""

    def __init__(self, addresses: Sequence[str], deadline: float) -> None:
        self._addresses, self._deadline = addresses, deadline
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failure: httpcore.ConnectError | None = None
        for address in self._addresses[:MAX_TRIED]:
            try:
                left = _left(self._deadline)
                return _Bounded(self._network.connect_tcp(address, port, timeout=left), self._deadline)
            except httpcore.ConnectError as error:
                failure = error
        raise failure or httpcore.ConnectError("the name stands for no address")


class _Bounded(httpcore.NetworkStream):
    """A connection on which everything together ends at the deadline: byte by byte is no way around it."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=_left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=_left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline)
        return _Bounded(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time for this delivery is over")
    return left

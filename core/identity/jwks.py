"""The signing keys of an OpenID Connect issuer. They are discovered, cached, fetched again when they must be.

PyJWT's ``PyJWKClient`` cannot take its place: known keys wait there for a fetch under way and are lost when a
fetch fails after their time, failed fetches are repeated at every call, and an answer may have any size.
Sources: OpenID Connect Discovery 1.0, section 4; RFC 7517 (JWK); RFC 8725, sections 3.1 and 3.5.
"""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from core.errors import IssuerUnavailable
from core.logging import get_logger
from core.settings import Settings

WELL_KNOWN = "/.well-known/openid-configuration"
RETRY_SECONDS = 5.0  # between tries of a service that has no keys yet
MAX_WAITERS = 8  # threads that may wait for a fetch of another; further callers are told to come again
MIN_RSA_BITS = 2048

# What each family of keys must be, and its public members: a private one that was published by mistake is
# never loaded.
_FAMILIES = {
    "RS": ("RSA", None, ("n", "e")),
    "PS": ("RSA", None, ("n", "e")),
    "ES256": ("EC", {"P-256"}, ("crv", "x", "y")),
    "ES384": ("EC", {"P-384"}, ("crv", "x", "y")),
    "ES512": ("EC", {"P-521"}, ("crv", "x", "y")),
    "EdDSA": ("OKP", {"Ed25519"}, ("crv", "x")),
}

log = get_logger(__name__)

Table = dict[tuple[str, str], PyJWK]


class SigningKeys:
    """The issuer's public keys, by key id and algorithm. Safe to share between threads.

    One thread fetches at a time, and no sooner than ``oidc_refetch_seconds`` after the last time, whatever
    tokens name. While it does, tokens of known keys are checked with the keys at hand. Keys that cannot be
    renewed are used for ``oidc_stale_seconds``, then no more.
    """

    def __init__(self, settings: Settings) -> None:
        if not is_secure(settings.oidc_issuer):
            raise ValueError("GRAPHVEIL_OIDC_ISSUER must be an https address (http on the loopback only)")
        self._settings = settings
        self._table: Table = {}
        self._names: frozenset[str] = frozenset()
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failing = False
        self._flight = threading.Lock()
        self._waiting = threading.BoundedSemaphore(MAX_WAITERS)

    def find(self, key_id: str, algorithm: str) -> PyJWK | None:
        """Find the key by id and algorithm. None when the issuer has none of them.

        Raises IssuerUnavailable when the issuer's keys cannot be had.
        """
        if key_id not in self._names or self._age() > self._settings.oidc_keys_seconds:
            self._refresh(key_id)
        if self._age() > self._settings.oidc_stale_seconds or (self._failing and key_id not in self._names):
            raise IssuerUnavailable("the token's issuer cannot be reached")
        return self._table.get((key_id, algorithm))

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else time.monotonic() - self._fetched_at

    def _refresh(self, key_id: str) -> None:
        """Fetch the keys, in this thread or by another's fetch, if it is time to."""
        # The key at hand will do: nobody waits for a fetch that may only renew it.
        if key_id in self._names and self._age() <= self._settings.oidc_stale_seconds:
            taken = self._flight.acquire(blocking=False)
        else:
            taken = self._wait()
        if not taken:
            return  # another thread is fetching: the keys at hand will do
        try:
            if self._due(key_id):
                self._fetch()
        finally:
            self._flight.release()

    def _wait(self) -> bool:
        if not self._waiting.acquire(blocking=False):
            raise IssuerUnavailable("the issuer's keys are being fetched")
        try:
            # Twice the time of one document: a fetch reads two, the issuer's own and that of its keys.
            return self._flight.acquire(timeout=2 * self._settings.oidc_timeout_seconds)
        finally:
            self._waiting.release()

    def _due(self, key_id: str) -> bool:
        if key_id in self._names and self._age() <= self._settings.oidc_keys_seconds:
            return False
        pause = self._settings.oidc_refetch_seconds
        # Without any keys nobody can sign in: tried again sooner.
        if not self._table:
            pause = min(pause, RETRY_SECONDS)
        return self._tried_at is None or time.monotonic() - self._tried_at >= pause

    def _fetch(self) -> None:
        # The keys' age counts from here: one may be withdrawn while they are fetched.
        started = time.monotonic()
        issuer = self._settings.oidc_issuer
        try:
            document = read_document(self._settings, issuer.rstrip("/") + WELL_KNOWN)
            if document.get("issuer") != issuer:
                raise ValueError("the document names another issuer")
            address = document.get("jwks_uri")
            if not isinstance(address, str) or not is_secure(address):
                raise ValueError("the document names no secure address of keys")
            table = public_keys(read_document(self._settings, address), self._settings.oidc_algorithms)
            if not table:
                raise ValueError("the issuer has no key that is accepted")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            self._failing = True
            log.warning("issuer_keys_not_fetched", error=type(error).__name__)
            return
        finally:
            self._tried_at = time.monotonic()
        self._table, self._names = table, frozenset(key_id for key_id, _ in table)
        self._fetched_at, self._failing = started, False
        log.info("issuer_keys_fetched", keys=len(self._names))


def read_document(
    settings: Settings,
    address: str,
    *,
    form: Mapping[str, str] | None = None,
    credentials: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """Read a JSON object from the issuer. It is read whole, in time, and not over the limit; no redirect is
    followed.

    With ``form`` it is asked by POST, under HTTP Basic ``credentials`` if there are any. Raises ValueError,
    httpx.HTTPError, httpx.InvalidURL.
    """
    seconds = settings.oidc_timeout_seconds
    deadline = time.monotonic() + seconds
    content = bytearray()
    # A proxy or a private authority that the host's environment names is used, but not on the loopback.
    proxied = not is_loopback(address)
    with (
        httpx.Client(timeout=seconds, follow_redirects=False, trust_env=proxied) as client,
        client.stream(
            "GET" if form is None else "POST",
            address,
            headers={"Accept": "application/json"},
            data=form,
            auth=credentials,
        ) as answer,
    ):
        if answer.status_code != 200:
            raise ValueError(f"status {answer.status_code}")
        for piece in answer.iter_bytes():
            content += piece
            if len(content) > settings.oidc_max_document_bytes or time.monotonic() > deadline:
                raise ValueError("the document is too large or too slow")
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def public_keys(document: Mapping[str, Any], algorithms: Iterable[str]) -> Table:
    """Load the fitting signing keys of a JWK set. They fit the algorithms; any other key is left out.

    A key belongs to the algorithms of its own type and curve alone, and to the one that it names, if any: so
    no token can have its signature checked by other means than its key is for.
    """
    keys = document.get("keys")
    table: Table = {}
    for key in keys if isinstance(keys, list) else []:
        if not isinstance(key, dict) or not isinstance(key.get("kid"), str) or not _signs(key):
            continue
        for algorithm in algorithms:
            loaded = _load(key, algorithm)
            if loaded is not None:
                table.setdefault((key["kid"], algorithm), loaded)
    return table


def is_secure(address: str) -> bool:
    """Tell whether the address is secure. It is https, or http on this machine, and names a host and no
    password."""
    try:
        parts = urlsplit(address)
        host, user = parts.hostname, parts.username
    except ValueError:
        return False
    if not host or user is not None or parts.fragment or not address.isprintable():
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(address))


def is_loopback(address: str) -> bool:
    """Tell whether the address is of this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _signs(key: Mapping[str, Any]) -> bool:
    # Either member may be absent, which limits nothing (RFC 7517, sections 4.2 and 4.3).
    operations = key.get("key_ops", ["verify"])
    return key.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations


def _load(key: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    kind, curves, members = _FAMILIES.get(algorithm) or _FAMILIES[algorithm[:2]]
    if key.get("kty") != kind or key.get("alg", algorithm) != algorithm:
        return None
    if curves is not None and key.get("crv") not in curves:
        return None
    try:
        loaded = PyJWK({"kty": kind, **{name: key[name] for name in members}}, algorithm)
    except (PyJWTError, KeyError, ValueError, TypeError):
        return None
    if kind == "RSA" and loaded.key.key_size < MIN_RSA_BITS:
        return None
    return loaded

"""Signing in at an OpenID Connect issuer. It is the code flow with PKCE, as far as the console takes part in
it.

Sources: OpenID Connect Core 1.0, section 3.1; RFC 7636 (PKCE); RFC 9700 (best current practice).
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from core.errors import IssuerUnavailable, Unauthenticated
from core.identity.jwks import RETRY_SECONDS, WELL_KNOWN, is_secure, read_document
from core.identity.oidc import Issuer
from core.identity.service import REFUSED, Principal
from core.logging import get_logger
from core.settings import Settings

UNREACHABLE = "the issuer cannot be reached"

log = get_logger(__name__)


@dataclass(frozen=True)
class Attempt:
    """One sign-in under way, which its browser keeps. Each value is 256 random bits."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def fresh(cls) -> Attempt:
        """Make a new attempt from the operating system's randomness."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))

    @property
    def challenge(self) -> str:
        """What the issuer is told of the verifier (RFC 7636, S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        # Without padding (RFC 7636, appendix A).
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class CodeFlow:
    """The console's client at the issuer that the settings name. Safe to share between threads."""

    def __init__(self, settings: Settings, issuer: Issuer) -> None:
        self._settings = settings
        self._issuer = issuer
        self._document: Mapping[str, Any] = {}
        self._read_at = self._failed_at = float("-inf")

    def address(self, attempt: Attempt, redirect_to: str) -> str:
        """Make the address at the issuer where somebody signs in. Raises IssuerUnavailable."""
        at = self._endpoint("authorization_endpoint")
        query = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": redirect_to,
            "scope": self._settings.oidc_scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        # An issuer's address may have a query of its own, which stays (RFC 6749, section 3.1).
        return f"{at}{'&' if urlsplit(at).query else '?'}{urlencode(query)}"

    def principal(self, attempt: Attempt, code: str, redirect_to: str) -> Principal:
        """Change the code for tokens and check them. Raises Unauthenticated, IssuerUnavailable."""
        settings = self._settings
        secret = settings.oidc_client_secret.get_secret_value()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_to,
            "client_id": settings.oidc_client_id,
            "code_verifier": attempt.verifier,
        }
        at = self._endpoint("token_endpoint")
        try:
            given = read_document(
                settings, at, form=form, credentials=(settings.oidc_client_id, secret) if secret else None
            )
        except httpx.HTTPError as error:
            log.warning("issuer_code_not_taken", error=type(error).__name__)
            # Not chained: httpx's error holds its request, with the code and the client's secret.
            raise IssuerUnavailable(UNREACHABLE) from None
        except (httpx.InvalidURL, ValueError, RecursionError) as error:
            log.info("code_refused", error=type(error).__name__)
            raise Unauthenticated(REFUSED) from None
        tokens = (given.get("id_token"), given.get("access_token", ""))
        if not all(isinstance(token, str) for token in tokens):
            raise Unauthenticated(REFUSED)
        return self._issuer.signed_in(str(tokens[0]), str(tokens[1]), attempt.nonce)

    def _endpoint(self, name: str) -> str:
        """Find the address that the issuer's discovery document names, read anew once it is old; after a
        failure no sooner than RETRY_SECONDS later, so that sign-ins do not wait for it one by one."""
        if time.monotonic() - self._read_at > self._settings.oidc_keys_seconds:
            if time.monotonic() - self._failed_at < RETRY_SECONDS:
                raise IssuerUnavailable(UNREACHABLE)  # it has just been asked
            try:
                self._document, self._read_at = self._discovered(), time.monotonic()
            except IssuerUnavailable:
                self._failed_at = time.monotonic()
                raise
        found = self._document.get(name)
        if not isinstance(found, str) or not is_secure(found):
            raise IssuerUnavailable(f"the issuer names no secure {name}")
        return found

    def _discovered(self) -> Mapping[str, Any]:
        """Fetch the issuer's discovery document. Raises IssuerUnavailable."""
        issuer = self._settings.oidc_issuer
        try:
            document = read_document(self._settings, issuer.rstrip("/") + WELL_KNOWN)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            log.warning("issuer_not_discovered", error=type(error).__name__)
            raise IssuerUnavailable(UNREACHABLE) from None
        # OpenID Connect Discovery 1.0, section 4.3: else one issuer could stand in for another.
        if document.get("issuer") != issuer:
            raise IssuerUnavailable("the issuer's document names another issuer")
        return document

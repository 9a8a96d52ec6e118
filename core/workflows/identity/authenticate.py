"""Who calls: a key or a token becomes a principal."""

from __future__ import annotations

import time

from core import clock
from core.errors import Unauthenticated
from core.identity import service as identity
from core.identity.cache import PrincipalCache
from core.identity.code_flow import CodeFlow
from core.identity.oidc import Issuer
from core.identity.service import REFUSED, Principal
from core.settings import Settings
from core.workflows.common.context import Services


class Authenticator:
    """Checks credentials. One per process; safe to share between threads.

    Raises ValueError when the settings name an issuer that cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self._remembered = PrincipalCache(
            seconds=settings.key_cache_seconds, entries=settings.key_cache_entries
        )
        self._issuer = Issuer(settings) if settings.oidc_issuer else None
        self.code_flow = (
            CodeFlow(settings, self._issuer) if self._issuer is not None and settings.oidc_client_id else None
        )
        """How people sign in at the issuer; None where the settings name no client."""

    def remembered(self, token: str) -> Principal | None:
        """Return a principal checked a moment ago. Its key or token was checked in the last
        ``key_cache_seconds``; nobody is asked."""
        return self._remembered.get(identity.token_hash(token))

    def principal(self, services: Services, token: str) -> Principal:
        """Return who calls. Unauthenticated, with one text for every cause; IssuerUnavailable.

        What is remembered costs nothing; otherwise a key costs one query, and a token one signature.
        """
        known = self.remembered(token)
        if known is not None:
            return known
        # Before the check: a revocation that comes while it is made still forgets its answer.
        asked_at = time.monotonic()
        principal, left = self._checked(services, token)
        self._remembered.put(identity.token_hash(token), principal, checked_at=asked_at, left=left)
        return principal

    def forget(self) -> None:
        """Forget every key and token, as a key was revoked. Its next use is checked in the database."""
        self._remembered.forget()

    def _checked(self, services: Services, token: str) -> tuple[Principal, float | None]:
        """Find the principal, and the seconds for which that can be true at most."""
        if identity.is_key(token):
            with services.db.transaction() as session:
                return identity.look_up(session, token)
        if self._issuer is None:
            raise Unauthenticated(REFUSED)
        principal = self._issuer.principal(token)
        assert principal.expires_at is not None
        return principal, (principal.expires_at - clock.now()).total_seconds()

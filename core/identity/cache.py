"""Principals of recently checked keys and tokens. A busy caller costs no query."""

from __future__ import annotations

import math
import threading
import time

from core.identity.service import Principal


class PrincipalCache:
    """Remembers a principal for ``seconds``. It is known by the hash of the token; never the token.

    Nothing is remembered past its expiry, nor is a token that was refused, nor one that was checked before
    all were forgotten.
    """

    def __init__(self, *, seconds: float, entries: int) -> None:
        self._seconds = seconds
        self._entries = entries
        self._known: dict[bytes, tuple[float, Principal]] = {}
        self._forgotten_at = -math.inf
        self._lock = threading.Lock()

    def get(self, key_hash: bytes) -> Principal | None:
        """Return the principal, if the token was checked lately."""
        # Without the lock: one look into a dict whose entries are replaced and never changed.
        found = self._known.get(key_hash)
        return found[1] if found is not None and time.monotonic() < found[0] else None

    def put(self, key_hash: bytes, principal: Principal, *, checked_at: float, left: float | None) -> None:
        """Remember the principal from ``checked_at`` (monotonic), for ``left`` seconds at most."""
        deadline = checked_at + (self._seconds if left is None else min(self._seconds, left))
        with self._lock:
            # A check that began before all was forgotten may have read what was revoked since.
            if checked_at <= self._forgotten_at:
                return
            # Taken out and put in again, so that the order is that of the checks.
            self._known.pop(key_hash, None)
            while len(self._known) >= self._entries:
                del self._known[next(iter(self._known))]  # the one that was checked longest ago
            self._known[key_hash] = (deadline, principal)

    def forget(self) -> None:
        """Have the next use of every key checked in the database."""
        with self._lock:
            self._forgotten_at = time.monotonic()
            self._known.clear()

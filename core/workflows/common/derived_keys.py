"""Keys that the service derives from its master key. There is one for each purpose."""

from __future__ import annotations

from functools import lru_cache

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.datasets import vault
from core.settings import Settings

KEY_BYTES = 32
CURSORS, WEBHOOK_SECRETS, SIGN_INS = "page cursors v1", "webhook secrets v1", "console sign-ins v1"
CATALOGUE_TOKENS = "catalogue tokens v1"


def derived_key(settings: Settings, purpose: str) -> bytes:
    """Derive a key from the master key and the purpose. It has 32 bytes (HKDF-SHA256, RFC 5869), and leads to
    neither.

    InvalidInput where the master key is missing or malformed.
    """
    return _derived(vault.check_master_key(settings.master_key), purpose)


@lru_cache(maxsize=8)
def _derived(master_key: bytes, purpose: str) -> bytes:
    info = b"graphveil " + purpose.encode()
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(master_key)

"""Keys that are derived from the master key, one for each purpose: none tells anything about another.

Source: HKDF, RFC 5869.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretStr

from core.datasets.vault import check_master_key
from core.settings import Settings

CURSORS = "cursors"
KEY_BYTES = 32


def derived_key(settings: Settings, label: str) -> bytes:
    """The 32 bytes of the purpose that ``label`` names; the same in every process of one service.

    InvalidInput without a master key.
    """
    return _derived(settings.master_key, label)


@lru_cache(maxsize=16)
def _derived(master_key: SecretStr, label: str) -> bytes:
    info = b"graphveil/" + label.encode()
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(
        check_master_key(master_key)
    )

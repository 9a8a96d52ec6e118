"""The key that signs evidence packs. It is made from the one that signs heads, and certified by it for some
days.

Whoever hands packs out (the api) holds the made key alone: from it nobody finds the other, and its word ends
with its certificate.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from datetime import date, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.checks import signed_heads
from graphveil.evidence.signatures import PACK_PURPOSE, Certificate

PURPOSE = b"graphveil evidence key"
VALID_DAYS = 90


def seed_of(head_seed: str) -> str:
    """Make the seed of the key for packs, hex. It is HMAC-SHA-256 of its purpose under the heads' seed."""
    signed_heads.signing_key(head_seed)  # InvalidInput for what is no seed
    # One way, under a purpose of its own: who holds this seed learns nothing of the heads'.
    return hmac.digest(bytes.fromhex(head_seed), PURPOSE, hashlib.sha256).hex()


def public_key_of(seed: str) -> str:
    """Return the public half of a seed, hex."""
    return signed_heads.key_text(signed_heads.signing_key(seed).public_key())


def certified(issuer: Ed25519PrivateKey, public_key: str, today: date) -> Certificate:
    """Give the issuer's word for the key. It holds from today on, for ``VALID_DAYS`` days."""
    bare = Certificate(
        issuer=signed_heads.key_text(issuer.public_key()),
        public_key=public_key,
        valid_from=today.isoformat(),
        valid_until=(today + timedelta(days=VALID_DAYS)).isoformat(),
        signature="",
    )
    return replace(bare, signature=issuer.sign(bare.payload()).hex())


def sign(seed: str, manifest: bytes) -> str:
    """Sign a pack's manifest; hex."""
    return signed_heads.signing_key(seed).sign(PACK_PURPOSE + manifest).hex()

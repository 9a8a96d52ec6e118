"""The ledger's heads as a signed document. It says which accounts there were, and how far each had come.

Ed25519 (RFC 8032) over the canonical JSON of everything but the signature. A document names the digest of the
one before it, so that a kept one vouches for all that came earlier.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from core.errors import InvalidInput
from graphveil.evidence.signatures import canonical

VERSION = 1
SEED_BYTES = KEY_BYTES = 32


@dataclass(frozen=True)
class Head:
    """One account's head. It has how many entries there were, the hash of the last one (hex), and its
    capacity."""

    account_id: str
    sequence: int
    head: str
    capacity_nano_epsilon: int
    capacity_delta_atto: int


@dataclass(frozen=True)
class Previous:
    """The document before this one."""

    key: str
    sha256: str


@dataclass(frozen=True)
class Heads:
    """All accounts at one moment. ``taken_at`` is PostgreSQL's time, ISO 8601."""

    taken_at: str
    accounts: tuple[Head, ...]
    previous: Previous | None
    key_id: str


def signing_key(seed: str) -> Ed25519PrivateKey:
    """Make the key of a seed in hex. InvalidInput unless it has 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(_bytes(seed, SEED_BYTES, "head_signing_key"))


def public_key(text: str) -> Ed25519PublicKey:
    """Read a public key from hex. InvalidInput unless it has 32 bytes."""
    return Ed25519PublicKey.from_public_bytes(_bytes(text, KEY_BYTES, "head_public_keys"))


def key_text(key: Ed25519PublicKey) -> str:
    """Write a public key in hex."""
    return key.public_bytes_raw().hex()


def key_id(key: Ed25519PublicKey) -> str:
    """Return a short name of a public key. It is the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def signed(
    key: Ed25519PrivateKey, taken_at: str, accounts: Iterable[Head], previous: Previous | None
) -> bytes:
    """Sign the document. O(accounts), about 200 bytes for each."""
    heads = Heads(taken_at, tuple(accounts), previous, key_id(key.public_key()))
    plain = {"version": VERSION, "count": len(heads.accounts), **asdict(heads)}
    return canonical({**plain, "signature": key.sign(canonical(plain)).hex()})


def opened(document: bytes, trusted: Mapping[str, Ed25519PublicKey]) -> Heads:
    """Read a signed document. One of the trusted keys (by id) has signed it; InvalidInput otherwise."""
    try:
        plain = json.loads(document)
        signature = bytes.fromhex(plain.pop("signature"))
        # The document names its key, but only one that the reader trusts already counts.
        key = trusted.get(plain["key_id"])
        if key is None:
            raise InvalidInput(f"the heads are signed by the key {plain['key_id']}, which is not trusted")
        key.verify(signature, canonical(plain))
        heads = _heads(plain)
    except InvalidSignature as error:
        raise InvalidInput("the signature of the heads does not hold") from error
    # A hostile document may be anything, nested without end too.
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput("this is no document of signed heads") from error
    if plain["version"] != VERSION or plain["count"] != len(heads.accounts):
        raise InvalidInput("this is no document of signed heads of this version")
    return heads


def _heads(plain: dict[str, Any]) -> Heads:
    previous = None if plain["previous"] is None else Previous(**plain["previous"])
    return Heads(
        plain["taken_at"], tuple(Head(**row) for row in plain["accounts"]), previous, plain["key_id"]
    )


def _bytes(text: str, size: int, field: str) -> bytes:
    try:
        raw = bytes.fromhex(text)
    except ValueError as error:
        raise InvalidInput(f"{size} bytes in hex are needed", field=field) from error
    if len(raw) != size:
        raise InvalidInput(f"{size} bytes in hex are needed", field=field)
    return raw

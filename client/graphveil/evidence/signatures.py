"""A pack's signatures: who signed it.

The key that signs the ledger's heads certifies another, which signs packs. Ed25519 (RFC 8032). The
certificate names the second key and the days on which it may sign; it is signed by the first, whose public
half is what a reader keeps. So the process that makes packs never holds the first.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from graphveil.errors import ClientError, EvidenceRefused

PACK_PURPOSE = b"graphveil evidence pack 1\n"
KEY_PURPOSE = b"graphveil evidence key 1\n"
"""What is signed begins with what it is for, so that no signature serves another purpose."""

SIGNATURE = "signature.json"
MANIFEST = "manifest.json"
VERSION = 1

_KEY, _SIGNED = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{128}")


@dataclass(frozen=True)
class Certificate:
    """A certificate of a pack's signing key.

    It is the word of ``issuer`` that ``public_key`` may sign packs on these days, both included.
    """

    issuer: str
    public_key: str
    valid_from: str
    valid_until: str
    signature: str

    def payload(self) -> bytes:
        """Return the bytes that the issuer signs."""
        told = {name: value for name, value in asdict(self).items() if name != "signature"}
        return KEY_PURPOSE + canonical(told)


def canonical(value: Any) -> bytes:
    """Write JSON canonically, for hashes and signatures."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def key_id(public_key: str) -> str:
    """Return a public key's short name. It is the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(bytes.fromhex(public_key)).hexdigest()[:16]


def checked_key(text: str) -> str:
    """Return a public key's hex, lower case. ClientError where it is none."""
    key = text.strip().lower()
    if not _KEY.fullmatch(key):
        raise ClientError("a public key is 64 hex digits; GET /ledger/public-keys tells it")
    return key


def certificate_of(value: Any) -> Certificate:
    """Read a certificate; EvidenceRefused for anything else."""
    try:
        found = Certificate(**value)
        whole = all(map(_KEY.fullmatch, (found.issuer, found.public_key)))
        if not whole or not _SIGNED.fullmatch(found.signature):
            raise ValueError
        for day in (found.valid_from, found.valid_until):
            if date.fromisoformat(day).isoformat() != day:
                raise ValueError
    except (TypeError, ValueError) as error:
        raise EvidenceRefused(SIGNATURE, "it holds no certificate of a key") from error
    return found


def signature_file(certificate: Certificate, signature: str) -> bytes:
    """Write the member that holds the signature of the manifest."""
    told = {"version": VERSION, "certificate": asdict(certificate), "signature": signature}
    return canonical(told) + b"\n"


def check(manifest: bytes, signature: bytes, trusted: Collection[str]) -> Certificate:
    """Return the certificate that vouches for the manifest.

    EvidenceRefused unless a trusted key answers for it.

    ``trusted``: public keys in hex. With none, whoever made the pack answers for it, and nobody for them.
    Whether the key might sign on the day of the pack is :func:`check_day`'s.
    """
    try:
        told = json.loads(signature)
        certificate = certificate_of(told["certificate"])
        signed = told["signature"]
        if not _SIGNED.fullmatch(signed) or signature_file(certificate, signed) != signature:
            raise ValueError
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise EvidenceRefused(SIGNATURE, "it is no signature of a pack, or was changed") from error
    if trusted and certificate.issuer not in trusted:
        known = ", ".join(sorted(map(key_id, trusted)))
        raise EvidenceRefused(
            SIGNATURE,
            f"the pack is signed under the key {key_id(certificate.issuer)}, and you trust {known}: it is "
            "another service's, or was made before a key was replaced; name the former key too, if you "
            "trust it",
        )
    if not holds(certificate.issuer, certificate.signature, certificate.payload()):
        raise EvidenceRefused(SIGNATURE, "the certificate was changed: its signature does not hold")
    if not holds(certificate.public_key, signed, PACK_PURPOSE + manifest):
        raise EvidenceRefused(MANIFEST, "it was changed, or the signature was: the signature does not hold")
    return certificate


def check_day(certificate: Certificate, made_on: str) -> None:
    """Check that the key might sign on that day. EvidenceRefused otherwise."""
    if made_on > certificate.valid_until:
        raise EvidenceRefused(
            SIGNATURE, f"its key had expired: it might sign until {certificate.valid_until}, not on {made_on}"
        )
    if made_on < certificate.valid_from:
        raise EvidenceRefused(
            SIGNATURE, f"its key might sign from {certificate.valid_from} on only, not on {made_on}"
        )


def holds(public_key: str, signature: str, payload: bytes) -> bool:
    """Tell whether the key has signed those bytes. ClientError where no library can say."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise ClientError("signatures are verified by: pip install 'graphveil[evidence]'") from error
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(
            bytes.fromhex(signature), payload
        )
    except InvalidSignature:
        return False
    return True

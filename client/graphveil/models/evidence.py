"""Public keys of evidence packs and ledger heads. They answer for these."""

from __future__ import annotations

from pydantic import Field

from graphveil.models.base import Answer


class PublicKey(Answer):
    """One public key, Ed25519."""

    key_id: str = Field(description="The first 16 hex digits of its SHA-256.", examples=["9f3c2a7be1d04456"])
    public_key: str = Field(
        description="32 bytes as hex: keep it where the packs are not.",
        examples=["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
    )


class Certified(Answer):
    """The key that signs packs at present: the word of the key that signs heads, and its days."""

    key_id: str
    issuer_id: str = Field(description="The key that certified it: one of `items`.")
    valid_from: str = Field(examples=["2026-11-27"])
    valid_until: str = Field(examples=["2027-02-25"])


class PublicKeys(Answer):
    """Keys that this service signs, or once signed, heads and certificates with."""

    items: list[PublicKey] = Field(description="Name one to `graphveil verify-evidence --key`.")
    evidence: Certified | None = Field(
        description="Null while no key for packs is certified; then no pack can be had."
    )

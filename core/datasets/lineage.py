"""Which account a content draws on. It is its first one, whatever name it is uploaded under.

Otherwise a curator could upload one graph twice and spend its budget twice. The fingerprint that recognises a
content is keyed: it cannot be computed, so not guessed, outside the service.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass


@dataclass(frozen=True)
class Terms:
    """What two accounts must share. Only then can one dataset move between them."""

    account_id: str
    domain: str
    unit: str
    window: int | None
    filter: str
    public: bool
    grid: str | None = None
    apart: bool = False


def keyed_fingerprint(key: bytes, *, tenant: str, content: str) -> str:
    """Compute the tenant's fingerprint of a content. It is HMAC-SHA256, hex, from its canonical digest."""
    # The separator keeps tenant and content apart: no two pairs have one text.
    return hmac.new(key, f"{tenant}\0{content}".encode(), hashlib.sha256).hexdigest()


def child_key(key: bytes) -> bytes:
    """Derive the key of a child's digest. A child process digests a canonical graph under it; it says nothing
    about ``key``."""
    return hmac.new(key, b"graphveil canonical graph digest", hashlib.sha256).digest()


def refusal(dataset: Terms, owner: Terms, *, settled: bool) -> str | None:
    """Say why the dataset cannot draw on the content's account. That owns its new content; None where it
    does, or can.

    ``settled``: the dataset already has a ready version, so its account is settled for good.
    """
    if owner.account_id == dataset.account_id:
        return None
    known = f"this content already belongs to the protection domain {owner.domain!r}"
    mend = f"register a dataset under the protection domain {owner.domain!r}"
    if settled:
        return f"{known}, and this dataset draws on {dataset.domain!r}; {mend} for it"
    differ = [
        f"{name} {_shown(theirs)} instead of {_shown(ours)}"
        for name, ours, theirs in (
            ("unit", dataset.unit, owner.unit),
            ("window", dataset.window, owner.window),
            ("filter", dataset.filter, owner.filter),
            ("public", dataset.public, owner.public),
            ("time grid", dataset.grid, owner.grid),
            ("records apart", dataset.apart, owner.apart),
        )
        if ours != theirs
    ]
    if differ:
        return f"{known}, whose terms differ ({', '.join(differ)}); {mend}, on its terms"
    return None


def _shown(value: object) -> str:
    return "none" if value is None else str(value).lower()

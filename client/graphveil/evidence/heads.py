"""Comparison of a pack with separately kept signed heads.

They are of the ledger, kept off the service's machine.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from graphveil.errors import ClientError, EvidenceRefused
from graphveil.evidence import signatures

PLACE = "heads"


def compare(
    document: bytes, trusted: Collection[str], charge: Mapping[str, Any], ledger: Mapping[str, Any] | None
) -> tuple[str, bool]:
    """Compare the pack's chain with the document.

    Returned are how they agree, and whether they could be compared. EvidenceRefused where they contradict one
    another, or where no trusted key has signed the document.
    """
    told = _opened(document, trusted)
    kept = next((each for each in told["accounts"] if each["account_id"] == charge["account_id"]), None)
    when = told["taken_at"]
    if kept is None:
        return f"The heads of {when}: they are older than the account.", False
    known = {each["sequence"]: each["hash"] for each in (ledger or {}).get("entries", ())}
    known[charge["sequence"]] = charge["hash"]
    known[charge["head"]["sequence"]] = charge["head"]["hash"]
    found = known.get(kept["sequence"])
    if found is None:
        later = kept["sequence"] > charge["head"]["sequence"]
        where = "later than the pack's head" if later else "before its part of the chain"
        return f"The heads of {when}: what they tell of the account is {where}.", False
    if found != kept["head"]:
        raise EvidenceRefused(
            PLACE, f"entry {kept['sequence']} is another in the heads that were signed at {when}"
        )
    return f"The chain agrees with the heads that were signed at {when}.", True


def _opened(document: bytes, trusted: Collection[str]) -> dict[str, Any]:
    if not trusted:
        raise ClientError("signed heads are compared under a key that you trust: name it with --key")
    told: dict[str, Any] = json.loads(document)
    signature = told.pop("signature")
    key = next((each for each in trusted if signatures.key_id(each) == told["key_id"]), None)
    if key is None:
        raise EvidenceRefused(PLACE, f"they are signed by the key {told['key_id']}, which you do not trust")
    if not signatures.holds(key, signature, signatures.canonical(told)):
        raise EvidenceRefused(PLACE, "the signature of the heads does not hold")
    return told

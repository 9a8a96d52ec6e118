"""The ledger's part of a pack, a hash chain.

Its entries go from the reservation to the head, each with the hash before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from graphveil.errors import EvidenceRefused
from graphveil.evidence.signatures import canonical

CHARGE, LEDGER = "charge.json", "ledger.json"


def entry_hash(entry: Mapping[str, Any]) -> str:
    """Compute the hash of an entry, hex. It is of the canonical JSON of every column but ``hash`` itself."""
    return hashlib.sha256(canonical({k: v for k, v in entry.items() if k != "hash"})).hexdigest()


def check(charge: Mapping[str, Any], ledger: Mapping[str, Any]) -> int:
    """Count the entries of a valid chain with the charge.

    It is whole and holds the charge; EvidenceRefused for any other. The first is the reservation, the last
    the head that the manifest signs.
    """
    entries = ledger["entries"]
    before = None
    for entry in entries:
        place = f"{LEDGER}, entry {entry['sequence']}"
        if entry_hash(entry) != entry["hash"]:
            raise EvidenceRefused(place, "it does not have the hash that it names")
        if entry["account_id"] != charge["account_id"]:
            raise EvidenceRefused(place, "it is of another account")
        if before is not None and (entry["previous_hash"], entry["sequence"]) != (
            before["hash"],
            before["sequence"] + 1,
        ):
            raise EvidenceRefused(place, f"it does not follow entry {before['sequence']}")
        before = entry
    head = charge["head"]
    if before is None or (before["sequence"], before["hash"]) != (head["sequence"], head["hash"]):
        raise EvidenceRefused(LEDGER, "the chain does not end at the head that is signed")
    _check_charge(charge, entries)
    return len(entries)


def _check_charge(charge: Mapping[str, Any], entries: list[Mapping[str, Any]]) -> None:
    """Returns where the chain holds reservation and charge as ``charge.json`` tells them."""
    reservation = next(_of_kind(entries, charge, "reserve"), None)
    paid = next(_of_kind(entries, charge, "charge"), None)
    if reservation is None or paid is None:
        raise EvidenceRefused(LEDGER, "the chain lacks the reservation or the charge")
    place = f"{LEDGER}, entry {paid['sequence']}"
    if (paid["sequence"], paid["hash"]) != (charge["sequence"], charge["hash"]):
        raise EvidenceRefused(place, f"it is not the charge that {CHARGE} names")
    if paid["amounts"] != charge["amounts"] or reservation["amounts"] != charge["amounts"]:
        raise EvidenceRefused(place, f"its amounts are not those that {CHARGE} states")
    told = charge["digests"]
    if any(paid["digests"].get(name) != digest for name, digest in told.items()):
        raise EvidenceRefused(place, f"it names other files than {CHARGE}")


def _of_kind(
    entries: list[Mapping[str, Any]], charge: Mapping[str, Any], kind: str
) -> Iterator[Mapping[str, Any]]:
    wanted = (kind, charge["reservation_id"], charge["job_id"])
    return (each for each in entries if (each["kind"], each["reservation_id"], each["job_id"]) == wanted)

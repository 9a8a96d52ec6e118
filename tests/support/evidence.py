"""A whole evidence pack without a service: small, signed by keys of its own, and made anew with changes."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from datetime import date
from typing import Any

from core.checks import evidence_keys, signed_heads
from graphveil.evidence.archive import packed
from graphveil.evidence.chain import entry_hash
from graphveil.evidence.composition import plan_digest
from graphveil.evidence.signatures import MANIFEST, SIGNATURE, canonical, signature_file
from graphveil.evidence.verify import EVERY, KIND, VERSION

SEED, OTHER_SEED = "1f" * 32, "2e" * 32
DAY = date(2026, 11, 27)
Change = Callable[[dict[str, Any]], None]

PLAN: dict[str, Any] = {
    "method": "dcsbm",
    "unit": "edge",
    "window": None,
    "steps": 1,
    "delta_atto": 0,
    "first_step": 0,
    "allotments": [
        {
            "edge_type": "mail",
            "step": None,
            "event": {"kind": "pure", "nano_epsilon": 600_000_000, "mechanism": "laplace"},
            "purpose": "degrees",
        },
        {
            "edge_type": "mail",
            "step": None,
            "event": {"kind": "pure", "nano_epsilon": 400_000_000, "mechanism": "laplace"},
            "purpose": "edge count",
        },
    ],
}


def public_key(seed: str = SEED) -> str:
    """Return the public half of the key of the heads."""
    return evidence_keys.public_key_of(seed)


def contents() -> dict[str, Any]:
    """Make what the files of a pack hold, as Python has it; ``report.json`` is hashed by the charge."""
    transcript = [
        {**row, "sequence": number, "group": None, "branch": None}
        for number, row in enumerate(PLAN["allotments"])
    ]
    report = {
        "guarantee": {"kind": "pure", "epsilon": "1", "delta": "0"},
        "transcript": {"operations": 2},
        "provenance": {
            "job_id": "job_1",
            "plan_digest": plan_digest(PLAN),
            "artifacts": [{"name": "edges.parquet", "sha256": hashlib.sha256(b"edges").hexdigest()}],
        },
    }
    files = {
        "edges.parquet": hashlib.sha256(b"edges").hexdigest(),
        "public.json": hashlib.sha256(canonical(report)).hexdigest(),
    }
    entries = _chain(files)
    charge = {
        "job_id": "job_1",
        "account_id": "acc_1",
        "filter": "basic",
        "orders": None,
        "reservation_id": "res_1",
        "plan_digest": plan_digest(PLAN),
        "amounts": {"epsilon": 1_000_000_000, "delta": 0},
        "digests": files,
        "sequence": 3,
        "hash": entries[1]["hash"],
        "sample_of": None,
        "stream_id": None,
        "head": {"sequence": 4, "hash": entries[2]["hash"]},
    }
    held: dict[str, Any] = {name: f"{name}\n" for name in EVERY if name.endswith((".md", ".html"))}
    held |= {name: {"of": name} for name in EVERY if name.endswith(".json")}
    told = {
        "plan.json": PLAN,
        "transcript.json": transcript,
        "charge.json": charge,
        "report.json": report,
        "artifacts.json": {"items": [{"name": name, "sha256": digest} for name, digest in files.items()]},
        "ledger.json": {"account_id": "acc_1", "entries": entries},
    }
    return held | {name: copy.deepcopy(each) for name, each in told.items()}  # nothing is shared


def _chain(files: dict[str, str]) -> list[dict[str, Any]]:
    """Make reservation, charge, and an entry of another job after it."""
    made: list[dict[str, Any]] = []
    for sequence, kind, job, digests in (
        (2, "reserve", 1, {}),
        (3, "charge", 1, files),
        (4, "reserve", 2, {}),
    ):
        entry: dict[str, Any] = {
            "id": f"le_{sequence}",
            "account_id": "acc_1",
            "sequence": sequence,
            "kind": kind,
            "reservation_id": f"res_{job}",
            "job_id": f"job_{job}",
            "amounts": {"epsilon": 1_000_000_000, "delta": 0},
            "digests": digests,
            "previous_hash": made[-1]["hash"] if made else "00" * 32,
        }
        made.append({**entry, "hash": entry_hash(entry)})
    return made


def members(
    change: Change | None = None,
    *,
    edition: str = "ledger",
    seed: str = SEED,
    made_on: str = DAY.isoformat(),
    certified_on: date = DAY,
    left_out: str | None = None,
) -> dict[str, bytes]:
    """Make a pack's members, signed; ``change`` alters what the files hold before they are."""
    held = contents()
    if change is not None:
        change(held)
    if edition == "public":
        del held["ledger.json"]
    held.pop(left_out or "", None)
    files = {
        name: value.encode() if isinstance(value, str) else canonical(value) for name, value in held.items()
    }
    manifest = canonical(
        {
            "kind": KIND,
            "version": VERSION,
            "edition": edition,
            "job_id": "job_1",
            "dataset_id": "ds_1",
            "made_on": made_on,
            "files": [
                {"name": name, "sha256": hashlib.sha256(data).hexdigest()}
                for name, data in sorted(files.items())
            ],
        }
    )
    signing = evidence_keys.seed_of(seed)
    certificate = evidence_keys.certified(
        signed_heads.signing_key(seed), evidence_keys.public_key_of(signing), certified_on
    )
    signature = signature_file(certificate, evidence_keys.sign(signing, manifest))
    return {**files, MANIFEST: manifest, SIGNATURE: signature}


def pack(change: Change | None = None, **made: Any) -> bytes:
    """Make the archive of :func:`members`."""
    return packed(members(change, **made))

"""The hash chain of an account: each entry's hash covers all its columns and the hash before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from core.ledger.terms import Terms


def genesis(account_id: str) -> bytes:
    """The hash before an account's first entry; 32 bytes, different for each account."""
    return hashlib.sha256(f"graphveil ledger {account_id}".encode()).digest()


def entry_hash(columns: Mapping[str, Any]) -> bytes:
    """SHA-256 of the canonical JSON of every column but ``hash`` itself; ``previous_hash`` is one of them."""
    covered = {name: _plain(value) for name, value in columns.items() if name != "hash"}
    return hashlib.sha256(_canonical(covered)).digest()


def terms_digest(terms: Terms) -> str:
    """SHA-256, in hex, of what an account was opened with. Its grant names it, so the chain covers it too."""
    return hashlib.sha256(_canonical(asdict(terms))).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case bytes() | memoryview():
            return bytes(value).hex()
        case _:
            return value

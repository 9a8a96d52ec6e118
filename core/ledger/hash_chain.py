"""The hash chain of an account. In it each entry's hash covers all its columns and the hash before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

TERMS = (
    *("id", "tenant", "domain", "parent_id", "scope", "scope_name", "unit", "window", "filter", "orders"),
    *("capacity_nano_epsilon", "capacity_delta_atto", "created_at"),
)
"""The columns of an account that only a grant sets."""


def genesis(account_id: str) -> bytes:
    """Compute the hash before an account's first entry. It has 32 bytes, different for each account."""
    # The id is part of it, so that no account's entries can stand in another's chain.
    return hashlib.sha256(f"graphveil ledger {account_id}".encode()).digest()


def entry_hash(columns: Mapping[str, Any]) -> bytes:
    """Hash the canonical JSON of an entry. It is by SHA-256 of every column but ``hash`` itself;
    ``previous_hash`` is one of them.
    """
    covered = {name: plain(value) for name, value in columns.items() if name != "hash"}
    return hashlib.sha256(_canonical(covered)).digest()


def terms_digest(account: Mapping[str, Any]) -> str:
    """Hash the account's ``TERMS`` (SHA-256, hex). Its last grant names it, so the chain covers them too."""
    return hashlib.sha256(_canonical({name: plain(account[name]) for name in TERMS})).hexdigest()


def plain(value: Any) -> Any:
    """Convert the value to what JSON has. Times are in UTC to the microsecond, bytes in hex."""
    match value:
        case datetime():
            # PostgreSQL keeps microseconds: what is hashed before it is written must equal what is read back.
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case bytes() | memoryview():
            return bytes(value).hex()
        case _:
            return value


def _canonical(value: Any) -> bytes:
    # One text for one value: sorted keys, no spaces, ASCII alone, and no NaN, which JSON does not have.
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()

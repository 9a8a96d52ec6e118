"""How an entry comes to be: checked, numbered, chained."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from core import ids
from core.errors import InvalidInput
from core.ledger import hash_chain
from core.ledger.kinds import EntryKind
from core.ledger.models import BudgetAccount
from core.ledger.posting import Movement, Posting, post

MAX_DIGESTS = 1_000

STANDING: Mapping[str, Any] = {"consecutive_give_backs": 0, "blocked_at": None, "exposed_at": None}
"""What entries change in an account besides its capacity, and what each was at the opening."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


def append(
    session: Session,
    account: BudgetAccount,
    now: datetime,
    kind: EntryKind,
    *,
    actor: str,
    reason: str = "",
    amounts: Mapping[str, int] | None = None,
    digests: Mapping[str, str] | None = None,
    reservation_id: str | None = None,
    job_id: str | None = None,
    approver: str | None = None,
    expires_at: datetime | None = None,
    movement: Movement | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the account's next entry, and return its columns. The entry has what it moves and changes.

    The account must be locked.
    """
    # Only what changes: ``standing`` is folded from the entries, the last that names a column decides.
    changed = {name: value for name, value in (changes or {}).items() if value != getattr(account, name)}
    _check_text("actor", actor, 128)
    _check_text("approver", approver or "", 128)
    _check_text("reason", reason, 256)
    columns: dict[str, Any] = {
        "id": ids.new_id(ids.ENTRY),
        "account_id": account.id,
        "sequence": account.last_sequence + 1,
        "kind": kind.value,
        "reservation_id": reservation_id,
        "job_id": job_id,
        "amounts": dict(amounts or {}),
        "digests": dict(digests or {}),
        # As JSON has it: the hash must be the same once the row is read back.
        "standing": {name: hash_chain.plain(changed[name]) for name in STANDING if name in changed},
        "reason": reason,
        "actor": actor,
        "approver": approver,
        "expires_at": expires_at,
        "created_at": now,
        "previous_hash": account.last_hash,
    }
    # Last, since the hash covers every other column.
    columns["hash"] = hash_chain.entry_hash(columns)
    post(session, account, Posting(columns, movement, changed))
    return columns


def checked_digests(digests: Mapping[str, str]) -> dict[str, str]:
    """Return the digests if each is named and valid. Each is a SHA-256 in lower-case hex under a name;
    InvalidInput otherwise."""
    if len(digests) > MAX_DIGESTS:
        raise InvalidInput(f"at most {MAX_DIGESTS} files belong to one release", field="digests")
    for name, digest in digests.items():
        _check_text("digests", name, 128)
        if not _SHA256.fullmatch(digest):
            raise InvalidInput(f"the digest of {name!r} is no SHA-256 in hex", field="digests")
    return dict(digests)


def _check_text(field: str, text: str, limit: int) -> None:
    if len(text) > limit or "\x00" in text:
        raise InvalidInput(f"at most {limit} characters, none of them NUL", field=field)

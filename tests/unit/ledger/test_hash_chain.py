"""The hash of an entry covers all of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from core.ledger import hash_chain
from core.ledger.models import LedgerEntry

NOW = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ENTRY: dict[str, Any] = {
    "id": "le_1",
    "account_id": "acc_1",
    "sequence": 7,
    "kind": "charge",
    "reservation_id": "res_1",
    "job_id": "job_1",
    "amounts": {"epsilon": 10**20},
    "digests": {"edges.parquet": "00"},
    "standing": {"blocked_at": None},
    "reason": "",
    "actor": "worker",
    "approver": None,
    "expires_at": None,
    "created_at": NOW,
    "previous_hash": b"\x01" * 32,
}


def test_the_example_has_every_column() -> None:
    assert {*ENTRY, "hash"} == set(LedgerEntry.__table__.columns.keys())


@pytest.mark.parametrize("column", sorted(ENTRY))
def test_every_column_counts(column: str) -> None:
    others = {
        "sequence": 8,
        "amounts": {"epsilon": 10**20 + 1},
        "digests": {},
        "standing": {},
        "previous_hash": b"\x02" * 32,
    }
    times = {"created_at": NOW + timedelta(microseconds=1), "expires_at": NOW}
    changed = {**ENTRY, column: {**others, **times}.get(column, "another")}
    assert hash_chain.entry_hash(changed) != hash_chain.entry_hash(ENTRY)


def test_the_order_of_keys_and_the_time_zone_do_not_count() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5)))
    same = {**dict(reversed(ENTRY.items())), "created_at": elsewhere, "hash": b"any"}
    assert hash_chain.entry_hash(same) == hash_chain.entry_hash(ENTRY)


def test_accounts_start_from_different_hashes() -> None:
    assert hash_chain.genesis("acc_1") != hash_chain.genesis("acc_2")
    assert len(hash_chain.genesis("acc_1")) == 32

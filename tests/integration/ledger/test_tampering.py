"""Whoever holds the database's keys can change a row; verify tells that it was changed."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from core.db.session import Database
from core.ids import new_id
from core.ledger import service
from core.ledger.invariants import INVARIANTS
from core.ledger.models import BudgetAccount
from tests.support.ledger import call, charge, open_account, reserve

TABLES = ("ledger_entries", "budget_accounts", "budget_balances", "budget_holds")
SLEEP = "; ".join(f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in TABLES)
WAKE = "; ".join(f"ALTER TABLE {table} ENABLE TRIGGER ALL" for table in TABLES)


@pytest.fixture
def account(module_database: Database) -> BudgetAccount:
    """Grant, reserve, charge, reserve: four entries, one reservation open."""
    opened = open_account(module_database, domain=new_id("domain"))
    charge(module_database, reserve(module_database, opened, {"epsilon": 300}))
    reserve(module_database, opened, {"epsilon": 200})
    assert call(module_database, service.verify, opened.id).intact
    return opened


def broken(database: Database, account: BudgetAccount, *statements: str) -> dict[str, list[str]]:
    """What verify finds after a superuser has run the statements."""
    with database.transaction() as session:
        session.execute(text(SLEEP))
        for statement in statements:
            assert session.execute(text(statement), {"id": account.id}).rowcount > 0  # type: ignore[attr-defined]
        session.execute(text(WAKE))
    report = call(database, service.verify, account.id)
    assert not report.intact
    found: dict[str, list[str]] = {}
    for violation in report.violations:
        assert violation.account_id == account.id
        found.setdefault(violation.invariant, []).append(violation.detail)
    return found


ENTRY = "WHERE account_id = :id AND sequence = 3"


@pytest.mark.parametrize(
    "change",
    [
        "hash = set_byte(hash, 5, get_byte(hash, 5) # 1)",
        "previous_hash = set_byte(previous_hash, 31, get_byte(previous_hash, 31) # 128)",
        "amounts = '{\"epsilon\": 301}'",
        "amounts = '{}'",
        "digests = jsonb_set(digests, '{edges.parquet}', to_jsonb(repeat('0', 64)))",
        "kind = 'forfeit'",
        "reason = 'because'",
        "actor = actor || ' '",
        "job_id = NULL",
        "created_at = created_at + interval '1 microsecond'",
        "expires_at = created_at",
    ],
)
def test_one_changed_entry_is_found(module_database: Database, account: BudgetAccount, change: str) -> None:
    found = broken(module_database, account, f"UPDATE ledger_entries SET {change} {ENTRY}")
    assert any("entry 3" in detail for detail in found["chain_intact"])


def test_a_removed_entry_is_found(module_database: Database, account: BudgetAccount) -> None:
    found = broken(module_database, account, f"DELETE FROM ledger_entries {ENTRY}")
    assert "entry 3 is missing" in found["chain_intact"]
    assert found["balances_fold"]
    assert found["reservations_end_once"]


def test_a_removed_tail_is_found(module_database: Database, account: BudgetAccount) -> None:
    found = broken(
        module_database,
        account,
        "DELETE FROM ledger_entries WHERE account_id = :id AND sequence = 4",
        "DELETE FROM budget_holds WHERE account_id = :id",
        "UPDATE budget_balances SET reserved = 0 WHERE account_id = :id",
    )
    assert found == {"chain_intact": ["the account's head, 4, is not the last entry"]}


def test_a_changed_balance_is_found(module_database: Database, account: BudgetAccount) -> None:
    change = "UPDATE budget_balances SET charged = 299 WHERE account_id = :id AND dimension = 'epsilon'"
    found = broken(module_database, account, change)
    assert list(found) == ["balances_fold"]


def test_a_raised_capacity_is_found(module_database: Database, account: BudgetAccount) -> None:
    found = broken(
        module_database,
        account,
        "UPDATE budget_accounts SET capacity_nano_epsilon = capacity_nano_epsilon * 2 WHERE id = :id",
        "UPDATE budget_balances SET capacity = capacity * 2 WHERE account_id = :id AND dimension = 'epsilon'",
    )
    assert found == {
        "capacity_granted": ["1 grants do not explain the capacity"],
        "chain_intact": ["the account's terms are not those of its grant"],
    }


def test_a_lowered_guard_is_found(module_database: Database, account: BudgetAccount) -> None:
    found = broken(
        module_database,
        account,
        "UPDATE budget_balances SET binding = false, reserved = 10^12 "
        "WHERE account_id = :id AND dimension = 'epsilon'",
    )
    assert set(found) == {"capacity_holds", "balances_fold", "balances_keep_shape"}


@pytest.fixture
def stream(module_database: Database) -> BudgetAccount:
    """A window of two steps with a charge, and one that ends after it."""
    opened = open_account(
        module_database, domain=new_id("domain"), unit="w-event", window=2, nano_epsilon=100
    )
    charge(module_database, reserve(module_database, opened, {"step/4": 30, "step/5": 20}))
    reserve(module_database, opened, {"step/6": 60})
    assert call(module_database, service.verify, opened.id).intact
    return opened


def test_a_changed_window_is_found(module_database: Database, stream: BudgetAccount) -> None:
    change = "UPDATE budget_balances SET window_committed = 40 WHERE account_id = :id AND step = 5"
    found = broken(module_database, stream, change)
    assert found == {"windows_fold": ["the window to step 5 holds 50, its row keeps 40"]}


def test_an_overfull_window_is_found_whatever_its_row_keeps(
    module_database: Database, stream: BudgetAccount
) -> None:
    change = (
        "UPDATE budget_balances SET charged = 70, window_committed = 70 WHERE account_id = :id AND step = 5"
    )
    found = broken(module_database, stream, change)
    assert found["capacity_holds"] == ["epsilon exceeds 100"]
    assert found["windows_fold"] == [
        "the window to step 5 holds 100, its row keeps 70",
        "the window to step 6 holds 130, its row keeps 80",
    ]


def test_a_dropped_hold_is_found(module_database: Database, account: BudgetAccount) -> None:
    found = broken(module_database, account, "DELETE FROM budget_holds WHERE account_id = :id")
    assert list(found) == ["reservations_end_once"]


def test_invariants_over_all_accounts_name_the_broken_one_only(database: Database) -> None:
    sound = open_account(database, domain="sound")
    reserve(database, sound, {"epsilon": 1})
    for invariant in INVARIANTS:
        assert call(database, invariant.check) == []
    torn = open_account(database, domain="torn")
    reserve(database, torn, {"epsilon": 1})
    broken(database, torn, "UPDATE ledger_entries SET actor = 'x' WHERE account_id = :id AND sequence = 2")
    found = [violation for invariant in INVARIANTS for violation in call(database, invariant.check)]
    assert [violation.account_id for violation in found] == [torn.id]

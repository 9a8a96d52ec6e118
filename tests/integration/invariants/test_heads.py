"""A restored backup is a ledger that has forgotten, and the signed heads outside it tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from core.checks import signed_heads
from core.errors import Conflict, InvalidInput
from core.ledger.models import BudgetAccount
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import head_exports
from core.workflows.ledger.invariants.base import Found
from core.workflows.ledger.invariants.restored import HeadsAreExported, RestoredWhole
from core.workflows.ledger.invariants.run import check
from core.workflows.ledger.verify import verify_all
from tests.integration.invariants.conftest import SEED
from tests.support.ledger import charge, open_account, reserve
from tests.support.postgres import PostgresCluster


@pytest.fixture
def signing(settings: Settings) -> Iterator[Services]:
    """Services that sign; two accounts with entries."""
    opened = open_services(settings.model_copy(update={"head_signing_key": _secret(SEED)}))
    yield opened
    opened.close()


def _secret(text: str) -> Any:
    return Settings(head_signing_key=text).head_signing_key


@pytest.fixture
def accounts(signing: Services) -> list[BudgetAccount]:
    found = [open_account(signing.db, domain=domain) for domain in ("patients", "staff")]
    for account in found:
        charge(signing.db, reserve(signing.db, account, {"epsilon": 100}))
    return found


def restored(services: Services) -> Found:
    return check(services, RestoredWhole(services))


def exported(services: Services, **changed: Any) -> Found:
    settings = services.settings.model_copy(update=changed)
    services = Services(services.db, services.store, settings)
    return check(services, HeadsAreExported(services))


def spend(services: Services, account: BudgetAccount) -> None:
    charge(services.db, reserve(services.db, account, {"epsilon": 50}))


def test_an_export_names_every_account_and_the_one_before(
    signing: Services, accounts: list[BudgetAccount]
) -> None:
    before = datetime.now(UTC)
    key, document = head_exports.export(signing)
    assert key in {f"ledger-heads/{day:%Y-%m-%d}.json" for day in (before, datetime.now(UTC))}
    told = signed_heads.opened(document, head_exports.trusted_keys(signing.settings))
    assert [head.sequence for head in told.accounts] == [3, 3]
    assert {head.account_id for head in told.accounts} == {account.id for account in accounts}
    spend(signing, accounts[0])
    later, again = head_exports.export(signing)
    assert later > key
    linked = signed_heads.opened(again, head_exports.trusted_keys(signing.settings)).previous
    assert linked is not None
    assert linked.key == key
    assert head_exports.newest(signing.store) == later
    assert restored(signing).total == 0


def test_an_export_is_never_overwritten(signing: Services, accounts: list[BudgetAccount]) -> None:
    key, document = head_exports.export(signing)
    assert not signing.store.put_new(key, b"other")
    head_exports.export(signing)
    assert head_exports.read(signing.store, key) == document


def test_exports_are_due_by_the_databases_clock(signing: Services, accounts: list[BudgetAccount]) -> None:
    assert head_exports.export_due(signing)
    head_exports.export(signing)
    assert not head_exports.export_due(signing)
    impatient = Services(
        signing.db, signing.store, signing.settings.model_copy(update={"heads_every_seconds": 0.0})
    )
    assert head_exports.export_due(impatient)


def test_without_a_key_nothing_is_exported(services: Services) -> None:
    assert not head_exports.export_due(services)
    with pytest.raises(InvalidInput, match="32 bytes"):
        head_exports.export(services)
    assert restored(services).total == 0


def test_a_restored_backup_is_found(
    signing: Services, accounts: list[BudgetAccount], postgres_cluster: PostgresCluster
) -> None:
    """The drill of docs/verifier.md: back up, spend, export, restore."""
    signing.close()  # a template must have no other connections
    backup = postgres_cluster.create(template=signing.db.engine.url.database or "")
    spend(signing, accounts[0])
    late = open_account(signing.db, domain="late")
    key, document = head_exports.export(signing)
    assert restored(signing).total == 0

    settings = signing.settings.model_copy(update={"database_url": postgres_cluster.address(backup)})
    old = open_services(settings)
    found = restored(old)
    assert {(f.subject, f.detail) for f in found.findings} == {
        (accounts[0].id, "the account has 3 entries; it had 5"),
        (late.id, "the account is missing; it had 1 entries"),
    }
    for account in accounts:  # its chains are whole: only what is outside can tell
        assert verify_all(old, account_id=account.id).flaws == tuple(
            flaw for flaw in found.findings if flaw.subject == account.id
        )
    with pytest.raises(Conflict, match="lost entries"):
        head_exports.export(old)
    assert head_exports.newest(old.store) == key

    spend(old, accounts[0])  # as many entries as before, but others
    details = {f.subject: f.detail for f in restored(old).findings}
    assert details[accounts[0].id] == "entry 5 is not the one that was signed"
    kept = verify_all(old, document=document)
    assert (kept.lost, kept.intact) == (2, False)
    old.close()
    postgres_cluster.drop(backup)


def test_a_forged_document_is_found(signing: Services, accounts: list[BudgetAccount]) -> None:
    _, document = head_exports.export(signing)
    forged = json.loads(document)
    for head in forged["accounts"]:
        head["sequence"] = 1
    assert signing.store.put_new("ledger-heads/9999-01-01.json", json.dumps(forged).encode())
    found = restored(signing)
    assert [f.detail for f in found.findings] == ["the signature of the heads does not hold"]
    with pytest.raises(InvalidInput, match="signature"):
        head_exports.export(signing)


def test_a_missing_or_changed_earlier_document_is_found(
    signing: Services, accounts: list[BudgetAccount]
) -> None:
    first, document = head_exports.export(signing)
    head_exports.export(signing)
    signing.store.put(first, [document + b" "])
    assert [f.detail for f in restored(signing).findings] == [f"{first} was changed"]
    signing.store.delete(first)
    assert [f.detail for f in restored(signing).findings] == [f"{first} is missing"]


def test_a_changed_key_is_believed_once_the_old_one_is_named(
    signing: Services, accounts: list[BudgetAccount]
) -> None:
    head_exports.export(signing)
    settings = signing.settings.model_copy(update={"head_signing_key": _secret("09" * 32)})
    turned = Services(signing.db, signing.store, settings)
    assert "not trusted" in restored(turned).findings[0].detail
    old = signed_heads.key_text(signed_heads.signing_key(SEED).public_key())
    named = Services(signing.db, signing.store, settings.model_copy(update={"head_public_keys": old}))
    assert restored(named).total == 0
    head_exports.export(named)
    assert restored(named).total == 0


def test_a_lower_capacity_is_found(signing: Services, accounts: list[BudgetAccount]) -> None:
    head_exports.export(signing)
    with signing.db.transaction() as session:
        for table in ("budget_accounts", "budget_balances"):
            session.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
        session.execute(text("UPDATE budget_accounts SET capacity_nano_epsilon = capacity_nano_epsilon - 1"))
    assert {f.detail for f in restored(signing).findings} == {"the capacity is less than was signed"}


def test_heads_that_are_not_exported_are_missed(signing: Services, accounts: list[BudgetAccount]) -> None:
    assert exported(signing).total == 0  # a new service has a while
    late = exported(signing, heads_every_seconds=0.0)
    assert [finding.subject for finding in late.findings] == ["ledger-heads"]
    old = signed_heads.signed(signed_heads.signing_key(SEED), "2026-01-01T00:00:00+00:00", [], None)
    assert signing.store.put_new("ledger-heads/2026-01-01.json", old)
    assert "since 2026-01-01" in exported(signing).findings[0].detail
    head_exports.export(signing)
    assert exported(signing).total == 0


def test_where_nothing_is_signed_no_heads_are_missed(
    signing: Services, accounts: list[BudgetAccount]
) -> None:
    assert exported(signing, heads_every_seconds=0.0, head_signing_key=_secret("")).total == 0


def test_heads_that_cannot_be_opened_are_told_once(signing: Services, accounts: list[BudgetAccount]) -> None:
    assert signing.store.put_new("ledger-heads/2026-01-01.json", b"{}")
    assert exported(signing).total == 0
    assert restored(signing).total == 1

"""``python -m api.admin.ledger verify``: words and exit codes an operator can act on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from typer.testing import CliRunner, Result

from api.admin.ledger import app
from core.checks import evidence_keys, signed_heads
from core.ledger.models import BudgetAccount
from core.settings import get_settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import head_exports
from tests.integration.invariants.conftest import SEED
from tests.support.faults import environment
from tests.support.ledger import charge, open_account, reserve


@pytest.fixture
def signing(services: Services) -> Services:
    settings = type(services.settings)(**(services.settings.model_dump() | {"head_signing_key": SEED}))
    return Services(services.db, services.store, settings)


@pytest.fixture
def account(signing: Services) -> BudgetAccount:
    opened = open_account(signing.db)
    charge(signing.db, reserve(signing.db, opened, {"epsilon": 100}))
    return opened


@pytest.fixture
def run(signing: Services, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command under the settings, some changed."""

    def invoke(*arguments: str, **changed: object) -> Result:
        for name, value in environment(signing.settings, **changed).items():
            monkeypatch.setenv(name, value)
        get_settings.cache_clear()
        result = CliRunner().invoke(app, list(arguments))
        get_settings.cache_clear()
        return result

    return invoke


def test_a_whole_ledger_is_intact(
    run: Callable[..., Result], signing: Services, account: BudgetAccount
) -> None:
    plain = run("verify")
    assert (plain.exit_code, "there are no signed heads" in plain.output) == (0, True)
    head_exports.export(signing)
    compared = run("verify")
    assert compared.exit_code == 0
    assert "1 accounts, 3 entries; compared with the heads signed at 20" in compared.output
    assert compared.output.rstrip().endswith("Intact.")
    assert run("verify", "--account", account.id).exit_code == 0


def test_a_changed_entry_is_named(
    run: Callable[..., Result], signing: Services, account: BudgetAccount
) -> None:
    with signing.db.transaction() as session:
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        session.execute(text("UPDATE ledger_entries SET reason = 'x' WHERE sequence = 2"))
    result = run("verify")
    assert result.exit_code == 1
    assert f"broken {account.id}: chain_intact: entry 2 was changed" in result.output


def test_lost_entries_are_told_in_clear_words(
    run: Callable[..., Result], signing: Services, account: BudgetAccount, tmp_path: Path
) -> None:
    """Heads from elsewhere know an entry and an account that the ledger does not have."""
    known = signed_heads.Head(account.id, 9, "ab" * 32, 10**9, 0)
    gone = signed_heads.Head("acc_gone", 1, "ab" * 32, 10**9, 0)
    document = signed_heads.signed(
        signed_heads.signing_key(SEED), "2026-01-01T00:00:00+00:00", [known, gone], None
    )
    kept = tmp_path / "heads.json"
    kept.write_bytes(document)
    result = run("verify", "--heads", str(kept))
    assert result.exit_code == 1
    assert f"broken {account.id}: the account has 3 entries; it had 9" in result.output
    assert "broken acc_gone: the account is missing" in result.output
    assert "The ledger has forgotten what was signed" in result.output
    assert run("verify", "--heads", str(kept), "--account", "acc_gone").exit_code == 1


def test_only_a_trusted_key_is_believed(
    run: Callable[..., Result], signing: Services, account: BudgetAccount
) -> None:
    head_exports.export(signing)
    own = run("public-key").output.strip()
    assert run("verify", "--public-key", own).exit_code == 0
    other = signed_heads.key_text(signed_heads.signing_key("05" * 32).public_key())
    refused = run("verify", "--public-key", other)
    assert (refused.exit_code, "not trusted" in refused.output) == (2, True)


def test_the_key_for_packs_is_printed_for_the_api(run: Callable[..., Result]) -> None:
    assert run("evidence-key").output.strip() == evidence_keys.seed_of(SEED)
    assert run("evidence-key", head_signing_key="").exit_code == 2


def test_what_cannot_be_used_or_reached_is_told_apart(
    run: Callable[..., Result], signing: Services, account: BudgetAccount, tmp_path: Path
) -> None:
    assert run("verify", "--account", "acc_none").exit_code == 2
    assert run("verify", "--heads", str(tmp_path / "none.json")).exit_code == 3
    (tmp_path / "bad.json").write_text("{}")
    assert run("verify", "--heads", str(tmp_path / "bad.json")).exit_code == 2
    assert run("public-key", head_signing_key="").exit_code == 2
    away = run("verify", database_url="postgresql+psycopg://nobody@127.0.0.1:1/none")
    assert (away.exit_code, "cannot be reached" in away.output) == (3, True)


def test_nothing_is_written(run: Callable[..., Result], signing: Services, account: BudgetAccount) -> None:
    head_exports.export(signing)
    before = [stored.key for stored in signing.store.list("ledger-heads")]
    run("verify")
    assert [stored.key for stored in signing.store.list("ledger-heads")] == before
    opened = open_services(signing.settings)
    with opened.db.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM invariant_checks")).scalar_one() == 0
    opened.close()

"""The verifier as a process: what it finds is kept, logged, shown as a metric, and heard by its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy import func, text, update

from core.checks import repository as checks
from core.checks.models import InvariantCheck
from core.identity.models import Role
from core.identity.service import Principal
from core.ledger.models import BudgetAccount
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import evidence_keys, head_exports
from core.workflows.ledger.health import ledger_health
from core.workflows.ledger.invariants.base import Finding, Found
from core.workflows.ledger.invariants.run import promises, run_checks
from core.workflows.operations.gauges import read_gauges
from tests.integration.invariants.conftest import SEED
from tests.support.faults import ROOT, environment, until
from tests.support.ledger import open_account, reserve
from tests.support.patience import PATIENCE_SECONDS
from worker.exporter import GaugeCollector
from worker.verifier import LOCK, verify_once

AUDITOR = Principal("acme", "key_a", "a", frozenset({Role.AUDITOR}), "auditor-a")


@pytest.fixture
def signing(settings: Settings) -> Iterator[Services]:
    """Services that sign the ledger's heads."""
    opened = open_services(Settings(**(settings.model_dump() | {"head_signing_key": SEED})))
    yield opened
    opened.close()


@pytest.fixture
def account(signing: Services) -> BudgetAccount:
    """An account that nobody has drawn on."""
    return open_account(signing.db)


def verifier(services: Services, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "worker.verifier", *arguments],
        cwd=ROOT,
        env=environment(services.settings),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def flip_one_byte(services: Services, account: BudgetAccount) -> None:
    """What somebody with the database's keys can do to an entry."""
    with services.db.transaction() as session:
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        session.execute(
            text(
                "UPDATE ledger_entries SET hash = set_byte(hash, 5, get_byte(hash, 5) # 1) "
                "WHERE account_id = :a"
            ),
            {"a": account.id},
        )
        session.execute(text("ALTER TABLE ledger_entries ENABLE TRIGGER ALL"))
        session.execute(text("ALTER TABLE ledger_entries ENABLE ALWAYS TRIGGER ledger_entries_append_only"))


def row(services: Services, name: str) -> InvariantCheck:
    with services.db.transaction() as session:
        return session.get_one(InvariantCheck, name, populate_existing=True)


def metrics(services: Services) -> str:
    registry = CollectorRegistry()
    GaugeCollector(lambda: read_gauges(services), registry)
    return generate_latest(registry).decode()


def test_a_flipped_byte_is_found_end_to_end(signing: Services, account: BudgetAccount) -> None:
    whole = verifier(signing, "--once")
    assert whole.returncode == 0, whole.stderr
    assert 'graphveil_invariant_violations{invariant="chain_intact"} 0.0' in metrics(signing)
    assert ledger_health(signing, AUDITOR).status == "intact"

    flip_one_byte(signing, account)
    broken = verifier(signing, "--once")
    assert broken.returncode == 1
    logged = [json.loads(line) for line in broken.stderr.splitlines()]
    told = [line for line in logged if line["event"] == "invariant_violated"]
    assert "chain_intact" in {line["invariant"] for line in told}
    assert {line["level"] for line in told} == {"error"}
    found = row(signing, "chain_intact")
    assert found.violations >= 1
    assert found.findings[0]["tenant"] == "acme"
    assert found.findings[0]["subject"] == account.id
    assert 'graphveil_invariant_violations{invariant="chain_intact"} 0.0' not in metrics(signing)

    health = ledger_health(signing, AUDITOR)
    assert health.status == "violated"
    chain = next(result for result in health.promises if result.invariant == "chain_intact")
    assert chain.failing_since is not None
    assert chain.findings[0].subject == account.id


def test_the_first_failure_is_remembered_until_it_is_mended(signing: Services) -> None:
    def record(violations: int) -> InvariantCheck:
        with signing.db.transaction() as session:
            checks.record(session, "x", seconds=0.1, violations=violations, findings=[{"n": violations}])
        return row(signing, "x")

    assert record(0).failing_since is None
    began = record(1)
    again = record(2)
    assert again.failing_since == began.failing_since == began.checked_at
    assert again.checked_at > began.checked_at
    assert again.findings == [{"n": 2}]
    assert record(0).failing_since is None
    assert record(1).failing_since > began.failing_since  # type: ignore[operator]


def test_one_failing_check_does_not_stop_the_others(signing: Services) -> None:
    class Fails:
        name, promise = "fails", "It fails."

        def check(self, session, limit):
            session.execute(text("SELECT 1 / 0"))

    class Holds:
        name, promise = "holds", "It holds."

        def check(self, session, limit):
            return Found()

    outcomes = run_checks(signing, [Fails(), Holds()])
    assert [(outcome.name, outcome.kept) for outcome in outcomes] == [("fails", False), ("holds", True)]
    assert row(signing, "holds").violations == 0
    with signing.db.transaction() as session:
        assert session.get(InvariantCheck, "fails") is None


def test_findings_are_bounded_and_counted(signing: Services) -> None:
    class Many:
        name, promise = "many", "There are few."

        def check(self, session, limit):
            return Found(1_000, tuple(Finding("acme", f"acc_{n}", "x") for n in range(limit + 5)))

    run_checks(signing, [Many()])
    found = row(signing, "many")
    assert (found.violations, len(found.findings)) == (1_000, 20)


def test_an_old_check_is_stale_and_a_missing_one_too(signing: Services, account: BudgetAccount) -> None:
    assert ledger_health(signing, AUDITOR).status == "stale"
    assert verify_once(signing)
    assert ledger_health(signing, AUDITOR).status == "intact"
    old = func.now() - func.make_interval(0, 0, 0, 0, 0, 0, 3 * signing.settings.verifier_poll_seconds + 1)
    with signing.db.transaction() as session:
        session.execute(
            update(InvariantCheck).where(InvariantCheck.invariant == "balances_fold").values(checked_at=old)
        )
    health = ledger_health(signing, AUDITOR)
    assert health.status == "stale"
    assert [r.invariant for r in health.promises if r.status == "stale"] == ["balances_fold"]


def test_a_finding_is_its_tenants_alone(signing: Services, account: BudgetAccount) -> None:
    reserve(signing.db, account, {"epsilon": 5})
    assert not verify_once(signing)
    stranger = Principal("other", "key_o", "o", frozenset({Role.OPERATOR}), "operator-a")
    for principal, seen in ((AUDITOR, True), (stranger, False)):
        health = ledger_health(signing, principal)
        held = next(result for result in health.promises if result.invariant == "holds_have_jobs")
        assert held.violations == 1
        assert bool(held.findings) == seen


def test_the_key_for_packs_is_certified_when_due(signing: Services, account: BudgetAccount) -> None:
    verify_once(signing)
    first = [each.key for each in signing.store.list(evidence_keys.FOLDER)]
    assert len(first) == 1
    verify_once(signing)
    assert [each.key for each in signing.store.list(evidence_keys.FOLDER)] == first


def test_the_heads_are_exported_when_due_and_on_demand(signing: Services, account: BudgetAccount) -> None:
    verify_once(signing)
    first = head_exports.newest(signing.store)
    assert first is not None
    verify_once(signing)
    assert head_exports.newest(signing.store) == first
    printed = verifier(signing, "--export")
    assert printed.returncode == 0, printed.stderr
    newest = head_exports.newest(signing.store)
    assert newest is not None
    assert newest > first
    assert printed.stdout.encode().rstrip(b"\n") == head_exports.read(signing.store, newest)


def test_the_database_being_away_is_told_apart(signing: Services) -> None:
    settings = signing.settings.model_copy(
        update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none"}
    )
    away = verifier(Services(signing.db, signing.store, settings), "--once")
    assert away.returncode == 3
    assert "database_away" in away.stderr


@pytest.mark.faults
def test_two_auditors_work_one_at_a_time(signing: Services, account: BudgetAccount) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "worker.verifier"],
            cwd=ROOT,
            env=environment(signing.settings, verifier_poll_seconds=0.2),
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for process in processes:
            assert process.stderr is not None
            assert "verifier_started" in process.stderr.readline()
        until(lambda: _checked(signing), what="a check")
        with signing.db.transaction() as session:
            holders = session.scalars(
                text("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = :lock"),
                {"lock": LOCK},
            ).all()
        assert len(holders) == 1
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.communicate(
                timeout=PATIENCE_SECONDS
            )  # reads what it still logs: a full pipe would hold it
    assert [process.returncode for process in processes] == [0, 0]


def _checked(services: Services) -> bool:
    with services.db.transaction() as session:
        return "restored_whole" in checks.all_checks(session)[0]


def test_every_promise_has_been_checked_after_one_round(signing: Services) -> None:
    verify_once(signing)
    with signing.db.transaction() as session:
        told, _ = checks.all_checks(session)
    assert set(told) == {promise.name for promise in promises(signing)}
    assert all(check.seconds >= 0 for check in told.values())


def test_the_verifier_needs_no_more_than_the_services_role(signing: Services, account: BudgetAccount) -> None:
    url = signing.db.engine.url
    with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)) as owner:
        owner.execute((ROOT / "deploy" / "postgres" / "roles.sql").read_bytes())
    address = url.set(username="graphveil_app").render_as_string(hide_password=False)
    served = open_services(signing.settings.model_copy(update={"database_url": address}))
    assert verify_once(served)
    assert head_exports.newest(served.store) is not None
    served.close()

"""The exporter tells what PostgreSQL holds, and nothing where it does not answer."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from core.db.session import Database
from core.ledger import service as ledger
from core.ledger.models import BudgetAccount
from core.workflows.common.context import Services
from core.workflows.operations import gauges_work
from core.workflows.operations.gauges import Gauges, read_gauges
from core.workflows.operations.gauges_budgets import Amounts
from deploy.local.servers import free_port
from tests.integration.invariants.conftest import World
from tests.support.faults import ROOT, environment, until
from tests.support.ledger import call, charge, open_account, reserve
from tests.support.patience import PATIENCE_SECONDS
from worker import exporter
from worker.exporter import GaugeCollector


def scraped(read: Callable[[], Gauges]) -> str:
    registry = CollectorRegistry()
    GaugeCollector(read, registry)
    return generate_latest(registry).decode()


def as_told(services: Services, account: BudgetAccount) -> dict[str, Any]:
    """What the account's statement says of the figures of a gauge."""
    told = call(services.db, ledger.statement, account.id)
    amounts = (told.capacity, told.charged, told.reserved, told.remaining)
    delta = Amounts(*(figures.delta_atto for figures in amounts))
    return {
        "account_id": account.id,
        "name": account.domain,
        "unit": account.unit,
        "epsilon": Amounts(*(figures.nano_epsilon for figures in amounts)),
        "delta": delta if delta.capacity else None,
        "exposed": told.exposed,
        "blocked": told.blocked,
        "sequence": told.entries,
        "fingerprint": int(told.head[:12], 16),
    }


def gauge(services: Services, account: BudgetAccount) -> dict[str, Any]:
    found = next(each for each in read_gauges(services).budgets.fullest if each.account_id == account.id)
    return {name: getattr(found, name) for name in as_told(services, account)}


@contextmanager
def undone(world: World) -> Iterator[Session]:
    """A transaction that leaves nothing behind."""
    with world.services.db.engine.connect() as connection, Session(connection) as session:
        yield session
        session.rollback()


CURVE = {"rdp/2": 10**7, "rdp/8": 4 * 10**7, "rdp/32": 3 * 10**8}


@pytest.mark.parametrize(
    ("terms", "amounts"),
    [
        ({}, [{"epsilon": 300}, {"epsilon": 200}]),
        ({"delta_atto": 10**12}, [{"epsilon": 300, "delta": 10**11}, {"epsilon": 200, "delta": 7}]),
        (
            {"unit": "w-event", "window": 2, "nano_epsilon": 100},
            [{"untimed": 7, "step/4": 30, "step/5": 20}, {"step/5": 9}, {"step/9": 60}, {"step/1": 93}],
        ),
        (
            {
                "unit": "node",
                "filter": "renyi",
                "delta_atto": 10**12,
                "nano_epsilon": 10**11,
                "orders": (2, 8, 32),
            },
            [CURVE, CURVE],
        ),
    ],
    ids=["basic", "delta", "w-event", "renyi"],
)
def test_gauges_are_what_the_statement_says(
    services: Services, terms: dict[str, object], amounts: list[dict[str, int]]
) -> None:
    account = open_account(services.db, **terms)
    assert gauge(services, account) == as_told(services, account)
    reservations = []
    for asked in amounts:
        reservations.append(reserve(services.db, account, asked))
        assert gauge(services, account) == as_told(services, account)
    for reservation_id in reservations[:-1]:
        charge(services.db, reservation_id)
        assert gauge(services, account) == as_told(services, account)


def test_the_fullest_accounts_come_first_and_all_are_counted(services: Services) -> None:
    accounts = [open_account(services.db, domain=f"d{n}") for n in range(4)]
    persons = open_account(services.db, domain="patients", unit="node")
    reserve(services.db, persons, {"epsilon": 10**9})
    reserve(services.db, accounts[2], {"epsilon": 900})
    few = services.settings.model_copy(update={"max_exported_accounts": 2})
    read = read_gauges(Services(services.db, services.store, few))
    assert (read.budgets.accounts, len(read.budgets.fullest)) == (5, 2)
    assert [each.account_id for each in read.budgets.fullest] == [persons.id, accounts[2].id]
    label = f'graphveil_budget_remaining_epsilon{{account="{persons.id}",unit="node"}} 0.0'
    assert label in scraped(lambda: read)


def test_jobs_the_outbox_and_the_queue_are_told(world: World) -> None:
    text_ = scraped(lambda: read_gauges(world.services))
    assert 'graphveil_jobs{state="published"} 4.0' in text_
    assert 'graphveil_jobs{state="rejected"} 0.0' in text_
    assert re.search(r"graphveil_outbox_unsent [1-9]", text_)
    account = f'account="{world.account_id}",unit="edge"'
    amounts = {name: float(value) for name, value in re.findall(
        r"graphveil_budget_(\w+)_epsilon\{" + re.escape(account) + r"\} (\S+)", text_)}  # fmt: skip
    assert amounts == {"capacity": 9.0, "charged": 2.0, "reserved": 3.0, "remaining": 4.0, "daily": 2.0}
    assert "graphveil_budget_exposed_accounts 1.0" in text_
    names = dict(re.findall(r'graphveil_account_info\{account="(\w+)",name="([^"]+)"\} 1.0', text_))
    with world.services.db.transaction() as session:
        assert names == {row.id: row.domain for row in session.query(BudgetAccount)}


def test_uploads_that_wait_are_told_until_they_are_validated(world: World) -> None:
    with undone(world) as session:
        assert gauges_work.read(session, 90.0).uploads == {"queued": 0, "validating": 0}
        session.execute(text("UPDATE dataset_versions SET state = 'queued'"))
        waiting = session.execute(text("SELECT count(*) FROM dataset_versions")).scalar_one()
        assert gauges_work.read(session, 90.0).uploads == {"queued": waiting, "validating": 0}
        session.execute(text("UPDATE dataset_versions SET state = 'validating'"))
        assert gauges_work.read(session, 90.0).uploads == {"queued": 0, "validating": waiting}


def test_what_waits_is_told_by_the_time_at_which_it_began(world: World) -> None:
    with world.services.db.transaction() as session:
        waits = session.scalar(text(
            "SELECT extract(epoch FROM min(created_at))::float8 FROM jobs WHERE id = ANY(:ids)"
        ), {"ids": [world.jobs["queued"], world.jobs["curved"], world.jobs["step 1"]]})  # fmt: skip
        first = session.scalar(text(
            "SELECT extract(epoch FROM min(not_before))::float8 FROM outbox WHERE sent_at IS NULL"
        ))  # fmt: skip
        began = session.scalar(text("SELECT extract(epoch FROM started_at)::float8 FROM jobs WHERE id = :id"),
                               {"id": world.jobs["running"]})  # fmt: skip
    read = read_gauges(world.services)
    assert read.work.waiting_since == waits
    assert read.work.unsent_since == first
    assert read.work.committed_since is None
    told = next(each for each in read.budgets.fullest if each.account_id == world.account_id)
    assert told.reserved_since == began


def test_a_job_that_is_tried_again_waits_since_its_last_attempt(world: World) -> None:

    with undone(world) as session:
        session.execute(
            text("UPDATE jobs SET state = 'cancelled' WHERE state = 'queued' AND id <> :lost"),
            {"lost": world.jobs["lost"]},
        )
        again = session.scalar(text(
            "SELECT extract(epoch FROM max(created_at))::float8 FROM job_events "
            "WHERE job_id = :lost AND state = 'queued'"
        ), {"lost": world.jobs["lost"]})  # fmt: skip
        assert gauges_work.read(session, 90.0).waiting_since == again


def test_a_release_that_is_charged_and_not_published_is_told(world: World) -> None:
    with undone(world) as session:
        session.execute(
            text("UPDATE jobs SET state = 'publishing' WHERE id = :id"), {"id": world.jobs["published"]}
        )
        charged = session.scalar(text(
            "SELECT extract(epoch FROM created_at)::float8 FROM ledger_entries "
            "WHERE job_id = :id AND kind = 'charge'"
        ), {"id": world.jobs["published"]})  # fmt: skip
        assert gauges_work.read(session, 90.0).committed_since == charged


def test_workers_are_told_by_host_while_they_hold_work(world: World) -> None:
    with world.services.db.transaction() as session:
        ends = session.scalar(text(
            "SELECT extract(epoch FROM lease_expires_at)::float8 FROM jobs WHERE id = :id"
        ), {"id": world.jobs["running"]})  # fmt: skip
    lease = world.services.settings.lease_seconds
    assert read_gauges(world.services).work.heard_at == {"w2": pytest.approx(ends - lease)}


def test_no_label_names_a_job_or_a_person(world: World) -> None:
    labels = set(re.findall(r"[{,](\w+)=", scraped(lambda: read_gauges(world.services))))
    assert labels == {
        "account", "name", "unit", "state", "invariant", "kind", "method", "outcome", "reason", "le",
        "worker", "slo", "version",
    }  # fmt: skip


def test_a_promise_that_was_never_checked_says_so(services: Services) -> None:
    told = scraped(lambda: read_gauges(services))
    assert 'graphveil_invariant_checked_timestamp_seconds{invariant="chain_intact"} 0.0' in told
    assert "graphveil_invariant_violations{" not in told


def test_a_dead_source_yields_no_series(services: Services) -> None:
    open_account(services.db)
    assert "graphveil_jobs{" in scraped(lambda: read_gauges(services))
    away = Services(
        Database("postgresql+psycopg://nobody@127.0.0.1:1/none"), services.store, services.settings
    )
    told = scraped(lambda: read_gauges(away))
    lines = [line for line in told.splitlines() if not line.startswith("#")]
    assert {line.split("{")[0].split(" ")[0].removesuffix("_created") for line in lines} == {
        "graphveil_build_info",
        "graphveil_slo_target_ratio",
        "graphveil_slo_threshold_seconds",
        "graphveil_exporter_scrapes_total",
        "graphveil_exporter_scrape_errors_total",
        "graphveil_exporter_scrapes",
        "graphveil_exporter_scrape_errors",
        "graphveil_exporter_read_duration_seconds",
    }
    assert "graphveil_exporter_scrape_errors_total 1.0" in lines


def test_a_reading_serves_for_five_seconds_and_never_after_a_failure(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(exporter.time, "monotonic", lambda: now[0])
    reads: list[float] = []
    failing = [False]

    def read() -> Gauges:
        reads.append(now[0])
        if failing[0]:
            Database("postgresql+psycopg://nobody@127.0.0.1:1/none").engine.connect()
        return read_gauges(services)

    registry = CollectorRegistry()
    GaugeCollector(read, registry)
    for moment in (1.0, 3.0, 5.9, 6.1, 8.0):
        now[0] = moment
        assert b"graphveil_jobs{" in generate_latest(registry)
    assert reads == [1.0, 6.1]
    failing[0], now[0] = True, 12.0
    assert b"graphveil_jobs{" not in generate_latest(registry)
    now[0] = 12.5  # it is tried again at once: an old reading must not look like a new one
    assert b"graphveil_jobs{" not in generate_latest(registry)
    assert reads == [1.0, 6.1, 12.0, 12.5]


def test_one_moment_is_read_and_nothing_written(world: World) -> None:
    seen: list[str] = []
    begun: list[object] = []
    engine = world.services.db.engine
    event.listen(engine, "before_cursor_execute", lambda *a: seen.append(a[2]))
    event.listen(engine, "begin", begun.append)
    read_gauges(world.services)
    assert len(begun) == 1
    assert len(seen) == 20  # however many rows there are
    assert not [each for each in seen if not each.lstrip().upper().startswith("SELECT")]


@pytest.mark.faults
def test_the_process_serves_and_stops(services: Services) -> None:
    open_account(services.db)
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "worker.exporter"],
        cwd=ROOT,
        env=environment(services.settings, exporter_port=port),
        stderr=subprocess.DEVNULL,
    )

    def answered() -> str:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/metrics").text
        except httpx.TransportError:
            return ""

    try:
        assert "graphveil_budget_remaining_epsilon{" in until(answered, what="an answer")
    finally:
        process.terminate()
        assert process.wait(timeout=PATIENCE_SECONDS) == 0


def test_the_queue_is_empty_and_told_so(services: Services) -> None:
    with services.db.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 0
    told = scraped(lambda: read_gauges(services))
    assert 'graphveil_jobs{state="queued"} 0.0' in told
    assert not re.search(r"^graphveil_jobs_oldest_waiting_timestamp_seconds ", told, re.MULTILINE)
    assert "graphveil_outbox_unsent 0.0" in told
    assert not re.search(r"^graphveil_outbox_oldest_timestamp_seconds ", told, re.MULTILINE)
    assert "graphveil_budget_accounts 0.0" in told

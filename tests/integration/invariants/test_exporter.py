"""The exporter tells what PostgreSQL holds, and nothing where it does not answer."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy import text

from core.db.session import Database
from core.ledger import service as ledger
from core.ledger.models import BudgetAccount
from core.workflows.context import Services
from core.workflows.gauges import BudgetGauge, Gauges, read_gauges
from tests.integration.invariants.conftest import World
from tests.support.faults import ROOT, environment, until
from tests.support.ledger import call, charge, open_account, reserve
from tests.support.redis import free_port
from worker import exporter
from worker.exporter import GaugeCollector


def scraped(read: Callable[[], Gauges]) -> str:
    registry = CollectorRegistry()
    GaugeCollector(read, registry)
    return generate_latest(registry).decode()


def as_told(services: Services, account: BudgetAccount) -> BudgetGauge:
    """The account's statement in the form of a gauge."""
    told = call(services.db, ledger.statement, account.id)
    amounts = (told.capacity, told.charged, told.reserved, told.remaining)
    return BudgetGauge(account.id, account.unit, *(figures.nano_epsilon for figures in amounts))


def gauge(services: Services, account: BudgetAccount) -> BudgetGauge:
    return next(each for each in read_gauges(services).budgets if each.account_id == account.id)


CURVE = {"rdp/2": 10**7, "rdp/8": 4 * 10**7, "rdp/32": 3 * 10**8}


@pytest.mark.parametrize(
    ("terms", "amounts"),
    [
        ({}, [{"epsilon": 300}, {"epsilon": 200}]),
        (
            {"unit": "w-event", "window": 2, "nano_epsilon": 100},
            [{"untimed": 7, "step/4": 30, "step/5": 20}, {"step/5": 9}, {"step/9": 60}, {"step/1": 93}],
        ),
        (
            {"filter": "renyi", "delta_atto": 10**12, "nano_epsilon": 10**11, "orders": (2, 8, 32)},
            [CURVE, CURVE],
        ),
    ],
    ids=["basic", "w-event", "renyi"],
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
    reserve(services.db, accounts[2], {"epsilon": 900})
    few = services.settings.model_copy(update={"max_exported_accounts": 2})
    read = read_gauges(Services(services.db, services.store, few))
    assert (read.accounts, len(read.budgets)) == (4, 2)
    assert read.budgets[0].account_id == accounts[2].id


def test_jobs_the_outbox_and_the_queue_are_told(world: World) -> None:
    text_ = scraped(lambda: read_gauges(world.services))
    assert 'graphveil_jobs{state="published"} 3.0' in text_
    assert 'graphveil_jobs{state="rejected"} 0.0' in text_
    assert re.search(r"graphveil_outbox_unsent [1-9]", text_)
    assert re.search(r"graphveil_oldest_queued_job_age_seconds \d", text_)
    account = f'account="{world.account_id}",unit="edge"'
    amounts = {name: float(value) for name, value in re.findall(
        r"graphveil_budget_(\w+)_epsilon\{" + re.escape(account) + r"\} (\S+)", text_)}  # fmt: skip
    assert amounts == {"capacity": 9.0, "charged": 2.0, "reserved": 3.0, "remaining": 4.0}


def test_no_label_names_a_job_or_a_person(world: World) -> None:
    labels = set(re.findall(r"[{,](\w+)=", scraped(lambda: read_gauges(world.services))))
    assert labels == {"account", "unit", "state"} or labels == {"account", "unit", "state", "invariant"}


def test_a_dead_source_yields_no_series(services: Services) -> None:
    open_account(services.db)
    assert "graphveil_jobs{" in scraped(lambda: read_gauges(services))
    away = Services(
        Database("postgresql+psycopg://nobody@127.0.0.1:1/none"), services.store, services.settings
    )
    told = scraped(lambda: read_gauges(away))
    lines = [line for line in told.splitlines() if not line.startswith("#")]
    assert {line.split("{")[0].split(" ")[0].removesuffix("_created") for line in lines} == {
        "graphveil_exporter_scrapes_total",
        "graphveil_exporter_scrape_errors_total",
        "graphveil_exporter_scrapes",
        "graphveil_exporter_scrape_errors",
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


def test_one_statement_reads_everything(world: World) -> None:
    from sqlalchemy import event

    seen: list[str] = []
    engine = world.services.db.engine
    event.listen(engine, "before_cursor_execute", lambda *a: seen.append(a[2]))
    read_gauges(world.services)
    assert len([statement for statement in seen if "budget_accounts" in statement]) == len(seen) == 1


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
        assert process.wait(timeout=20) == 0


def test_the_queue_is_empty_and_told_so(services: Services) -> None:
    with services.db.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 0
    told = scraped(lambda: read_gauges(services))
    assert "graphveil_oldest_queued_job_age_seconds 0.0" in told
    assert "graphveil_budget_accounts 0.0" in told

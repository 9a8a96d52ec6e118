"""Counts of rows since the first: right, coarse, never falling, and not counted anew at every reading."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy import event, func, text, update
from sqlalchemy.orm import Session

from core.db.session import Database
from core.identity.service import Principal
from core.jobs.models import Job
from core.ledger.kinds import EntryKind
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.jobs import cancel
from core.workflows.operations import gauges_totals, recover
from core.workflows.operations.gauges import read_gauges
from core.workflows.operations.gauges_totals import BOUNDS, Counts, Totals, cumulative
from core.workflows.releases import publish
from tests.integration.invariants.conftest import World
from tests.support.ledger import charge, give_back, open_account, reserve
from tests.support.releases import queued_job, ready_dataset
from worker.exported import families
from worker.exporter import GaugeCollector, Readings


def bucket_of(seconds: float) -> int:
    """The number of the bucket, as PostgreSQL's ``width_bucket`` gives it."""
    return bisect.bisect_right(BOUNDS, seconds)


@pytest.fixture(scope="module")
def counts(world: World) -> Counts:
    return read_gauges(world.services).totals


def test_entries_are_counted_by_kind(world: World, counts: Counts) -> None:
    with world.services.db.transaction() as session:
        rows = session.execute(text("SELECT kind, count(*) FROM ledger_entries GROUP BY kind")).all()
    assert counts.entries == Counter({row.kind: row.count for row in rows})
    assert counts.entries["charge"] >= 2


def test_ended_jobs_are_counted_by_how_they_ended(world: World, counts: Counts) -> None:
    with world.services.db.transaction() as session:
        methods = {key: session.get_one(Job, job_id).method for key, job_id in world.jobs.items()}
    assert counts.finished == {
        (methods["published"], "published", ""): 2,
        (methods["step 0"], "published", ""): 1,
        (methods["declared"], "published", ""): 1,
        (methods["failed"], "failed", "generator_failed"): 1,
        (methods["cancelled"], "cancelled", "cancelled_by_caller"): 1,
    }
    assert sum(counts.durations.values()) == 5  # the cancelled one never began
    # published, failed, sample, declared, lost and running have begun; so has a snapshot, uncounted
    assert sum(counts.waits.values()) == 6
    assert counts.lost_attempts == 0


def test_a_bucket_is_the_same_here_and_in_the_database(database: Database) -> None:
    for seconds in (0.0, 0.5, 1.0, 4.9, 5.0, 59.0, 599.0, 600.0, 21_599.0, 21_600.0, 10**6):
        with database.transaction() as session:
            found = session.scalar(
                text("SELECT width_bucket(CAST(:s AS float8), CAST(:b AS float8[]))"),
                {"s": seconds, "b": list(BOUNDS)},
            )
        assert found == bucket_of(seconds)


def test_waits_and_durations_fall_into_their_buckets(database: Database, services: Services) -> None:
    _job_of(services, waited=700.0, ran=4_000.0, method="m")
    found = read_gauges(services).totals
    assert found.waits == {("m", bucket_of(700.0)): 1}
    assert found.durations == {("m", bucket_of(4_000.0)): 1}
    assert cumulative(found.waits, "m") == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_an_approval_is_no_wait_for_a_worker(services: Services) -> None:
    _job_of(services, waited=700.0, ran=5.5, method="m", decided=698.0)
    assert read_gauges(services).totals.waits == {("m", bucket_of(2.0)): 1}


def test_histograms_tell_buckets_and_no_sum(services: Services) -> None:
    """One job between two scrapes would tell its exact duration by a sum."""
    _job_of(services, waited=3.0, ran=17.123, method="edgerand")
    registry = CollectorRegistry()
    GaugeCollector(Readings(services), registry)
    told = generate_latest(registry).decode()
    assert 'graphveil_job_duration_seconds_bucket{le="15.0",method="edgerand"} 0.0' in told
    assert 'graphveil_job_duration_seconds_bucket{le="60.0",method="edgerand"} 1.0' in told
    assert "17.1" not in told
    assert "duration_seconds_sum{" not in told


def test_known_kinds_and_methods_begin_at_zero(services: Services) -> None:
    samples = [s for family in families(read_gauges(services)) for s in family.samples]
    entries = {s.labels["kind"]: s.value for s in samples if s.name == "graphveil_ledger_entries_total"}
    assert entries == {kind.value: 0 for kind in EntryKind}
    waits = [s for s in samples if s.name == "graphveil_job_queue_wait_seconds_bucket"]
    assert {s.labels["method"] for s in waits} >= {"edgerand", "psgraph"}
    assert {s.value for s in waits} == {0}
    assert {s.labels["le"] for s in waits} >= {"1.0", "600.0", "21600.0", "+Inf"}


@pytest.fixture
def settling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows settle at once: each reading freezes what it has seen."""
    monkeypatch.setattr(gauges_totals, "SETTLES_AFTER", timedelta(0))


def test_settled_rows_are_counted_once_and_new_ones_added(settling: None, services: Services) -> None:
    account = open_account(services.db)
    totals = Totals()
    for expected in range(1, 4):
        charge(services.db, reserve(services.db, account, {"epsilon": 5}))
        found = _read(services, totals).entries
        assert (found["grant"], found["reserve"], found["charge"]) == (1, expected, expected)
        assert _read(services, Totals()).entries == found


def test_a_reading_looks_only_at_what_may_still_change(services: Services) -> None:
    account = open_account(services.db)
    give_back(services.db, reserve(services.db, account, {"epsilon": 5}))
    totals = Totals()
    asked: list[dict[str, object]] = []
    listen = (services.db.engine, "before_cursor_execute", lambda *a: asked.append(a[3]))
    _read(services, totals)
    event.listen(*listen)
    _read(services, totals)
    event.remove(*listen)
    since = {str(each["since"]) for each in asked if isinstance(each, dict) and "since" in each}
    assert len(since) == 1
    assert "-infinity" not in since


def test_totals_never_fall_while_a_job_is_lost_and_tried_again(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id, "one")
    totals = Totals()
    seen = [_read(services, totals).lost_attempts]
    for _ in range(services.settings.max_attempts):
        with services.db.transaction() as session:
            session.execute(text("UPDATE outbox SET not_before = now()"))
        assert publish.begin_job(services, job.id, "host-1-00000000") is not None
        seen.append(_read(services, totals).lost_attempts)
        with services.db.transaction() as session:
            past = func.now() - timedelta(seconds=1)
            session.execute(update(Job).where(Job.id == job.id).values(lease_expires_at=past))
        assert recover.recover_lost(services, Topic.RUN) == 1
        seen.append(_read(services, totals).lost_attempts)
    assert seen == [0, 0, 0, 1, 1, 2, 3]
    assert _read(services, totals).finished[job.method, "failed", "worker_lost"] == 1


def test_a_job_cancelled_between_two_attempts_takes_nothing_back(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id, "one")
    for attempt in (1, 2):
        assert publish.begin_job(services, job.id, "host-1-00000000") is not None, attempt
        with services.db.transaction() as session:
            past = func.now() - timedelta(seconds=1)
            session.execute(update(Job).where(Job.id == job.id).values(lease_expires_at=past))
        recover.recover_lost(services, Topic.RUN)
    before = _read(services, Totals()).lost_attempts
    cancel.cancel_job(services, principal, job.id)
    assert _read(services, Totals()).lost_attempts == before == 1


def test_after_a_failure_everything_is_counted_anew(services: Services) -> None:
    open_account(services.db)
    readings = Readings(services)
    assert readings().totals.entries["grant"] == 1
    kept = readings._totals
    away = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    readings._services = Services(away, services.store, services.settings)
    registry = CollectorRegistry()
    GaugeCollector(readings, registry)
    assert not re.search(r"^graphveil_jobs\{", generate_latest(registry).decode(), re.MULTILINE)
    assert readings._totals is not kept


def test_the_counts_are_read_by_index(services: Services) -> None:
    """With the tables large enough for the choice to matter, of many tenants."""
    with services.db.transaction() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(text(_MANY_JOBS))
        session.execute(text("ANALYZE jobs"))
        session.execute(text("SET LOCAL enable_seqscan = off"))
        statements = (gauges_totals._ENTRIES, gauges_totals._ENDED, gauges_totals._BEGUN)
        plans = [_explained(session, str(statement)) for statement in statements]
        session.rollback()
    for plan in plans:
        assert "Seq Scan on jobs" not in plan
        assert "Seq Scan on ledger_entries" not in plan
        assert re.search(r"ix_(ledger_entries_created|jobs_finished|jobs_started)", plan), plan


_MANY_JOBS = """
    INSERT INTO jobs (id, tenant, dataset_id, version_id, account_id, reservation_id, method, spec, plan,
        plan_digest, state, idempotency_key, payload_hash, requested_by, person,
        created_at, started_at, finished_at)
    SELECT 'many_' || i, 'tenant_' || i % 500, 'd', 'v', 'a', 'r', 'm', '{}', '{}', '', 'published', 'k' || i,
        '', '', '', moment, moment, moment
    FROM generate_series(1, 5000) AS i,
        LATERAL (SELECT timestamptz '2025-06-01' + i * interval '1 hour') AS m (moment)
"""


def _explained(session: Session, statement: str) -> str:
    asked = {"since": "2026-01-01", "until": "infinity", "bounds": list(BOUNDS), "lost": ["worker_lost"]}
    return "\n".join(session.scalars(text(f"EXPLAIN {statement}"), asked))


def _read(services: Services, totals: Totals) -> Counts:
    return read_gauges(services, totals).totals


def _job_of(services: Services, *, waited: float, ran: float, method: str, decided: float = 0.0) -> None:
    """A job that has waited and run for so long, entered by hand."""
    with services.db.transaction() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))  # it refers to nothing
        session.execute(
            text(
                "INSERT INTO jobs (id, tenant, dataset_id, version_id, account_id, reservation_id, method, "
                "spec, plan, plan_digest, state, idempotency_key, payload_hash, requested_by, person, "
                "created_at, decided_at, started_at, finished_at) "
                "VALUES ('job_x', 't', 'd', 'v', 'a', 'r', :method, '{}', '{}', '', 'published', 'k', '', "
                "'', '', now() - make_interval(secs => :waited + :ran), "
                "CASE WHEN :decided > 0 THEN now() - make_interval(secs => :waited + :ran - :decided) END, "
                "now() - make_interval(secs => :ran), now())"
            ),
            {"waited": waited, "ran": ran, "method": method, "decided": decided},
        )

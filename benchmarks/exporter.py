"""``python -m benchmarks.exporter``: what a reading of the exporter costs on a ledger with a past.

Fills a database by hand, then reads as the exporter does: the first reading counts every row, later ones only
what is newer than an hour or two. Prints milliseconds and PostgreSQL's plans of the counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.operations import gauges_totals
from core.workflows.operations.gauges import read_gauges
from core.workflows.operations.gauges_totals import BOUNDS, Totals
from tests.support import postgres

_JOBS = """
    INSERT INTO jobs (id, tenant, dataset_id, version_id, account_id, reservation_id, method, spec, plan,
        plan_digest, state, idempotency_key, payload_hash, requested_by, person, created_at, started_at,
        finished_at)
    SELECT 'job_' || n, 't', 'd', 'v', 'acc_' || n % :accounts, 'r' || n, 'edgerand',
        jsonb_build_object('padding', repeat('x', 400)), '{}', '',
        CASE WHEN n % 20 = 0 THEN 'failed' ELSE 'published' END, n, '', '', '',
        now() - make_interval(secs => n * 30 + 60), now() - make_interval(secs => n * 30 + 50),
        now() - make_interval(secs => n * 30)
    FROM generate_series(1, :jobs) AS n
"""
_ENTRIES = """
    INSERT INTO ledger_entries (id, account_id, sequence, kind, reservation_id, job_id, amounts, digests,
        standing, reason, actor, previous_hash, hash, created_at)
    SELECT 'e' || k.kind || n, 'acc_' || n % :accounts, n * 2 + k.place, k.kind, 'r' || n, 'job_' || n,
        '{"epsilon": 1}', '{}', '{}', '', '', '\\x00', '\\x00', now() - make_interval(secs => n * 30)
    FROM generate_series(1, :jobs) AS n, (VALUES ('reserve', 0), ('charge', 1)) AS k (kind, place)
"""
_ACCOUNTS = """
    INSERT INTO budget_accounts (id, tenant, domain, scope, scope_name, unit, filter, capacity_nano_epsilon,
        capacity_delta_atto, last_hash)
    SELECT 'acc_' || n, 't', n, 'domain', '', 'edge', 'basic', 1000000000, 0, '\\x00'
    FROM generate_series(0, :accounts - 1) AS n
"""
_BALANCES = """
    INSERT INTO budget_balances (account_id, dimension, capacity, binding)
    SELECT 'acc_' || n, d, 1000000000, true FROM generate_series(0, :accounts - 1) AS n,
        (VALUES ('epsilon'), ('delta')) AS x (d)
"""


def fill(services: Services, jobs: int, accounts: int) -> None:
    """So many ended jobs, one every half minute, with two entries each."""
    with services.db.transaction() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        for statement in (_ACCOUNTS, _BALANCES, _JOBS, _ENTRIES):
            session.execute(text(statement), {"jobs": jobs, "accounts": accounts})
    with services.db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


def timed(services: Services, totals: Totals) -> float:
    """Milliseconds of one reading."""
    began = time.perf_counter()
    read_gauges(services, totals)
    return (time.perf_counter() - began) * 1e3


def explained(session: Session, statement: str) -> str:
    """PostgreSQL's plan for what is newer than an hour."""
    asked = {"until": "infinity", "bounds": list(BOUNDS), "lost": ["worker_lost"]}
    asked["since"] = session.execute(text("SELECT now() - interval '1 hour'")).scalar_one()
    return "\n".join(session.scalars(text(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {statement}"), asked))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=200_000)
    parser.add_argument("--accounts", type=int, default=1_000)
    asked = parser.parse_args()
    with postgres.cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            database_url=cluster.address(cluster.create()), storage_url=(Path(folder) / "objects").as_uri()
        )
        services = open_services(settings)
        fill(services, asked.jobs, asked.accounts)
        totals = Totals()
        first = timed(services, totals)
        later = sorted(timed(services, totals) for _ in range(9))
        print(f"{asked.jobs} jobs, {2 * asked.jobs} entries, {asked.accounts} accounts:")
        print(
            f"first reading {first:.0f} ms, later ones {later[4]:.0f} ms ({later[0]:.0f} to {later[-1]:.0f})"
        )
        with services.db.transaction() as session:
            for statement in (gauges_totals._ENTRIES, gauges_totals._ENDED, gauges_totals._BEGUN):
                print(explained(session, str(statement)), end="\n\n")
        services.close()


if __name__ == "__main__":
    main()

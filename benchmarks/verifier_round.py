"""What one round of the verifier costs: every promise over a ledger of many jobs, on a real PostgreSQL.

    python -m benchmarks.verifier_round --jobs 5000 --accounts 50

Jobs are reserved and charged through the ledger service; their rows and files are those of published jobs.
A line of JSON: entries, seconds by promise (elapsed, and of this process's processor), peak memory. Exit
status 1 when a promise is broken.
"""

from __future__ import annotations

import argparse
import json
import resource
import secrets
import sys
import tempfile
import time
from pathlib import Path

from sqlalchemy import text

from core.db import migrate
from core.identity.models import Role
from core.identity.service import Principal
from core.ids import new_id
from core.ledger import service as ledger
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.ledger.invariants.run import check, promises
from deploy.local.servers import EmbeddedPostgres

FILES = {f"file-{n}.parquet": f"{n:064x}" for n in range(8)}
PRINCIPAL = Principal("bench", "key_bench", "bench", frozenset({Role.CURATOR}), "curator-a")

VERSION = text("""
    INSERT INTO dataset_versions (id, dataset_id, number, state)
    VALUES (:version_id, :dataset_id, 1, 'ready')
""")
# What a published job leaves, as far as any promise reads it.
JOB = text("""
    INSERT INTO jobs (id, tenant, dataset_id, version_id, account_id, reservation_id, method, spec, plan,
        plan_digest, state, idempotency_key, payload_hash, requested_by, person, first_read_at)
    VALUES (:id, 'bench', :dataset_id, :version_id, :account_id, :reservation_id, 'dcsbm',
        CAST(:spec AS jsonb), '{}', '', 'published', :id, '', 'key_bench', 'curator-a', now())
""")
ARTIFACTS = text("""
    INSERT INTO artifacts (job_id, name, role, media_type, size_bytes, sha256, object_key, encrypted)
    SELECT :id, key, 'artifact', 'x', 1, value, 'k', false FROM jsonb_each_text(CAST(:files AS jsonb))
""")
SPEC = {"release": {"unit": "edge", "window": None}, "amounts": {"epsilon": 1000, "delta": 0}, "kind": "pure"}


def filled(services: Services, accounts: int, jobs: int) -> int:
    """So many published jobs stand, shared among so many accounts; how many ledger entries there are."""
    datasets = [
        register_dataset(services, PRINCIPAL, NewDataset(name=f"d{n}", unit="edge", epsilon="1000"))
        for n in range(accounts)
    ]
    for number, dataset in enumerate(datasets):
        with services.db.transaction() as session:
            of = {"dataset_id": dataset.id, "version_id": new_id("dv")}
            session.execute(VERSION, of)
            for _ in range(number, jobs, accounts):
                job_id = new_id("job")
                reservation_id = ledger.reserve(
                    session,
                    dataset.account_id,
                    amounts=SPEC["amounts"],  # type: ignore[arg-type]
                    unit="edge",
                    window=None,
                    job_id=job_id,
                    actor="bench",
                    expires_in_seconds=60.0,
                )
                ledger.charge(session, reservation_id, digests=FILES, actor="bench")
                row = {**of, "id": job_id, "account_id": dataset.account_id, "reservation_id": reservation_id}
                session.execute(JOB, {**row, "spec": json.dumps(SPEC)})
                session.execute(ARTIFACTS, {"id": job_id, "files": json.dumps(FILES)})
    with services.db.transaction() as session:
        return int(session.execute(text("SELECT count(*) FROM ledger_entries")).scalar_one())


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--accounts", type=int, default=50)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gv-verifier-", dir="/tmp") as home:
        Path(home).chmod(0o755)
        with EmbeddedPostgres(Path(home) / "postgres", password=secrets.token_hex(16)) as postgres:
            migrate.upgrade(postgres.url)
            services = open_services(
                Settings(
                    database_url=postgres.url,
                    storage_url=(Path(home) / "objects").as_uri(),
                    master_key="00" * 32,
                    fingerprint_key="00" * 32,
                )
            )
            entries = filled(services, asked.accounts, asked.jobs)
            seconds, broken = {}, []
            for promise in promises(services):
                began, busy = time.monotonic(), time.process_time()
                if check(services, promise).total:
                    broken.append(promise.name)
                told = (time.monotonic() - began, time.process_time() - busy)
                seconds[promise.name] = [round(each, 3) for each in told]
            services.close()
    whole = sum(wall for wall, _ in seconds.values())
    result = {
        "jobs": asked.jobs,
        "accounts": asked.accounts,
        "entries": entries,
        "seconds": round(whole, 2),
        "own_cpu_seconds": round(sum(busy for _, busy in seconds.values()), 2),
        "entries_per_second": round(entries / whole),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "by_promise_wall_and_own_cpu": seconds,
        "broken": broken,
    }
    print(json.dumps(result))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

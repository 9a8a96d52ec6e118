"""How long each page of the console takes, with 1,000 datasets and 100,000 jobs of one tenant.

    python -m benchmarks.console_pages [--datasets 1000] [--jobs 100000] [--times 20]

Starts an embedded stack, registers the datasets through the API, publishes one job, and copies its row in
bulk: the jobs are spread over all datasets, and a few of them wait for approval. Then it signs in as a
browser does and asks for every page, one at a time. Prints a Markdown table: wall time (median and 95th
percentile) and CPU time of the api a page. The copies have no ledger entries, as the verifier will say: what
is measured is the pages.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil
from sqlalchemy import text
from sqlalchemy.orm import Session

from benchmarks.fairness import edges
from core.db.session import Database
from core.jobs.models import Job
from deploy.local.servers import free_port
from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil

BAR_MILLISECONDS = 150
NODES = 500
PAGES = {
    "overview": "/console",
    "datasets": "/console/datasets",
    "dataset": "/console/datasets/{dataset}",
    "register": "/console/register",
    "upload": "/console/datasets/{dataset}/upload",
    "schema": "/console/datasets/{dataset}/schema",
    "new release": "/console/datasets/{dataset}/release?epsilon=0.5",
    "jobs": "/console/jobs",
    "jobs that failed": "/console/jobs?state=failed",
    "job, published": "/console/jobs/{job}",
    "job, its stages": "/console/jobs/{job}/stages",
    "approvals": "/console/approvals",
    "streams": "/console/streams",
    "audits": "/console/audits",
    "ledger": "/console/ledger",
    "webhooks": "/console/webhooks",
    "keys": "/console/keys",
}


def seed(session: Session, job_id: str, jobs: int) -> None:
    """Jobs of every dataset of the tenant are there, in turn: rows of the database, copied from one job's."""
    number = "lpad(n::text, 26, '0')"
    states = "CASE WHEN n <= 30 THEN 'awaiting_approval' WHEN n % 10 = 0 THEN 'failed' ELSE 'published' END"
    changed = {
        "id": f"'job_' || {number}",
        "dataset_id": "d.ids[1 + n % d.count]",
        "account_id": "d.accounts[1 + n % d.count]",
        "reservation_id": "'res_' || n",
        "idempotency_key": "'copy-' || n",
        "content_hash": "md5(n::text) || md5(n::text)",
        "created_at": "r.created_at - n * interval '1 minute'",
        "state": states,
    }
    columns = [column.name for column in Job.__table__.columns]
    values = [changed.get(name, f'r."{name}"') for name in columns]
    named = ", ".join(f'"{name}"' for name in columns)
    session.execute(
        text(
            f"INSERT INTO jobs ({named}) SELECT {', '.join(values)} FROM jobs AS r, "
            f"generate_series(1, {jobs - 1}) AS n, (SELECT array_agg(id) AS ids, "
            "array_agg(account_id) AS accounts, count(*)::int AS count FROM datasets) AS d WHERE r.id = :job"
        ),
        {"job": job_id},
    )


def signed_in(stack: Stack) -> httpx.Client:
    """A browser's cookies, after the sign-in."""
    client = httpx.Client(base_url=stack.url, timeout=60)
    page = client.get("/console/sign-in").text
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
    assert found is not None
    client.post("/console/sign-in", data={"csrf": found[1], "key": stack.token})
    return client


def api_processes() -> list[psutil.Process]:
    """The api's processes: the first one, and those that serve."""
    mine = psutil.Process().children(recursive=True)
    alive = [each for each in mine if each.status() != psutil.STATUS_ZOMBIE]  # others have no command
    (first,) = [each for each in alive if each.cmdline()[-2:] == ["-m", "api"]]
    return [first, *first.children(recursive=True)]


def spent(processes: list[psutil.Process]) -> float:
    """CPU seconds of the processes until now."""
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def measured(client: httpx.Client, api: list[psutil.Process], path: str, times: int) -> list[float]:
    """Median and 95th percentile of the wall time, and the mean CPU time, in milliseconds."""
    assert client.get(path).status_code == 200, path  # templates and statements are compiled
    before, walls = spent(api), []
    for _ in range(times):
        began = time.perf_counter()
        answer = client.get(path)
        walls.append(1_000 * (time.perf_counter() - began))
        assert answer.status_code == 200, path
    cpu = 1_000 * (spent(api) - before) / times
    walls.sort()
    return [statistics.median(walls), walls[max(0, round(0.95 * times) - 1)], cpu]


def main() -> int:
    """The exit code: 1 where the median of a page is over the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    for name in ("PORT", "METRICS_PORT", "EXPORTER_PORT"):
        os.environ[f"GRAPHVEIL_{name}"] = str(free_port())
    os.environ |= {"GRAPHVEIL_RATE_LIMIT_PER_MINUTE": "0", "GRAPHVEIL_RATE_LIMIT_JOBS_PER_MINUTE": "0"}
    over = []
    with tempfile.TemporaryDirectory(prefix="gv-console-", dir="/tmp") as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        with Stack(folder / "stack") as stack, Graphveil(stack.url, stack.token) as service:
            schema = {"node_types": [{"count": NODES}], "edge_types": [{}]}
            dataset = service.register_dataset("ring", unit="edge", epsilon="90", graph_schema=schema)
            service.upload(dataset.id, edges(folder, NODES), part="edges")
            assert service.wait_ready(dataset.id).state == "ready"
            job = service.submit(dataset.id, epsilon="1", suite="quick", label=secrets.token_hex(4))
            assert service.wait(job.id).state == "published"
            service.wait_report(job.id)
            began = time.monotonic()
            for number in range(given.datasets - 1):
                name = f"another {number}"
                service.register_dataset(name, unit="edge", epsilon="90", graph_schema=schema)
            database = Database(stack.database_url, pool_size=1)
            with database.transaction() as session:
                seed(session, job.id, given.jobs)
            with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("ANALYZE"))
            database.dispose()
            print(f"seeded in {time.monotonic() - began:.0f} s", file=sys.stderr)
            api, client = api_processes(), signed_in(stack)
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
            print("| page | p50, ms | p95, ms | CPU of the api, ms |\n|---|---|---|---|")
            for name, path in PAGES.items():
                at = path.format(dataset=dataset.id, job=job.id)
                middle, high, cpu = measured(client, api, at, given.times)
                print(f"| {name} | {middle:.0f} | {high:.0f} | {cpu:.0f} |", flush=True)
                if middle > BAR_MILLISECONDS:
                    over.append(name)
    print(f"\nover {BAR_MILLISECONDS} ms: {', '.join(over) or 'none'}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())

"""How many jobs a second the gateway takes, over a real socket, with PostgreSQL on the same machine.

    python -m benchmarks.gateway_load [--seconds 10] [--connections 16] [--accounts 100] [--processes 2]

Starts PostgreSQL and Redis as the embedded stack does (durable commits), and ``python -m api``; no worker, so
that nothing else runs. The load is a process of its own: see :mod:`benchmarks.closed_loop`.
Prints a Markdown table: requests a second, latency, and CPU milliseconds a request of each part. Then the
same for ``ledger.reserve`` alone, one transaction each, from two processes. Exit status 1 when any answer was
not what it must be, or an account does not verify afterwards.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

from benchmarks import closed_loop
from benchmarks.closed_loop import Loop
from core import ids
from core.datasets.models import Dataset, DatasetState, DatasetVersion, VersionState
from core.db import migrate
from core.db.session import Database
from core.identity import service as identity
from core.identity.models import Role
from core.ledger import service as ledger
from deploy.local.servers import EmbeddedPostgres, EmbeddedRedis, free_port

ROOT = Path(__file__).resolve().parents[1]
TENANT = "bench"
NODES = 1_005
NANO = 10**7
WARM_SECONDS = 2.0
TICKS = os.sysconf("SC_CLK_TCK")
SCHEMA = {
    "node_types": [{"name": "person", "count": NODES}],
    "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
}


@dataclass(frozen=True)
class Target:
    """One dataset, the account it draws on, and the token of a key that may ask for it."""

    dataset_id: str
    account_id: str
    token: str


@dataclass(frozen=True)
class Measured:
    """One row of the table. CPU in milliseconds a request."""

    name: str
    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    api_ms: float
    database_ms: float
    load_ms: float


class Service:
    """The api as a process of its own, and the servers it stands on."""

    def __init__(self, folder: Path, processes: int, undo: ExitStack) -> None:
        postgres = undo.enter_context(EmbeddedPostgres(folder / "postgres", password=secrets.token_hex(16)))
        redis = EmbeddedRedis(folder / "redis", password=secrets.token_hex(16), log=folder / "redis.log")
        self.folder, self.database_url = folder, postgres.url
        self._postmaster = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
        migrate.upgrade(self.database_url)
        self.port, metrics_port = free_port(), free_port()
        self.environment = {
            **os.environ,
            "GRAPHVEIL_DATABASE_URL": self.database_url,
            "GRAPHVEIL_REDIS_URL": undo.enter_context(redis).url,
            "GRAPHVEIL_STORAGE_URL": (folder / "objects").as_uri(),
            "GRAPHVEIL_MASTER_KEY": secrets.token_hex(32),
            "GRAPHVEIL_FINGERPRINT_KEY": secrets.token_hex(32),
            "GRAPHVEIL_PORT": str(self.port),
            "GRAPHVEIL_METRICS_PORT": str(metrics_port),
            "GRAPHVEIL_API_PROCESSES": str(processes),
            # The limits are checked at every request, and never reached.
            "GRAPHVEIL_RATE_LIMIT_PER_MINUTE": str(10**7),
            "GRAPHVEIL_RATE_LIMIT_JOBS_PER_MINUTE": str(10**7),
            "GRAPHVEIL_MAX_OPEN_JOBS": str(10**6),
            "GRAPHVEIL_MAX_OPEN_KEY_JOBS": str(10**6),
        }
        (folder / "objects").mkdir()
        log = undo.enter_context((folder / "api.log").open("wb"))
        self._api = subprocess.Popen(
            [sys.executable, "-m", "api"], cwd=ROOT, env=self.environment, stderr=log
        )
        undo.callback(self._stop)
        self._wait(folder / "api.log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The api's first process."""
        return self._api.pid

    def cpu_seconds(self) -> tuple[float, float]:
        """CPU seconds so far of the api's and of PostgreSQL's processes."""
        return cpu_seconds_of(self._api.pid), cpu_seconds_of(self._postmaster)

    def _wait(self, log: Path) -> None:
        deadline = time.monotonic() + 300  # beside other work
        while time.monotonic() < deadline and self._api.poll() is None:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise RuntimeError(f"the api did not start:\n{log.read_text(errors='replace')[-2_000:]}")

    def _stop(self) -> None:
        self._api.terminate()
        self._api.wait(timeout=40)


def targets(service: Service, count: int) -> list[Target]:
    """That many ready datasets, each on an account of its own and with a key of its own."""
    database = Database(service.database_url, pool_size=2)
    found = []
    for number in range(count):
        with database.transaction() as session:
            roles = (Role.CURATOR, Role.REQUESTER)
            _, token = identity.create_key(session, tenant=TENANT, name=f"key-{number}", roles=roles)
        body = {"name": f"d{number}", "unit": "edge", "epsilon": "100000", "graph_schema": SCHEMA}
        headers = {"Authorization": f"Bearer {token}"}
        dataset_id = (
            httpx.post(f"{service.url}/datasets", json=body, headers=headers).raise_for_status().json()["id"]
        )
        with database.transaction() as session:
            # As after an upload and its validation: no request of the load opens the graph.
            dataset = session.get_one(Dataset, dataset_id)
            version = DatasetVersion(
                id=ids.new_id(ids.VERSION),
                dataset_id=dataset_id,
                number=1,
                state=VersionState.READY,
                graph_schema=dataset.graph_schema,
                node_counts={"person": NODES},
                ingest_report={"readings": {}},
            )
            session.add(version)
            dataset.state, dataset.current_version_id = DatasetState.READY, version.id
            found.append(Target(dataset_id, dataset.account_id, token))
    database.dispose()
    return found


def submissions(chosen: list[Target]) -> closed_loop.Next:
    """Jobs for the datasets in turn, each under a fresh key."""
    turn = itertools.cycle(chosen)
    # No two ask for the same: a request identical to an earlier one would be offered its release.
    nano = itertools.count(secrets.randbelow(8 * 10**7) + 10**7)

    def following() -> bytes:
        target = next(turn)
        headers = {"Authorization": f"Bearer {target.token}", "Idempotency-Key": secrets.token_hex(16)}
        epsilon = f"0.{next(nano):09}"
        body = json.dumps({"dataset_id": target.dataset_id, "epsilon": epsilon}).encode()
        return closed_loop.request("POST", "/v1/jobs", headers, body)

    return following


def reads(jobs: list[tuple[str, str, str]]) -> closed_loop.Next:
    """Looks at the jobs in turn: (token, path, ETag or nothing) each."""
    turn = itertools.cycle(jobs)

    def following() -> bytes:
        token, path, etag = next(turn)
        held = {"If-None-Match": etag} if etag else {}
        return closed_loop.request("GET", path, {"Authorization": f"Bearer {token}", **held})

    return following


def etag(service: Service, token: str, path: str) -> str:
    """The tag of the job as it stands."""
    answer = httpx.get(f"{service.url}{path}", headers={"Authorization": f"Bearer {token}"})
    return answer.raise_for_status().headers["ETag"]


def load(address: tuple[str, int], kind: str, given: list[Any], connections: int, seconds: float) -> Loop:
    """One closed loop; runs in the load's own process."""
    following = submissions(given) if kind == "submit" else reads(given)
    return closed_loop.run(address, following, connections=connections, seconds=seconds)


class Bench:
    """Loads one service, and keeps what it measured."""

    def __init__(
        self, service: Service, connections: int, seconds: float, load_process: ProcessPoolExecutor
    ) -> None:
        self.service, self.connections, self.seconds = service, connections, seconds
        self.rows: list[Measured] = []
        self._load = load_process

    def measure(self, name: str, kind: str, given: list[Any], status: int) -> Loop:
        """The row is kept; every answer had that status."""
        address = ("127.0.0.1", self.service.port)
        self._load.submit(load, address, kind, given, self.connections, WARM_SECONDS).result()
        before = self.service.cpu_seconds()
        found = self._load.submit(load, address, kind, given, self.connections, self.seconds).result()
        api, database = (b - a for a, b in zip(before, self.service.cpu_seconds(), strict=True))
        if set(found.statuses) != {status}:
            raise RuntimeError(f"{name}: {dict(found.statuses)}")
        self.rows.append(_row(name, found.seconds, found.elapsed_seconds, api, database, found.cpu_seconds))
        return found


def reserve_many(url: str, accounts: list[str], threads: int, seconds: float) -> tuple[list[float], float]:
    """Seconds of each reservation, one transaction each, and this process's CPU seconds."""
    database = Database(url, pool_size=threads)
    turn = itertools.cycle(accounts)

    def one(_: int) -> list[float]:
        taken = []
        while time.perf_counter() < ends:
            began = time.perf_counter()
            with database.transaction() as session:
                ledger.reserve(
                    session,
                    next(turn),
                    amounts={"epsilon": NANO},
                    unit="edge",
                    window=None,
                    job_id=ids.new_id(ids.JOB),
                    actor="bench",
                    expires_in_seconds=86_400.0,
                )
            taken.append(time.perf_counter() - began)
        return taken

    with ThreadPoolExecutor(threads) as pool:
        ends = time.perf_counter() + WARM_SECONDS
        list(pool.map(one, range(threads)))
        cpu, ends = time.process_time(), time.perf_counter() + seconds
        taken = list(itertools.chain.from_iterable(pool.map(one, range(threads))))
        cpu = time.process_time() - cpu
    database.dispose()
    return taken, cpu


def reservations(bench: Bench, name: str, accounts: list[str], pool: ProcessPoolExecutor) -> None:
    """The row of ``ledger.reserve`` alone: two processes, the connections shared between them."""
    threads = max(1, bench.connections // 2)
    before = bench.service.cpu_seconds()
    jobs = [
        pool.submit(reserve_many, bench.service.database_url, accounts, threads, bench.seconds)
        for _ in range(2)
    ]
    taken, cpu = zip(*(job.result() for job in jobs), strict=True)
    # The database worked through the warm-up too.
    share = bench.seconds / (bench.seconds + WARM_SECONDS)
    database = (bench.service.cpu_seconds()[1] - before[1]) * share
    every = list(itertools.chain.from_iterable(taken))
    bench.rows.append(_row(name, every, bench.seconds, 0.0, database, sum(cpu)))


def verified(service: Service, chosen: list[Target]) -> int:
    """How many entries the accounts have; RuntimeError where one does not verify."""
    database, entries = Database(service.database_url, pool_size=1), 0
    for target in chosen:
        with database.transaction() as session:
            found = ledger.verify(session, target.account_id)
        if not found.intact:
            raise RuntimeError(f"account {target.account_id} does not verify: {found}")
        entries += found.entries
    with database.transaction() as session:
        held = session.execute(text("SELECT count(*) FROM budget_holds")).scalar_one()
        jobs = session.execute(text("SELECT count(*) FROM jobs")).scalar_one()
    print(f"\n{jobs} jobs, {held} reservations, {entries} entries on {len(chosen)} accounts: all verify.")
    database.dispose()
    return entries


def _row(
    name: str, seconds: list[float], elapsed: float, api: float, database: float, load: float
) -> Measured:
    ordered, count = sorted(seconds), len(seconds)
    each = 1e3 / count
    return Measured(
        name=name,
        requests=count,
        per_second=count / elapsed,
        p50_ms=ordered[count // 2] * 1e3,
        p99_ms=ordered[count * 99 // 100] * 1e3,
        api_ms=api * each,
        database_ms=database * each,
        load_ms=load * each,
    )


def cpu_seconds_of(pid: int) -> float:
    """CPU seconds of a process and all below it, those that have ended included."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        tasks = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # it has ended since it was listed, and its parent's figure has its time
    total = sum(map(int, fields[11:15])) / TICKS
    return total + sum(cpu_seconds_of(int(child)) for children in tasks for child in children.split())


def table(rows: list[Measured]) -> Iterator[str]:
    """The rows as Markdown."""
    yield "| request | a second | p50 ms | p99 ms | CPU ms: api | PostgreSQL | load |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        yield (
            f"| {row.name} | {row.per_second:.0f} | {row.p50_ms:.1f} | {row.p99_ms:.1f} "
            f"| {row.api_ms:.2f} | {row.database_ms:.2f} | {row.load_ms:.2f} |"
        )


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield pool


def main() -> int:
    """One service, every row of the table, and a check of the ledger."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--accounts", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gv-load-"))
    folder.chmod(0o755)
    with ExitStack() as undo:
        service = Service(folder, asked.processes, undo)
        chosen = targets(service, asked.accounts)
        bench = Bench(service, asked.connections, asked.seconds, undo.enter_context(_workers(1)))
        made = bench.measure(f"POST /jobs, {asked.accounts} accounts", "submit", chosen, 202)
        bench.measure("POST /jobs, one account", "submit", chosen[:1], 202)
        paths = [closed_loop.value_of(head, b"location").decode() for head in made.heads]
        jobs = [(chosen[0].token, path, "") for path in paths[:1_000]]
        bench.measure("GET /jobs/{id}", "read", jobs, 200)
        held = [(token, path, etag(service, token, path)) for token, path, _ in jobs[:100]]
        bench.measure("GET /jobs/{id}, If-None-Match", "read", held, 304)
        pool = undo.enter_context(_workers(2))
        accounts = [target.account_id for target in chosen]
        reservations(bench, f"ledger.reserve, {asked.accounts} accounts", accounts, pool)
        reservations(bench, "ledger.reserve, one account", accounts[:1], pool)
        cores = os.cpu_count()
        print(f"{asked.processes} api processes, {asked.connections} connections, {cores} cores\n")
        print("\n".join(table(bench.rows)))
        verified(service, chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())

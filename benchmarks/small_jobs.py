"""How many of the smallest jobs one worker does in a minute, and what each costs it, on an embedded stack.

    python -m benchmarks.small_jobs [--jobs 100]

Jobs of 30 nodes by ``edgerand``, queued by one caller as fast as it can; objects lie in a folder, where
:mod:`benchmarks.drain` has an S3 server beside. The worker compiles its kernels first. CPU is that of the
worker, its fork server and its children, until the last job is published; comparisons come after, and their
transactions are counted too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.plan_latency import spent
from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil

NODES, WARM = 30, 5
LOOK_SECONDS, SETTLED_SECONDS = 0.05, 15.0
ASKED: dict[str, Any] = {"epsilon": "0.1", "method": "edgerand", "repeat": True}
COMMITTED = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


def running(module: str) -> list[psutil.Process]:
    """Processes below this one whose command line names the module."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            if module in " ".join(each.cmdline()):
                found.append(each)
    return found


def cpu_seconds() -> float:
    """CPU time of workers, fork servers and their children, those that have ended included."""
    return spent(running("worker.app") + running("worker.fork_server"))


def prepared(service: Graphveil, folder: Path) -> str:
    """The id of a ready dataset: a ring."""
    file = folder / "ring.csv"
    file.write_text("source,target\n" + "".join(f"{i},{(i + 1) % NODES}\n" for i in range(NODES)))
    schema = {"node_types": [{"count": NODES}], "edge_types": [{}]}
    dataset = service.register_dataset("ring", epsilon="1000", graph_schema=schema, unit="edge")
    service.upload(dataset.id, file, part="edges")
    service.wait_ready(dataset.id)
    return dataset.id


def published(service: Graphveil, dataset: str, count: int) -> float:
    """Seconds from the first submission until so many jobs are published."""
    began = time.perf_counter()
    jobs = [service.submit(dataset, **ASKED).id for _ in range(count)]
    for job in jobs:
        while (state := service.job(job).state) != "published":
            if state in ("failed", "cancelled"):
                raise SystemExit(f"{job} has {state}")
            time.sleep(LOOK_SECONDS)
    return time.perf_counter() - began


def transactions(service: Graphveil, dataset: str, database_url: str, count: int) -> float:
    """Transactions that a job takes, from its submission to its comparison, what idles taken off."""

    def committed() -> int:
        with psycopg.connect(database_url.replace("postgresql+psycopg", "postgresql")) as connection:
            row = connection.execute(COMMITTED).fetchone()
        assert row is not None
        return int(row[0])

    time.sleep(SETTLED_SECONDS)
    idle, began = committed(), time.monotonic()
    time.sleep(SETTLED_SECONDS)
    rate = (committed() - idle) / (time.monotonic() - began)
    before, began = committed(), time.monotonic()
    jobs = [service.submit(dataset, **ASKED).id for _ in range(count)]
    time.sleep(count / 2 + SETTLED_SECONDS)
    spent_until_now, seconds = committed() - before, time.monotonic() - began
    if any(service.job(job).state != "published" for job in jobs):
        raise SystemExit("a job is not published yet; run fewer")
    return (spent_until_now - rate * seconds) / count


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100)
    count = parser.parse_args().jobs
    with (
        tempfile.TemporaryDirectory() as temporary,
        Stack(Path(temporary) / "stack") as stack,
        Graphveil(stack.url, stack.token) as service,
    ):
        dataset = prepared(service, Path(temporary))
        while running("worker.kernels"):
            time.sleep(1)
        published(service, dataset, WARM)
        before = cpu_seconds()
        seconds = published(service, dataset, count)
        cpu = (cpu_seconds() - before) / count
        each = transactions(service, dataset, stack.database_url, min(count, 40))
    print("| jobs | a minute, one worker | CPU s a job, its children included | transactions a job |")
    print("|---:|---:|---:|---:|")
    print(f"| {count} | {60 * count / seconds:.0f} | {cpu:.2f} | {each:.0f} |")


if __name__ == "__main__":
    main()

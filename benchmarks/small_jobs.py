"""How many of the smallest jobs one worker does in a minute, and what each costs it, on an embedded stack.

    python -m benchmarks.small_jobs [--jobs 100]

Jobs of 30 nodes by ``edgerand``, queued by one caller as fast as it can; objects lie in a folder, where
:mod:`benchmarks.drain` has an S3 server beside. The worker compiles its kernels first. CPU is that of the
worker, its fork server and its children, until the last job is published; comparisons come after.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.plan_latency import spent
from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil

NODES, WARM = 30, 5
LOOK_SECONDS = 0.05


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
    asked = {"epsilon": "0.1", "method": "edgerand", "repeat": True}
    began = time.perf_counter()
    jobs = [service.submit(dataset, **asked).id for _ in range(count)]
    for job in jobs:
        while (state := service.job(job).state) != "published":
            if state in ("failed", "cancelled"):
                raise SystemExit(f"{job} has {state}")
            time.sleep(LOOK_SECONDS)
    return time.perf_counter() - began


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
    print("| jobs | a minute, one worker | CPU s a job, its children included |\n|---:|---:|---:|")
    print(f"| {count} | {60 * count / seconds:.0f} | {cpu:.2f} |")


if __name__ == "__main__":
    main()

"""A release in shards through the service: upload, ingest, fit, shards and join, by HTTP on a local stack.

    python -m benchmarks.sharded_service --folder FOLDER
    python -m benchmarks.sharded_service --nodes 1000000 --edges 20000000 --folder FOLDER

The graph of :mod:`benchmarks.sharded`, 2,000,000 edges unless said otherwise, is planted as Parquet files,
which are uploaded one after the other to a dataset that is declared in parts. One worker does the job: it
fits, takes the shards one by one, and joins them. All files are downloaded, their digests checked, and the
edges counted again. FOLDER must be empty; what is in it is deleted.

CPU seconds are those of the service's processes with their children, ended ones included; peak memory is that
of the largest child of the stage, looked at ten times a second.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq

from benchmarks.plan_latency import spent
from benchmarks.small_jobs import running
from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil
from worker.limits import PROCESS_NAME

LOOK_SECONDS = 0.1


@dataclass
class Stage:
    """What a stage took, and the largest child that was seen in it."""

    wall: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0


@dataclass
class Meter:
    """Watches the service's children; ``stages`` by name, in order."""

    stages: dict[str, Stage] = field(default_factory=dict)
    _largest: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Look at the children until it is over."""
        while not self._over.wait(LOOK_SECONDS):
            for each in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):  # it has just ended
                    if each.name().startswith(PROCESS_NAME):
                        self._largest = max(self._largest, each.memory_info().rss / 1e6)

    def stop(self) -> None:
        self._over.set()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began, before, self._largest = time.perf_counter(), cpu_seconds(), 0.0
        yield
        self.stages[name] = Stage(time.perf_counter() - began, cpu_seconds() - before, self._largest)


def cpu_seconds() -> float:
    """CPU time of the service's processes and of their children, those that have ended included."""
    return spent({each.pid: each for name in ("-m api", "worker.") for each in running(name)}.values())


def planted(asked: argparse.Namespace) -> list[Path]:
    """The graph as files, made by a process of its own."""
    command = [sys.executable, "-m", "benchmarks.sharded", "--stage", "plant", "--folder", str(asked.folder)]
    command += ["--nodes", str(asked.nodes), "--edges", str(asked.edges)]
    subprocess.run(command, check=True, capture_output=True)
    return sorted((asked.folder / "upload").iterdir())


def until(look: Callable[[], Any]) -> Any:
    """The first true answer."""
    while not (found := look()):
        time.sleep(LOOK_SECONDS)
    return found


def released(asked: argparse.Namespace, service: Graphveil, files: list[Path], meter: Meter) -> str:
    """Upload, ingest and release the graph; the job's id."""
    schema = {"node_types": [{"count": asked.nodes}], "edge_types": [{}]}
    dataset = service.register_dataset(
        "sharded", unit="edge", epsilon="10", graph_schema=schema, in_parts=True
    )
    with meter.stage(f"upload, {len(files)} files"):
        for number, path in enumerate(files, start=1):
            service.upload(dataset.id, path, part=f"edges-{number}-of-{len(files)}", format="parquet")
    with meter.stage("ingest"):
        service.wait_ready(dataset.id)

    def came(done: Callable[[Any], bool]) -> Any:
        def look() -> Any:
            found = service.job(job.id)
            if found.state in ("failed", "cancelled"):
                raise SystemExit(f"the job has {found.state}: {found.reason}")
            return found if done(found) else None

        return until(look)

    with meter.stage("fit and law"):
        job = service.submit(dataset.id, epsilon="1")
        total = came(lambda found: found.shards is not None).shards.total
    with meter.stage(f"{total} shards"):
        came(lambda found: found.shards.drawn == found.shards.total)
    with meter.stage("join and commit"):
        came(lambda found: found.state == "published")
    return str(job.id)


def checked(service: Graphveil, job: str, folder: Path, meter: Meter) -> tuple[int, float]:
    """Download all files, whose digests are checked; edges and megabytes. ValueError where they differ."""
    names = [each.name for each in service.artifacts(job) if each.name.startswith("edges-")]
    folder.mkdir()
    with meter.stage("download, digests checked"):
        for name in names:
            service.download(job, name, folder / name)
    edges, last = 0, -1
    for path in sorted(folder.iterdir()):
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                source = file.read_row_group(group, columns=["source"])["source"].to_numpy()
                if len(source) and (source[0] < last or (np.diff(source) < 0).any()):
                    raise ValueError("sources come unsorted")
                edges, last = edges + len(source), int(source[-1]) if len(source) else last
    (told,) = service.report(job)["public"]["statistics"]["edge_types"]
    if told["edges"] != edges:
        raise ValueError(f"the report tells of {told['edges']} edges, the files hold {edges}")
    return edges, sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=2_000_000)
    parser.add_argument("--shards", type=int, default=5, help="about how many")
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    if any(asked.folder.iterdir()):
        parser.error("FOLDER is not empty")
    os.environ["GRAPHVEIL_SHARD_EDGES"] = str(-(-asked.edges // asked.shards))
    meter = Meter()
    try:
        files = planted(asked)
        with Stack(asked.folder / "stack") as stack, Graphveil(stack.url, stack.token) as service:
            watcher = threading.Thread(target=meter.watch, daemon=True)
            watcher.start()
            job = released(asked, service, files, meter)
            edges, megabytes = checked(service, job, asked.folder / "release", meter)
            meter.stop()
            watcher.join()
    finally:
        shutil.rmtree(asked.folder)
    print("| stage | CPU s | wall s | peak MB |\n|---|---:|---:|---:|")
    for name, took in meter.stages.items():
        print(f"| {name} | {took.cpu:.0f} | {took.wall:.0f} | {took.peak:.0f} |")
    cpu, wall = (sum(getattr(each, name) for each in meter.stages.values()) for name in ("cpu", "wall"))
    print(f"| all | {cpu:.0f} | {wall:.0f} | {max(each.peak for each in meter.stages.values()):.0f} |")
    print(f"\n{edges:,} edges in {megabytes:.0f} MB of parts; the report tells of as many.")


if __name__ == "__main__":
    main()

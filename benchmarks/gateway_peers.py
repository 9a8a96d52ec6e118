"""What a POST and a GET cost beside the least that a gateway could be, before and after, by turns.

    python -m benchmarks.gateway_peers [--before ../former] [--rounds 3] [--seconds 4] [--connections 8]

The servers, datasets and load of :mod:`benchmarks.gateway_load`; beside the api, on the same database, that
of another checkout, and :mod:`benchmarks.gateway_floor`, with as many processes. Each round goes through all
rows, so that what else runs on the machine meets each alike. Prints a Markdown table: CPU milliseconds of the
processes a request (the median of the rounds, the least and the most), the median over the one INSERT's, and
requests a second.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks import closed_loop
from benchmarks.gateway_load import ROOT, Service, Target, cpu_seconds_of, load, targets
from deploy.local.servers import free_port

WARM_SECONDS, START_SECONDS = 1.0, 120.0
INSERT = "one INSERT by SQLAlchemy in bare FastAPI"


@dataclass
class Row:
    """What is asked of which process, and what was measured."""

    name: str
    port: int
    pid: int
    kind: str
    given: Callable[[], Any]
    status: int
    cpu_ms: list[float] = field(default_factory=list)
    a_second: list[float] = field(default_factory=list)


def beside(command: list[str], tree: Path, service: Service, asked: str, undo: ExitStack) -> tuple[int, int]:
    """Port and process id of a server on the service's database, once ``asked`` answers there."""
    port = free_port()
    environment = service.environment | {"PYTHONPATH": f"{tree}:{tree / 'client'}"}
    environment |= {"GRAPHVEIL_PORT": str(port), "GRAPHVEIL_METRICS_PORT": str(free_port())}
    log = undo.enter_context((service.folder / f"{port}.log").open("wb"))
    told = [each.format(port=port) for each in command]
    process = subprocess.Popen(
        [sys.executable, *told],
        cwd=tree,
        env=environment,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    undo.callback(functools.partial(process.wait, timeout=40))
    undo.callback(process.terminate)
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        try:
            httpx.get(f"http://127.0.0.1:{port}{asked}", timeout=5)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return port, process.pid
    raise RuntimeError(f"{command} did not start:\n{Path(log.name).read_text()[-2_000:]}")


def bodies(path: str) -> closed_loop.Next:
    """The body of a submission, sent to a floor."""
    body = json.dumps({"dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e", "epsilon": "0.123456789"}).encode()
    return functools.partial(closed_loop.request, "POST", path, {}, body)


def floor_load(address: tuple[str, int], path: str, connections: int, seconds: float) -> closed_loop.Loop:
    """The load of a floor; runs in the load's own process."""
    return closed_loop.run(address, bodies(path), connections=connections, seconds=seconds)


def measure(row: Row, asked: argparse.Namespace, pool: ProcessPoolExecutor) -> list[bytes]:
    """Add one round to the row. Returned are the heads of the answers."""
    address, given = ("127.0.0.1", row.port), row.given()

    def loaded(seconds: float) -> closed_loop.Loop:
        if row.kind == "floor":
            return pool.submit(floor_load, address, given, asked.connections, seconds).result()
        return pool.submit(load, address, row.kind, given, asked.connections, seconds).result()

    loaded(WARM_SECONDS)
    before = cpu_seconds_of(row.pid)
    found = loaded(asked.seconds)
    if set(found.statuses) != {row.status}:
        raise RuntimeError(f"{row.name}: {dict(found.statuses)}")
    count = len(found.seconds)
    row.cpu_ms.append(1e3 * (cpu_seconds_of(row.pid) - before) / count)
    row.a_second.append(count / found.elapsed_seconds)
    return found.heads


def rows_of(service: Service, chosen: list[Target], asked: argparse.Namespace, undo: ExitStack) -> list[Row]:
    """Every line of the table."""
    workers = str(asked.processes)
    command = ["-m", "uvicorn", "benchmarks.gateway_floor:app", "--port", "{port}", "--workers", workers]
    port, pid = beside([*command, "--no-access-log"], ROOT, service, "/openapi.json", undo)
    rows = [
        Row(name, port, pid, "floor", functools.partial(str, path), 202)
        for name, path in (("bare FastAPI", "/nothing"), (INSERT, "/rows"))
    ]
    apis = {"": (service.port, service.pid)}
    if asked.before:
        tree = asked.before.resolve()
        former = beside(["-m", "api"], tree, service, "/readyz", undo)
        apis = {", before": former, ", after": apis[""]}
    made: list[object] = []
    for title, (port, pid) in apis.items():
        rows.append(Row(f"`POST /jobs`{title}", port, pid, "submit", lambda: list(chosen), 202))
    for title, (port, pid) in apis.items():
        rows.append(Row(f"`POST /jobs`, one account{title}", port, pid, "submit", lambda: chosen[:1], 202))
    for title, (port, pid) in apis.items():
        rows.append(Row(f"`GET /jobs/{{id}}`{title}", port, pid, "read", lambda: made, 200))
    heads = measure(rows[2], asked, undo.enter_context(ProcessPoolExecutor(1, get_context("spawn"))))
    rows[2].cpu_ms.clear()
    rows[2].a_second.clear()
    paths = [closed_loop.value_of(head, b"location").decode() for head in heads]
    made += [(chosen[0].token, path, "") for path in paths[:1_000]]
    return rows


def main() -> int:
    """Measure by turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout, measured beside this one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--accounts", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gv-peers-"))
    folder.chmod(0o755)
    with ExitStack() as undo:
        service = Service(folder, asked.processes, undo)
        chosen = targets(service, asked.accounts)
        rows = rows_of(service, chosen, asked, undo)
        pool = undo.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
        for row in itertools.chain.from_iterable(itertools.repeat(rows, asked.rounds)):
            measure(row, asked, pool)
        told = f"{asked.processes} processes each, {asked.connections} connections, {asked.rounds} rounds"
        print(f"{told}, load {os.getloadavg()[0]:.1f}\n")
        print(
            "| | CPU ms a request | least to most | times the INSERT | a second |\n|---|---:|---:|---:|---:|"
        )
        insert = median(next(row for row in rows if row.name == INSERT).cpu_ms)
        for row in rows:
            cpu = median(row.cpu_ms)
            print(
                f"| {row.name} | {cpu:.2f} | {min(row.cpu_ms):.2f} to {max(row.cpu_ms):.2f} "
                f"| {cpu / insert:.1f} | {median(row.a_second):.0f} |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

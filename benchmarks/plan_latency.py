"""Milliseconds of a plan and of a menu of 50 over HTTP, on an embedded stack, and the service's CPU.

    python -m benchmarks.plan_latency [--rounds 60]

A static graph of 4,039 nodes and a temporal one of 1,899 nodes in 52 snapshots under w-event, both random: a
plan looks at neither. One caller, one request at a time; the first requests are left out.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil

WARM = 5
EPSILONS = [f"{0.1 * k:.1f}" for k in range(1, 11)]
STATIC = ["dcsbm", "psgraph", "dgg", "degree_triangle", "anchored"]
TIMED = ["keyframe", "psgraph", "anchored", "dcsbm", "dgg"]


def prepared(service: Graphveil, folder: Path, name: str, nodes: int, steps: int) -> str:
    """The id of a ready dataset of random edges."""
    rng = np.random.default_rng(1)
    columns = [*rng.integers(0, nodes, (2, 20_000)), *([rng.integers(0, steps, 20_000)] if steps else [])]
    header = "source,target" + (",time" if steps else "")
    np.savetxt(folder / f"{name}.csv", np.column_stack(columns), "%d", ",", header=header, comments="")
    schema: dict[str, Any] = {
        "node_types": [{"count": nodes}],
        "edge_types": [{"temporal": steps > 0}],
    }
    terms: dict[str, Any] = {"unit": "edge"}
    if steps:
        schema["time"] = {"start": 0, "width": 1, "count": steps}
        terms = {"unit": "w-event", "window": 5}
    dataset = service.register_dataset(name, epsilon="100", graph_schema=schema, **terms)
    service.upload(dataset.id, folder / f"{name}.csv", part="edges")
    assert service.wait_ready(dataset.id).state == "ready"
    return dataset.id


def spent(processes: Iterable[psutil.Process]) -> float:
    """CPU time of the processes, and of their children that have ended."""
    total = 0.0
    for process in processes:
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def cpu_seconds() -> float:
    """CPU time of every process that this one started, those that have ended included: the service, its
    workers, PostgreSQL and Redis."""
    return spent(psutil.Process().children(recursive=True))


def timed(call: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Median and 95th percentile of a call, and the service's CPU for one, in milliseconds."""
    taken, before = [], 0.0
    for number in range(rounds + WARM):
        if number == WARM:
            before = cpu_seconds()
        start = time.perf_counter()
        call()
        taken.append(1000 * (time.perf_counter() - start))
    cpu = 1000 * (cpu_seconds() - before) / rounds
    rest = sorted(taken[WARM:])
    return statistics.median(rest), rest[int(0.95 * len(rest))], cpu


def requests(service: Graphveil, dataset: str, methods: list[str]) -> dict[str, Callable[[], object]]:
    """What is asked of a dataset, by name."""
    assume = {"edges": 20_000}
    one: dict[str, Any] = {"method": methods[0], "assume": assume}
    return {
        "plan": lambda: service.plan(dataset, epsilon="1", **one),
        "plan of auto": lambda: service.plan(dataset, epsilon="1", assume=assume),
        "target": lambda: service.plan(dataset, target={"edges_relative_95": 0.02}, **one),
        "menu of 50": lambda: service.menu(dataset, methods=methods, epsilons=EPSILONS, assume=assume),
    }


def main() -> None:
    """Print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=60)
    rounds = arguments.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with Stack(folder / "stack") as stack, Graphveil(stack.url, stack.token) as service:
            print("| dataset | request | p50 ms | p95 ms | CPU ms |\n|---|---|---|---|---|")
            for name, nodes, steps, methods in (
                ("static", 4_039, 0, STATIC),
                ("52 snapshots", 1_899, 52, TIMED),
            ):
                dataset = prepared(service, folder, name, nodes, steps)
                calls = requests(service, dataset, methods)
                for title, call in calls.items():
                    p50, p95, cpu = timed(call, rounds)
                    print(f"| {name} | {title} | {p50:.0f} | {p95:.0f} | {cpu:.0f} |", flush=True)


if __name__ == "__main__":
    main()

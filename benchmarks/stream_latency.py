"""How long a snapshot of a live stream takes, from its push to its publication, on an embedded stack.

    python -m benchmarks.stream_latency [--steps 30] [--method keyframe] [--pause 0]

A stream of 1,000 nodes under w-event, with some 1,000 edges a step. One caller sends a snapshot, asks for it
until it is published, and sends the next after a pause, in which the comparison with the original may end.
What is printed holds the answer to the push, its check, the turn of the queue, the release by a worker's
child, and the writing of files and ledger. CPU is that of all processes of the stack, comparisons and pauses
included. The first steps are left out.
"""

from __future__ import annotations

import argparse
import io
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.plan_latency import cpu_seconds
from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil

NODES, EDGES, WINDOW, WARM = 1_000, 1_000, 5, 3
LOOK_SECONDS = 0.01


def snapshot(step: int) -> bytes:
    """The rows of one step."""
    ends = np.random.default_rng(step).integers(0, NODES, (EDGES, 2))
    text = io.StringIO()
    np.savetxt(text, ends, "%d", ",", header="source,target", comments="")
    return text.getvalue().encode()


def opened(service: Graphveil, folder: Path, method: str) -> str:
    """The id of an open stream."""
    schema = {
        "node_types": [{"count": NODES}],
        "edge_types": [{"temporal": True}],
        "time": {"start": 0, "width": 1, "count": 100},
    }
    dataset = service.register_dataset(
        "live", epsilon="4", graph_schema=schema, unit="w-event", window=WINDOW
    )
    nothing = folder / "nothing.csv"
    nothing.write_text("source,target,time\n")
    service.upload(dataset.id, nothing, part="edges")
    service.wait_ready(dataset.id)
    return service.streams.create(dataset.id, epsilon="1", method=method).id


def seconds_of(service: Graphveil, stream: str, step: int, pause: float) -> tuple[float, float]:
    """Seconds until the push was answered, and until the step was published."""
    time.sleep(pause)
    began = time.perf_counter()
    service.streams.push(stream, snapshot(step), step=step, patience_seconds=60)
    answered = time.perf_counter() - began
    while (state := service.streams.snapshot(stream, step).state) != "published":
        if state in ("failed", "refused", "cancelled"):
            raise SystemExit(f"step {step} is {state}")
        time.sleep(LOOK_SECONDS)
    return answered, time.perf_counter() - began


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--method", default="keyframe")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between a publication and a push")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as temporary,
        Stack(Path(temporary) / "stack") as stack,
        Graphveil(stack.url, stack.token) as service,
    ):
        stream = opened(service, Path(temporary), asked.method)
        for step in range(WARM):
            seconds_of(service, stream, step, asked.pause)
        before = cpu_seconds()
        found = [seconds_of(service, stream, step, asked.pause) for step in range(WARM, WARM + asked.steps)]
        cpu = (cpu_seconds() - before) / asked.steps
    print("| method | steps | push answered, p50 s | published, p50 s | p95 s | longest s | CPU s a step |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    answered, published = ([each[place] for each in found] for place in (0, 1))
    late = sorted(published)
    p50s = f"{statistics.median(answered):.3f} | {statistics.median(published):.2f}"
    rest = f"{late[int(0.95 * len(late))]:.2f} | {late[-1]:.2f} | {cpu:.2f}"
    print(f"| `{asked.method}` | {asked.steps} | {p50s} | {rest} |")


if __name__ == "__main__":
    main()

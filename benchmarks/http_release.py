"""Publishes research graphs through the HTTP API and prints what their curators' reports say.

    python -m benchmarks.http_release --facebook Facebook.txt --college CollegeMsg.txt [--runs 5] [--method M]

Starts an embedded stack in a temporary folder. Facebook: static, unit edge, epsilon 1. CollegeMsg: 28-day
windows, unit w-event, w 5, epsilon 1. Without a method the service chooses (auto). Node ids are shuffled
first: their order gives communities away.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np

from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil

DAY_SECONDS = 86_400
WINDOW_DAYS = 28


def shuffled(source: np.ndarray, target: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same edges under fresh node numbers 0..count-1."""
    names = np.random.default_rng().permutation(count)
    return names[source], names[target]


def facebook(path: Path, folder: Path) -> tuple[Path, dict]:
    """An uploadable edge list, and the terms to register it under."""
    edges = np.loadtxt(path, dtype=np.int64)
    count = int(edges.max()) + 1
    columns = shuffled(edges[:, 0], edges[:, 1], count)
    np.savetxt(
        folder / "facebook.csv", np.column_stack(columns), "%d", ",", header="source,target", comments=""
    )
    schema = {"node_types": [{"count": count}], "edge_types": [{}]}
    return folder / "facebook.csv", {"unit": "edge", "graph_schema": schema}


def college(path: Path, folder: Path) -> tuple[Path, dict]:
    """An uploadable event list, and the terms to register it under."""
    events = np.loadtxt(path, dtype=np.int64)
    count = int(events[:, :2].max())
    source, target = shuffled(events[:, 0] - 1, events[:, 1] - 1, count)
    start, end = int(events[:, 2].min()), int(events[:, 2].max())
    width = WINDOW_DAYS * DAY_SECONDS
    rows = np.column_stack([source, target, events[:, 2]])
    np.savetxt(folder / "college.csv", rows, "%d", ",", header="source,target,time", comments="")
    schema = {
        "node_types": [{"count": count}],
        "edge_types": [{"temporal": True}],
        "time": {"start": start, "width": width, "count": (end - start) // width + 1},
    }
    return folder / "college.csv", {"unit": "w-event", "window": 5, "graph_schema": schema}


def publish(
    service: Graphveil, name: str, file: Path, terms: dict, runs: int, method: str | None
) -> list[dict]:
    """The curator reports of ``runs`` releases, epsilon 1 each; ``method`` None leaves the choice open."""
    request = {"repeat": True} | ({} if method is None else {"method": method})
    dataset = service.register_dataset(name, epsilon=str(runs), **terms)
    service.upload(dataset.id, file, part="edges")
    dataset = service.wait_ready(dataset.id)
    assert dataset.state == "ready", dataset
    reports = []
    for run in range(runs):
        job = service.wait(service.submit(dataset.id, epsilon="1", **request).id)
        assert job.state == "published", job
        reports.append(service.wait_report(job.id)["curator"])
        print(f"{name}: {job.method}, run {run + 1} of {runs}", flush=True)
    print(f"{name}: charged {service.budget(dataset.id).charged.epsilon} of {runs}")
    return reports


def show(name: str, reports: list[dict]) -> None:
    """Mean and standard deviation over the runs of every overall figure."""
    print(f"\n## {name}\n\n| figure | mean | sd |\n|---|---|---|")
    overall = [report["comparison"]["overall"] for report in reports]
    for group, pick in (("scalars", "relative_error"), ("distances", None)):
        for figure in overall[0][group]:
            values = [run[group][figure] for run in overall]
            numbers = [v[pick] if pick else v for v in values]
            if any(v is None for v in numbers):
                continue
            spread = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
            print(f"| {figure} | {statistics.mean(numbers):.4f} | {spread:.4f} |")


def main() -> None:
    """Prints one table a graph."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--facebook", type=Path)
    arguments.add_argument("--college", type=Path)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--method")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with Stack(folder / "stack") as stack, Graphveil(stack.url, stack.token) as service:
            for name, prepare, path in (
                ("facebook", facebook, asked.facebook),
                ("college", college, asked.college),
            ):
                if path is not None:
                    file, terms = prepare(path, folder)
                    show(name, publish(service, name, file, terms, asked.runs, asked.method))


if __name__ == "__main__":
    main()

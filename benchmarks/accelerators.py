"""The learned methods and networks on a GPU, or on this machine's CPU at smaller sizes: one table.

    python -m benchmarks.accelerators                     the device that torch sees; whole sizes on a GPU
    python -m benchmarks.accelerators --device cpu        the same code at sizes for a CPU
    python -m benchmarks.accelerators --only "thepuff, ML-100k" --size whole --data FOLDER

Each line is a process of its own, which first does the same with a small graph: what is compiled, loaded, or
begun on the device, its context included, is not timed. ``held MB``: the most that torch has allocated on the
GPU; ``MB``: the process's largest. Graphs are generated with the shapes that the lines name; with ``--data``
ML-100k, ACM and the 68 networks of DBLP are the research graphs themselves. Bars, of a GPU of the class of an
H100: those of the column. A line that is not through within ``--seconds`` (420) of the whole call is left out
and said to be, so that a call ends within eight minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs import community_graph
from core.graphs.graph import Graph
from core.methods.base import PublicFacts, no_progress
from core.privacy.entropy import noise_generator
from core.privacy.units import Unit

SMALL, CPU, WHOLE = "small", "cpu", "whole"
DELTA_ATTO = 10**12


@dataclass(frozen=True)
class Line:
    """What is run at a size, with the research graphs' folder, if any; its bar on a GPU, in seconds."""

    run: Callable[[str, Path | None], str]
    bar: float | None


def fit(graph: Graph, method: str, params: dict[str, Any], epsilon: float, unit: Unit = Unit.EDGE) -> str:
    """Fit and draw once; the graph's size in words."""
    from core.methods.registry import get
    from core.privacy.accounting.meter import MemoryRecorder, Meter
    from core.privacy.session.private_graph import PrivateGraph

    generator = get(method)
    asked = generator.Params.model_validate(params)
    names = tuple(each.name for each in graph.schema.edge_types if not each.public)
    facts = PublicFacts(graph.schema, unit, None, int(epsilon * 10**9), DELTA_ATTO, names)
    plan = generator.plan(asked, facts)
    model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, asked, no_progress)
    model.sample(noise_generator(), no_progress)
    nodes, edges = (sum(each.count for each in part.values()) for part in (graph.nodes, graph.edges))
    return f"{nodes:,} nodes, {edges:,} edges"


def thepuff(shape: str, shares: dict[str, float]) -> Callable[[str, Path | None], str]:
    """A whole run of THEPUFF, both discriminators, on a graph of that shape, or on ML-100k itself."""

    def run(size: str, data: Path | None) -> str:
        from benchmarks.typed_graphs import SHAPES, load_dataset, shaped

        bounded = {SMALL: (2, 2), CPU: (10, 5), WHOLE: (500, 80)}[size]
        params = dict(zip(("most_batches", "utility_steps"), bounded, strict=True)) | {"utility": True}
        if shape == "ml-100k" and size == WHOLE and data is not None:
            graph = load_dataset(shape, data)
        else:
            graph = shaped(SHAPES["ml-20m"].scaled(shares[size]))
        return fit(graph, "thepuff", params, 8.0, Unit.EVENT)

    return run


def ppgsl(nodes: dict[str, int]) -> Callable[[str, Path | None], str]:
    """A whole run of PPGSL on a random graph of mean degree 10."""

    def run(size: str, data: Path | None) -> str:
        from papers.ppgsl.benchmarks.data import random_graph

        steps = {SMALL: {"steps": 4, "surrogate_steps": 4}, CPU: {"steps": 50}}.get(size, {})
        return fit(random_graph(nodes[size], 10), "ppgsl", steps, 1.0)

    return run


def networks(size: str, data: Path | None) -> str:
    """DPGGAN with the paper's networks and decoder, all graphs of one collection in one pass."""
    from benchmarks.small_graphs import load_labelled
    from papers.dpggan.benchmarks.rows import PAPERS_DECODER, ROWS, Row, release_together

    label = "accelerators: joint"
    few = {"epochs": 2, "steps": 2} if size == SMALL else {}
    ROWS[label] = Row("dpggan", PAPERS_DECODER | {"joint": True} | few, delta=True, together=True)
    if data is not None and size != SMALL:
        file = data / "dpggan_networks" / "relabeled_dblp2.jsonl.gz"
        graphs = [graph for graph, _ in load_labelled(file, 10)]
    else:
        sizes = np.random.default_rng(0).lognormal(4.7, 0.9, {SMALL: 3, CPU: 68, WHOLE: 68}[size])
        graphs = [community_graph(int(n), int(1.3 * n)) for n in np.clip(sizes, 12, 900)]
    release_together(label, graphs, 1.0)
    return f"{len(graphs)} networks, {sum(g.nodes['node'].count for g in graphs):,} nodes"


def hetesdg(size: str, data: Path | None) -> str:
    """HeteSDG with its link predictor."""
    from papers.hetesdg.benchmarks.data import load
    from papers.hetesdg.benchmarks.rows import Row, fitted
    from papers.hetesdg.benchmarks.scale import planted

    steps = {SMALL: 2, CPU: 60, WHOLE: 200}[size]
    row = Row("hetesdg", {"release": ("embedding",), "learn": "link-sgd", "steps": steps}, delta=True)
    if data is not None and size == WHOLE:
        graph = load("acm", data)
    else:
        graph = planted({SMALL: 600, CPU: 3_000, WHOLE: 17_000}[size])
    fitted(row, graph, 1.0)
    return f"{sum(each.count for each in graph.edges.values()):,} links, {steps} steps"


def gin(size: str, data: Path | None) -> str:
    """GIN on graphs of two kinds, in batches of 32."""
    from core.evaluation.learning.gin import fitted_predictions
    from papers.dpggan.benchmarks.rows import view

    count = {SMALL: 4, CPU: 60, WHOLE: 2_000}[size]
    views = [view(community_graph(60, 90 + 60 * (k % 2))) for k in range(count)]
    label = np.arange(count) % 2
    fitted_predictions(views, label, views, 2, 0)
    return f"{count:,} graphs of 60 nodes"


def seal(size: str, data: Path | None) -> str:
    """SEAL trained on enclosing subgraphs in batches of 128, and its scores of pairs."""
    from core.evaluation.learning.seal import Seal
    from papers.dpggan.benchmarks.rows import view

    links, pairs = {SMALL: (20, 20), CPU: (100, 200), WHOLE: (2_000, 20_000)}[size]
    of, rng = view(community_graph(3_000, 12_000)), np.random.default_rng(0)
    Seal(0, training_links=links).score(of, *rng.integers(0, 3_000, (2, pairs)))
    return f"{links:,} links, {pairs:,} pairs scored"


LINES: dict[str, Line] = {
    "GIN": Line(gin, None),
    "SEAL": Line(seal, None),
    "hetesdg, link predictor": Line(hetesdg, 10),
    "dpggan, 68 networks in one pass": Line(networks, 60),
    "ppgsl, 100,000 nodes": Line(ppgsl({SMALL: 200, CPU: 1_000, WHOLE: 100_000}), 60),
    "thepuff, ML-100k": Line(thepuff("ml-100k", {SMALL: 0.0002, CPU: 0.001, WHOLE: 0.005}), 60),
    "ppgsl, 500,000 nodes": Line(ppgsl({SMALL: 200, CPU: 2_000, WHOLE: 500_000}), 600),
    "thepuff, ML-20M's shape": Line(thepuff("ml-20m", {SMALL: 0.0002, CPU: 0.002, WHOLE: 1.0}), 900),
}
"""Shortest first: what a call has no time for is left out."""


def child(label: str, size: str, device: str, data: Path | None) -> None:
    """Measure one line in this process, and print it as JSON."""
    import torch

    from core.learning import devices

    torch.set_num_threads(1)
    with devices.on(device) as place:
        LINES[label].run(SMALL, None)
        if place.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        cpu, wall = time.process_time(), time.perf_counter()
        what = LINES[label].run(size, data)
        if place.type == "cuda":
            torch.cuda.synchronize()
        found = {"what": what, "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        found["held"] = torch.cuda.max_memory_allocated() / 2**20 if place.type == "cuda" else None
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def apart(label: str, size: str, device: str, data: Path | None, seconds: float) -> dict[str, Any] | None:
    """The line's figures from a process of its own; None where it is not through in time."""
    command = [sys.executable, "-m", "benchmarks.accelerators", "--child", "--only", label, "--size", size]
    command += ["--device", device, *([] if data is None else ["--data", str(data)])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=max(seconds, 1.0))
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def name_of(device: str) -> str:
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else "CPU, one thread"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--size", choices=[SMALL, CPU, WHOLE])
    parser.add_argument("--only", action="append", choices=list(LINES))
    parser.add_argument("--data", type=Path, help="the folder of the research graphs' folders")
    parser.add_argument("--seconds", type=float, default=420.0)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.device is None:
        import torch

        asked.device = "cuda" if torch.cuda.is_available() else "cpu"
    size = asked.size or (WHOLE if asked.device == "cuda" else CPU)
    if asked.child:
        child(asked.only[0], size, asked.device, asked.data)
        return
    ends = time.monotonic() + asked.seconds
    print(f"{name_of(asked.device)}; size: {size}\n")
    print("| line | of | CPU s | wall s | held MB | MB | bar on a GPU, s |\n|---|---|---|---|---|---|---|")
    for label in asked.only or LINES:
        found = apart(label, size, asked.device, asked.data, ends - time.monotonic())
        bar = "" if LINES[label].bar is None else f"{LINES[label].bar:g}"
        if found is None:
            print(f"| {label} | not through in time | | | | | {bar} |", flush=True)
            continue
        held = "" if found["held"] is None else f"{found['held']:.0f}"
        figures = f"{found['cpu']:.1f} | {found['wall']:.1f} | {held} | {found['peak']:.0f}"
        print(f"| {label} | {found['what']} | {figures} | {bar} |", flush=True)


if __name__ == "__main__":
    main()

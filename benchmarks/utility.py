"""Utility of PSGraph, or another method, on a real graph or stream: mean and spread over runs, and the bars.

    python -m benchmarks.utility Facebook.txt
    python -m benchmarks.utility CollegeMsg.txt --width-days 28 --window 5
    python -m benchmarks.utility Facebook.txt --method privgraph
    python -m benchmarks.utility Facebook.txt --method dcsbm --runs 10 --set preset=small

Node numbers are shuffled at load. Static graphs: unit edge. Streams: unit w-event, every figure the mean over
snapshots. Parameters are given as ``--set name=value``. PSGraph's bars stand for Facebook (SNAP ego-Facebook)
at epsilon 1, and for CollegeMsg in 28-day windows at epsilon 1 and w = 5: there they are the errors of
PrivGraph and of TmF, released anew for every snapshot at epsilon / w. TmF's published figures (degree
distance .480, density error .001) spend more than they state; at a sound calibration they are about .41 and
.03. The bars of ``dcsbm`` stand for Facebook at epsilon 1.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.load import load_static, load_stream
from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.graphs.graph import Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

DAY_SECONDS = 86_400
# metric: (place in the comparison, static bar, stream bar); the overlap's bar is a floor
METRICS: dict[str, tuple[tuple[str, ...], float | None, float | None]] = {
    "degree TV": (("distances", "degree_total_variation"), 0.20, 0.434),
    "density RE": (("scalars", "density", "relative_error"), 0.005, 0.290),
    "top-1% overlap": (("distances", "top_eigenvector_overlap"), 0.58, None),
    "modularity RE": (("scalars", "modularity", "relative_error"), 0.45, None),
    "assortativity RE": (("scalars", "assortativity", "relative_error"), 0.25, None),
    "transitivity RE": (("scalars", "transitivity", "relative_error"), None, None),
    "assortativity error": (("scalars", "assortativity", "absolute_error"), None, None),
    "transitivity error": (("scalars", "transitivity", "absolute_error"), None, None),
}


DCSBM_BARS = {
    "degree TV": 0.12,
    "density RE": 0.003,
    "top-1% overlap": 0.62,
    "modularity RE": 0.15,
    "assortativity RE": 0.6,
    "transitivity RE": 0.12,
}


def one_run(method: str, graph: Graph, facts: PublicFacts, params: Any) -> tuple[dict[str, Any], float]:
    """The comparison of one release, and the CPU seconds that the release took."""
    generator = get(method)
    started = time.process_time()
    plan = generator.plan(params, facts)
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    model = generator.fit(session, plan, params, no_progress)
    synthetic = model.sample(noise_generator(), no_progress)
    seconds = time.process_time() - started
    return compare(graph, synthetic, Suite.STANDARD, no_progress)["overall"], seconds


def value(row: Any, path: tuple[str, ...]) -> float:
    """The figure at ``path``; NaN where it is undefined."""
    for name in path:
        row = row[name]
    return float("nan") if row is None else float(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--method", default="psgraph")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--width-days", type=int, help="makes a stream of windows of this many days")
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()
    stream = args.width_days is not None
    graph = load_stream(args.path, args.width_days * DAY_SECONDS) if stream else load_static(args.path)
    given = dict(pair.split("=", 1) for pair in args.set)
    params = get(args.method).Params.model_validate(given)
    unit, window = (Unit.W_EVENT, args.window) if stream else (Unit.EDGE, None)
    facts = PublicFacts(graph.schema, unit, window, int(args.epsilon * 1e9), 0, ("edge",))
    rows, seconds = zip(*(one_run(args.method, graph, facts, params) for _ in range(args.runs)), strict=True)
    size = f"{graph.nodes['node'].count} nodes, {graph.schema.steps} steps"
    print(f"{args.method}, {args.path.name}: {size}, {args.runs} runs")
    print(json.dumps(params.model_dump(mode="json")))
    print(f"{'metric':<22}{'mean':>9}{'sd':>9}{'bar':>9}")
    for name, (path, static_bar, stream_bar) in METRICS.items():
        found = np.array([value(row, path) for row in rows])
        bar = stream_bar if stream else static_bar
        if args.method == "dcsbm":
            bar = None if stream else DCSBM_BARS.get(name)
        print(f"{name:<22}{found.mean():>9.3f}{found.std():>9.3f}{'' if bar is None else bar:>9}")
    # The first run compiles or loads the kernels.
    print(f"{'CPU seconds, later runs':<22}{np.mean(seconds[1:] or seconds):>8.3f}")


if __name__ == "__main__":
    main()

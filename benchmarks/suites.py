"""What each evaluation suite costs: CPU seconds by part, and peak memory, one process a suite.

    python -m benchmarks.suites Facebook.txt                  a PSGraph release of a static edge list
    python -m benchmarks.suites CollegeMsg.txt --width-days 28
    python -m benchmarks.suites --random 1000000 20000000     two random graphs of heavy-tailed degrees
    python -m benchmarks.suites ... --suite standard          one suite only

The first call compiles kernels; a small graph is evaluated before the clock starts, so that no figure
contains it. Memory includes imports and both graphs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.graphs import static_graph
from benchmarks.load import load_static, load_stream
from core.evaluation import suite as suites
from core.evaluation.attacks.run import run_attacks
from core.evaluation.metric import Suite
from core.evaluation.tasks.run import run_tasks
from core.graphs.graph import EdgeTable, Graph
from core.methods.base import no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.shadows import shadow_releases
from core.publishing.spec import EvaluationSpec, Plain

DAY_SECONDS = 86_400
NANO_EPSILON = 10**9
PARTS = ("public", "compare", "shadow", "attack", "task")


def heavy_tailed(n: int, m: int, seed: int) -> Graph:
    """About m edges on n nodes, ends drawn with P(node i) ~ (i + 10)^-0.5."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum((np.arange(n) + 10.0) ** -0.5)
    drawn = np.searchsorted(ends / ends[-1], rng.random((2, m))).clip(0, n - 1)
    return static_graph(n, EdgeTable(*drawn))


def spec_of(graph: Graph, suite: Suite) -> EvaluationSpec:
    """How the release was made: PSGraph at epsilon 1, w-event of 5 steps for a stream."""
    temporal = graph.schema.temporal
    release = Plain(
        job_id="job",
        dataset_id="dataset",
        dataset_version="version",
        method="psgraph",
        unit=Unit.W_EVENT if temporal else Unit.EDGE,
        window=5 if temporal else None,
        nano_epsilon=NANO_EPSILON,
        edge_types=("edge",),
    )
    return EvaluationSpec(release=release, suite=suite)


def released(graph: Graph, spec: EvaluationSpec) -> Graph:
    """A PSGraph release of the graph."""
    generator = get("psgraph")
    facts = spec.release.facts(graph.schema)
    params = generator.Params()
    plan = generator.plan(params, facts)
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    return generator.fit(session, plan, params, no_progress).sample(noise_generator(), no_progress)


def measure(original: Graph, synthetic: Graph, spec: EvaluationSpec) -> list[float]:
    """CPU seconds of every part of an evaluation, in the order of PARTS."""
    clock = [time.process_time()]

    def lap() -> None:
        clock.append(time.process_time())

    suites.public_statistics(synthetic)
    lap()
    suites.compare(original, synthetic, spec.suite, no_progress)
    lap()
    shadows = [(each.held, each.released) for each in shadow_releases(synthetic, spec)]
    lap()
    run_attacks(original, synthetic, spec.suite, no_progress, shadows=shadows)
    lap()
    run_tasks(original, synthetic, spec.suite, no_progress)
    lap()
    return np.diff(clock).tolist()


def one(args: argparse.Namespace) -> None:
    """One line of the table, in this process."""
    suite = Suite(args.suite)
    small = heavy_tailed(200, 1_000, 0)
    measure(small, heavy_tailed(200, 1_000, 1), spec_of(small, suite))
    if args.random:
        original, synthetic = (heavy_tailed(*args.random, seed) for seed in (0, 1))
        spec = spec_of(original, suite)
    else:
        stream = args.width_days is not None
        original = load_stream(args.path, args.width_days * DAY_SECONDS) if stream else load_static(args.path)
        spec = spec_of(original, suite)
        synthetic = released(original, spec)
    found = measure(original, synthetic, spec)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    figures = "".join(f"{seconds:>10.2f}" for seconds in (*found, sum(found)))
    print(f"{suite:<10}{figures}{memory:>10.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("--width-days", type=int, help="makes a stream of windows of this many days")
    parser.add_argument("--random", type=int, nargs=2, metavar=("N", "M"))
    parser.add_argument("--suite", choices=[str(suite) for suite in Suite])
    args = parser.parse_args()
    if (args.path is None) == (args.random is None):
        parser.error("give a path, or --random N M")
    if args.suite:
        one(args)
        return
    print(f"{'suite':<10}" + "".join(f"{part:>10}" for part in (*PARTS, "sum s", "MB")), flush=True)
    for suite in Suite:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.suites", *sys.argv[1:], "--suite", suite], check=True
        )


if __name__ == "__main__":
    main()

"""What a fit of PPGSL costs: CPU seconds, wall seconds and peak memory of one process.

    python -m benchmarks.ppgsl_cost --data FOLDER --set cora
    python -m benchmarks.ppgsl_cost --nodes 10000                  Erdos-Renyi, mean degree 10

Bars: Cora 15 CPU seconds and 450 MB; 100 000 nodes 25 CPU minutes and 6 GB, under a minute on an accelerator.
A run is a process of its own, since memory is the process's peak; imports are in it, loading is not timed.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from benchmarks.ppgsl_data import FOLDERS, load, random_graph
from core.generators.base import PublicFacts, no_progress
from core.generators.registry import get
from core.graphs.graph import Graph
from core.privacy.entropy import noise_generator
from core.privacy.meter import MemoryRecorder, Meter
from core.privacy.private_graph import PrivateGraph
from core.privacy.units import Unit


def cost(graph: Graph, params: dict[str, object]) -> str:
    """One line: sizes, seconds, and the peak of the process so far."""
    method = get("ppgsl")
    asked = method.Params.model_validate(params)
    plan = method.plan(asked, PublicFacts(graph.schema, Unit.EDGE, None, 10**9, 0, ("edge",)))
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    wall, cpu = time.perf_counter(), time.process_time()
    model = method.fit(session, plan, asked, no_progress)
    model.sample(noise_generator(), no_progress)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = f"{graph.nodes['node'].count} nodes, {graph.edges['edge'].count} links"
    return f"{sizes}: {cpu:.1f} CPU s, {wall:.1f} s, peak {peak:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the graphs' folders")
    parser.add_argument("--set", choices=list(FOLDERS))
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--degree", type=int, default=10)
    parser.add_argument("--additions", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--interval", type=int, default=50)
    asked = parser.parse_args()
    graph = load(asked.set, asked.data) if asked.set else random_graph(asked.nodes, asked.degree)
    print(cost(graph, {"additions": asked.additions, "steps": asked.steps, "interval": asked.interval}))


if __name__ == "__main__":
    main()

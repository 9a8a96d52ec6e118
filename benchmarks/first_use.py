"""The first fit of a machine, without the compiled kernels that are shipped and with them (`make kernels`).

    python -m benchmarks.first_use EDGES [--method dcsbm]

EDGES: two integers a line. Each row is a process of its own: a fit at epsilon 1, a sample, and the suite
`standard`. Kernels: those that had to be compiled in it. Wall seconds depend on what else runs; processor
seconds less.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from llvmlite import binding

from benchmarks.graphs import static_graph
from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.graphs.graph import EdgeTable
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit


def fit(edges: Path, method: str) -> dict[str, float]:
    """What one fit, sample and comparison took in this process; ``compiled``: kernels, not those read."""
    from numba.core.dispatcher import Dispatcher

    ends = np.unique(np.sort(np.loadtxt(edges, dtype=np.int64), axis=1), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    names, places = np.unique(ends, return_inverse=True)
    places = places.reshape(ends.shape)
    graph = static_graph(len(names), EdgeTable(places[:, 0], places[:, 1]))
    generator = get(method)
    began, worked = time.perf_counter(), time.process_time()
    params = generator.Params()
    plan = generator.plan(params, PublicFacts(graph.schema, Unit.EDGE, None, 10**9, 0, ("edge",)))
    model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    synthetic = model.sample(noise_generator(), no_progress)
    fitted = time.process_time() - worked
    compare(graph, synthetic, Suite.STANDARD, no_progress)
    found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {
        "fit": fitted,
        "processor": time.process_time() - worked,
        "wall": time.perf_counter() - began,
        "compiled": sum(sum(each.stats.cache_misses.values()) for each in found),
    }


def main() -> None:
    """Prints a row a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("edges", help="a file of edges")
    parser.add_argument("--method", default="dcsbm")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        print(json.dumps(fit(Path(asked.edges), asked.method)))
        return
    print("| process | fit and sample, CPU s | with the comparison, CPU s | wall s | kernels compiled |")
    print("|---|---:|---:|---:|---:|")
    for name, processor in (("without", binding.get_host_cpu_name()), ("with", None)):
        with tempfile.TemporaryDirectory() as empty:
            _print(f"{name} what is shipped", _inside(asked.edges, asked.method, empty, processor))
            _print("the same again", _inside(asked.edges, asked.method, empty, processor))


def _inside(edges: str, method: str, cache: str, processor: str | None) -> dict[str, float]:
    """Fit in a process of its own; nothing is shipped for a ``processor`` that is named as this one is."""
    named = {} if processor is None else {"NUMBA_CPU_NAME": processor}
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_use", edges, "--method", method, "--inside"],
        env={**os.environ, **named, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        check=True,
    )
    told: dict[str, float] = json.loads(found.stdout)
    return told


def _print(name: str, told: dict[str, float]) -> None:
    cells = " | ".join(f"{told[each]:.1f}" for each in ("fit", "processor", "wall"))
    print(f"| {name} | {cells} | {told['compiled']:.0f} |", flush=True)


if __name__ == "__main__":
    main()

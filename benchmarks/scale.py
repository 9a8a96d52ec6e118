"""CPU seconds and peak memory of a whole release (fit and sample), by size of graph; PSGraph by default.

    python -m benchmarks.scale                 all sizes, each in its own process
    python -m benchmarks.scale 200000 2000000  one size
    python -m benchmarks.scale --method dcsbm           all sizes of another method
    python -m benchmarks.scale --method tmf 1000000 20000000

Graphs are generated: power-law degrees, planted communities. CPU time is user and system time of all threads,
beyond imports and the compilation of kernels (a small graph goes first). Peak memory is that of the whole
process with its imports and the graph, which another process generated and stored.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = ((4_000, 88_000), (34_000, 181_000), (200_000, 2_000_000), (1_000_000, 20_000_000))
BARS = {4_000: (0.3, None), 34_000: (3.0, 500), 1_000_000: (120.0, 8_000)}  # CPU seconds, MB
NANO_EPSILON = 1_000_000_000


def write(nodes: int, edges: int, folder: str) -> None:
    """A generated graph in its stored form."""
    from benchmarks.graphs import community_graph
    from core.graphs.stored.whole import write_graph

    write_graph(community_graph(nodes, edges), Path(folder))


def release(method: str, folder: str) -> tuple[int, float, float]:
    """Edges drawn, and the CPU seconds of fit and of sample."""
    from core.graphs.stored.whole import read_graph
    from core.methods.base import PublicFacts, no_progress
    from core.methods.registry import get
    from core.privacy.accounting.meter import MemoryRecorder, Meter
    from core.privacy.entropy import noise_generator
    from core.privacy.session.private_graph import PrivateGraph
    from core.privacy.units import Unit

    graph = read_graph(Path(folder))
    generator = get(method)
    started = time.process_time()
    params = generator.Params()
    plan = generator.plan(params, PublicFacts(graph.schema, Unit.EDGE, None, NANO_EPSILON, 0, ("edge",)))
    model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    fitted = time.process_time()
    sampled = model.sample(noise_generator(), no_progress)
    return sampled.edges["edge"].count, fitted - started, time.process_time() - fitted


def measure(method: str, small: str, folder: str) -> None:
    """One line of JSON for the graph in ``folder``, after a warm-up on ``small``."""
    release(method, small)
    idle_megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    edges, fit, sample = release(method, folder)
    peak_megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert "torch" not in sys.modules
    print(
        json.dumps(
            {
                "drawn_edges": edges,
                "fit_cpu_seconds": round(fit, 3),
                "sample_cpu_seconds": round(sample, 3),
                "idle_megabytes": round(idle_megabytes),
                "peak_megabytes": round(peak_megabytes),
            }
        )
    )


def child(*arguments: str) -> str:
    """Standard output of this script in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scale", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(sizes: tuple[tuple[int, int], ...], method: str = "psgraph") -> None:
    print(
        f"{'nodes':>9}{'edges':>11}{'drawn':>11}{'fit s':>8}{'sample s':>9}{'CPU s':>8}{'peak MB':>9}  bars"
    )
    with tempfile.TemporaryDirectory() as folder:
        small = str(Path(folder) / "small")
        child("write", "500", "2000", small)
        for nodes, edges in sizes:
            stored = str(Path(folder) / f"{nodes}-{edges}")
            child("write", str(nodes), str(edges), stored)
            found = json.loads(child("measure", method, small, stored))
            total = found["fit_cpu_seconds"] + found["sample_cpu_seconds"]
            bar_seconds, bar_megabytes = (
                BARS.get(nodes, (None, None)) if method == "psgraph" else (None, None)
            )
            print(
                f"{nodes:>9}{edges:>11}{found['drawn_edges']:>11}{found['fit_cpu_seconds']:>8.2f}"
                f"{found['sample_cpu_seconds']:>9.2f}{total:>8.2f}{found['peak_megabytes']:>9}"
                f"  {bar_seconds or '-'} s, {bar_megabytes or '-'} MB",
                flush=True,
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", nodes, edges, folder]:
            write(int(nodes), int(edges), folder)
        case ["measure", method, small, folder]:
            measure(method, small, folder)
        case ["--method", method, nodes, edges]:
            main(((int(nodes), int(edges)),), method)
        case ["--method", method]:
            main(SIZES, method)
        case [nodes, edges]:
            main(((int(nodes), int(edges)),))
        case []:
            main(SIZES)
        case _:
            sys.exit(__doc__)

"""Where CPU time and memory of a whole release go (fit and sample), stage by stage; `dcsbm` by default.

    python -m benchmarks.stages 200000 2000000                      a graph of so many nodes and edges
    python -m benchmarks.stages 1000000 20000000 --method psgraph

The graph is generated (:mod:`benchmarks.graphs`), stored by one process and released by another, which
releases a small one first: CPU seconds, of all threads, are beyond imports and the compilation of kernels. A
stage's figures are without those of the stages inside it. Its peak: the most memory that the process held
meanwhile beyond what it held before it read the graph, for each edge.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STAGES = {
    "reading the graph": "core.graphs.stored.whole:read_graph",
    "noise": "core.privacy.mechanisms.noise:discrete_laplace",
    "labels": "core.privacy.mechanisms.label_stream:stream",
    "triangles, counted for the ladder": "core.privacy.mechanisms.triangle_kernels:triangles_and_common",
    "clustering, summed for the ladder": "core.privacy.mechanisms.clustering:clustering_ladder",
    "law of degrees": "core.methods._shared.degrees.tails:law_with_tails",
    "degrees fitted": "core.methods._shared.degrees.fitted:fitted_degrees",
    "ends matched": "core.methods._shared.matching.exact:matched",
    "open ends matched": "core.methods._shared.matching.exact:completed",
    "rewiring, beside the following": "core.methods._shared.rewiring.triangles:rewired",
    "rewiring: degree products": "core.methods._shared.rewiring.moves:shift_product",
    "rewiring: triangles closed": "core.methods._shared.rewiring.moves:close_triangles",
    "rewiring: both aims": "core.methods._shared.rewiring.balance:balance",
    "rewiring: noise of clustering": "core.methods._shared.rewiring.clustering:ToldClustering.aim",
    "graph built": "core.graphs.graph:Graph.build",
}
REST = "rest"


@dataclass
class Stage:
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_bytes: int = 0


@dataclass
class Watch:
    """Charges time to the innermost stage that runs, and tells the most memory that was held in each."""

    stages: dict[str, Stage] = field(default_factory=lambda: {REST: Stage()})
    running: list[str] = field(default_factory=lambda: [REST])
    last: tuple[float, float] = (0.0, 0.0)

    def turn(self) -> None:
        """Charge what passed since the last turn to the stage that runs."""
        now, stage = (time.process_time(), time.perf_counter()), self.stages[self.running[-1]]
        stage.cpu_seconds += now[0] - self.last[0]
        stage.wall_seconds += now[1] - self.last[1]
        stage.peak_bytes = max(stage.peak_bytes, peak_bytes())
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        self.last = time.process_time(), time.perf_counter()

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Make the same function, which is a stage."""

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            self.turn()
            self.running.append(name)
            self.stages.setdefault(name, Stage())
            try:
                return function(*arguments, **named)
            finally:
                self.turn()
                self.running.pop()

        return call

    def watch(self) -> None:
        """Replace every stage's function wherever a module of the product has it."""
        for name, where in STAGES.items():
            module, _, path = where.partition(":")
            owner: Any = importlib.import_module(module)
            *inner, last = path.split(".")
            for part in inner:
                owner = getattr(owner, part)
            found = vars(owner)[last]
            if isinstance(found, classmethod):
                setattr(owner, last, classmethod(self.watched(name, found.__func__)))
                continue
            replaced = self.watched(name, found)
            setattr(owner, last, replaced)
            for other in [each for key, each in sys.modules.items() if key.startswith("core.")]:
                for key in [key for key, value in vars(other).items() if value is found]:
                    setattr(other, key, replaced)


def peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def measure(method: str, small: str, folder: str, on: str) -> None:
    """Print the stages of a release of the graph in ``folder``, on so many threads."""
    from benchmarks.scale import release
    from core.privacy.mechanisms import threads

    threads.allow(int(on))
    release(method, small)
    watch = Watch()
    watch.watch()
    watch.turn()
    idle = peak_bytes()
    watch.stages = {REST: Stage()}
    began = time.process_time(), time.perf_counter()
    edges, _, _ = release(method, folder)
    watch.turn()
    whole = Stage(time.process_time() - began[0], time.perf_counter() - began[1])
    whole.peak_bytes = max(stage.peak_bytes for stage in watch.stages.values())
    print(f"{'stage':<36}{'CPU s':>8}{'wall s':>8}{'peak, bytes an edge':>21}")
    for name in [name for name in (*STAGES, REST) if name in watch.stages]:
        show(name, watch.stages[name], idle, edges)
    show("whole release", whole, idle, edges)


def show(name: str, stage: Stage, idle: int, edges: int) -> None:
    peak = max(stage.peak_bytes - idle, 0) / edges
    print(f"{name:<36}{stage.cpu_seconds:>8.2f}{stage.wall_seconds:>8.2f}{peak:>21.0f}", flush=True)


def main(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        small, stored = str(Path(folder) / "small"), arguments.stored or str(Path(folder) / "graph")
        scale = [sys.executable, "-m", "benchmarks.scale", "write"]
        subprocess.run([*scale, "500", "2000", small], check=True)
        if not arguments.stored:
            subprocess.run([*scale, str(arguments.nodes), str(arguments.edges), stored], check=True)
        subprocess.run(
            [
                *(sys.executable, "-m", "benchmarks.stages", "--measure"),
                *(arguments.method, small, stored, str(arguments.threads)),
            ],
            check=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    else:
        parser = argparse.ArgumentParser(
            description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("nodes", type=int)
        parser.add_argument("edges", type=int)
        parser.add_argument("--method", default="dcsbm")
        parser.add_argument("--threads", type=int, default=1, help="as GRAPHVEIL_JOB_THREADS says to workers")
        parser.add_argument("--stored", help="a folder that `benchmarks.scale write` wrote")
        main(parser.parse_args())

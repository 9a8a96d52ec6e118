"""What a fit of PPGSL costs: CPU seconds, wall seconds and peak memory of one process.

    python -m papers.ppgsl.benchmarks.cost --data FOLDER --set cora
    python -m papers.ppgsl.benchmarks.cost --nodes 10000                  Erdos-Renyi, mean degree 10
    python -m papers.ppgsl.benchmarks.cost --nodes 500000 --estimate      from runs of a few steps

Bars: Cora 15 CPU seconds and 450 MB; 100 000 nodes 25 CPU minutes and 6 GB, under a minute on an accelerator.
A run is a process of its own, since memory is the process's peak; imports are in it, loading is not timed.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from core.graphs.graph import Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.ppgsl.benchmarks.data import FOLDERS, load, random_graph
from papers.ppgsl.params import PpgslParams

FEW, MORE = 2, 12
"""Steps of the short runs that an estimate is made of."""


def cost(graph: Graph, params: dict[str, object]) -> str:
    """One line: sizes, seconds, and the peak of the process so far."""
    cpu, wall = seconds(graph, params)
    return f"{sizes(graph)}: {cpu:.1f} CPU s, {wall:.1f} s, peak {peak():.0f} MB"


def estimate(graph: Graph, params: dict[str, object]) -> str:
    """One line: CPU seconds of a step of either kind, and of a whole run that has so many of them.

    A run is what stands at its beginning and end, steps of the surrogate and steps of the learner; three
    runs of a few steps tell them apart.
    """
    asked = PpgslParams.model_validate(params)
    trainings = -(-asked.steps // asked.interval)
    seconds(random_graph(100, 4), {"surrogate_steps": FEW, "steps": FEW})  # what is imported at first use
    short: list[float] = []
    for surrogate, learner in ((FEW, FEW), (MORE, FEW), (FEW, MORE)):
        steps = {"surrogate_steps": surrogate, "steps": learner, "interval": MORE}
        short.append(seconds(graph, params | steps)[0])
    surrogate, learner = ((long - short[0]) / (MORE - FEW) for long in short[1:])
    rest = short[0] - FEW * (surrogate + learner)
    whole = rest + trainings * asked.surrogate_steps * surrogate + asked.steps * learner
    each = f"{surrogate:.3f} CPU s a step of the surrogate, {learner:.3f} of the learner, {rest:.1f} beside"
    return f"{sizes(graph)}: {each}; {whole:.0f} CPU s in all, peak {peak():.0f} MB"


def sizes(graph: Graph) -> str:
    return f"{graph.nodes['node'].count} nodes, {graph.edges['edge'].count} links"


def peak() -> float:
    """MB, of the process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds(graph: Graph, params: dict[str, object]) -> tuple[float, float]:
    """CPU and wall seconds of a fit and a sample."""
    method = get("ppgsl")
    asked = method.Params.model_validate(params)
    plan = method.plan(asked, PublicFacts(graph.schema, Unit.EDGE, None, 10**9, 0, ("edge",)))
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    wall, cpu = time.perf_counter(), time.process_time()
    model = method.fit(session, plan, asked, no_progress)
    model.sample(noise_generator(), no_progress)
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the graphs' folders")
    parser.add_argument("--set", choices=list(FOLDERS))
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--degree", type=int, default=10)
    parser.add_argument("--additions", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--interval", type=int, default=50)
    parser.add_argument("--against", choices=("surrogate", "informed"), default="surrogate")
    parser.add_argument("--estimate", action="store_true")
    asked = parser.parse_args()
    graph = load(asked.set, asked.data) if asked.set else random_graph(asked.nodes, asked.degree)
    measure = estimate if asked.estimate else cost
    taken = ("additions", "steps", "interval", "against")
    print(measure(graph, {name: getattr(asked, name) for name in taken}))


if __name__ == "__main__":
    main()

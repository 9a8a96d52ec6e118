"""Triangles closed in groups beside triangles closed move by move: one paid `dcsbm` model, drawn both ways.

    python -m benchmarks.closing 200000 2000000               a generated graph of so many nodes and edges
    python -m benchmarks.closing 200000 2000000 --times 3     each way three times
    python -m benchmarks.closing --edges facebook.txt         a file of edges

From a million drawn edges on `dcsbm` closes in groups; here both ways are taken whatever the size. Prints a
Markdown table: the original, then every draw with its CPU seconds, of all threads, beyond the compilation of
kernels. Epsilon 1, unit edge.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.graphs import community_graph
from benchmarks.load import load_static
from core.evaluation.metric import Suite
from core.evaluation.utility import assortativity, clustering, communities
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.methods._shared.rewiring.triangles import rewired
from core.methods.base import FittedModel, PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO_EPSILON = 1_000_000_000
SMALL = 2_000, 20_000  # a graph on which kernels are compiled
WAYS = {"in groups": 0, "by moves": 2**62}
COLUMNS = ("modularity", "communities", "triangles", "transitivity", "mean_local_clustering", "assortativity")


def paid(graph: Graph) -> FittedModel:
    """The model of `dcsbm` with its defaults."""
    generator = get("dcsbm")
    params = generator.Params()
    plan = generator.plan(params, PublicFacts(graph.schema, Unit.EDGE, None, NANO_EPSILON, 0, ("edge",)))
    return generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)


@contextmanager
def closing(way: str) -> Iterator[None]:
    """Triangles are closed that way meanwhile, whatever a graph's size."""
    rule = rewired.__kwdefaults__["grouped_from"]
    rewired.__kwdefaults__["grouped_from"] = WAYS[way]
    try:
        yield
    finally:
        rewired.__kwdefaults__["grouped_from"] = rule


def row(name: str, graph: Graph, cpu_seconds: float | None = None) -> str:
    """One line of the table."""
    view = UndirectedView.of(graph.cell("edge", None))
    values = {}
    for family in (assortativity, clustering, communities):
        values |= family.scalars(view, Suite.STANDARD)
    shown = [f"{value:,}" if isinstance(value := values[each], int) else f"{value:.4f}" for each in COLUMNS]
    return f"| {name} | {'' if cpu_seconds is None else f'{cpu_seconds:.2f}'} | {' | '.join(shown)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("size", type=int, nargs="*", metavar="NODES EDGES")
    parser.add_argument("--edges", type=Path, help="a file of edges instead")
    parser.add_argument("--times", type=int, default=1)
    asked = parser.parse_args()
    if (asked.edges is None) == (len(asked.size) != 2):
        parser.error("name NODES and EDGES, or --edges and a file")
    original = load_static(asked.edges) if asked.edges else community_graph(*asked.size)
    small = paid(community_graph(*SMALL))
    for way in WAYS:
        with closing(way):
            small.sample(noise_generator(), no_progress)
    print("| graph | CPU s of a draw | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    print(row("original", original), flush=True)
    model = paid(original)
    for way in WAYS:
        for _ in range(asked.times):
            started = time.process_time()
            with closing(way):
                drawn = model.sample(noise_generator(), no_progress)
            print(row(way, drawn, time.process_time() - started), flush=True)


if __name__ == "__main__":
    main()

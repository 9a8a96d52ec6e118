"""How often the published intervals of paid numbers hold the truth, by method and quantity.

    python -m benchmarks.calibration ../shared/data --graphs radoslaw cora --methods dgg psgraph --runs 200

Each run is a whole fit; what it paid for is compared with the true answer of the same question. Printed: the
share of values whose interval holds the truth, over all values of all runs and graphs, and the lowest share
of any single graph. ``--mis-state 2`` publishes half of the true noise scale, to show that this is noticed.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.static_graphs import SOURCES, load
from core.generators import registry
from core.generators.base import PublicFacts, no_progress
from core.graphs.graph import Graph
from core.privacy import queries
from core.privacy.events import NANO
from core.privacy.measurements import Measurement, Measurements
from core.privacy.meter import MemoryRecorder, Meter
from core.privacy.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.reports.precision import CONFIDENCE, QUANTITIES, within


def measured(graph: Graph, method: str, epsilon: float) -> Measurements:
    """What one fit of the method paid for, at its defaults."""
    generator = registry.get(method)
    names = tuple(relation.name for relation in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), 0, names)
    params = generator.Params()
    plan = generator.plan(params, facts)
    meter = Meter(plan, MemoryRecorder())
    generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    return meter.measurements


def truth(graph: Graph, each: Measurement) -> np.ndarray:
    """The answer without noise."""
    cell = graph.cell(each.edge_type, each.step)
    source, target = cell.source, cell.target
    for part in each.parts:
        chosen = (part.labels[source] == part.labels[target]) == part.inside
        source, target = source[chosen], target[chosen]
    relation = graph.schema.edge_type(each.edge_type)
    ends = graph.nodes[relation.source].count, graph.nodes[relation.target].count
    question = queries.ask(each.query, queries.Shape(relation, *ends), each.arguments)
    return question.measure(replace(cell, source=source, target=target))


def main() -> None:
    """A row for every method and quantity."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--graphs", nargs="+", choices=list(SOURCES), default=["radoslaw", "cora"])
    parser.add_argument("--methods", nargs="+", default=["dcsbm", "dgg", "psgraph"])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--mis-state", type=int, default=1, help="divide the published scale by this")
    args = parser.parse_args()
    held: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name in args.graphs:
        graph = load(name, args.data)
        for method in args.methods:
            for _ in range(args.runs):
                for each in measured(graph, method, args.epsilon):
                    if each.values is None:
                        continue
                    near = within(each.scale / Fraction(args.mis_state), CONFIDENCE)
                    share = float((np.abs(each.values - truth(graph, each)) <= near).mean())
                    held[method, each.query][name].append(share)
    print(f"epsilon {args.epsilon:g}, {args.runs} fits of each graph, intervals of {CONFIDENCE:.0%}\n")
    print("| method | quantity | graphs | held | lowest graph |\n|---|---|---:|---:|---:|")
    for (method, query), graphs in held.items():
        means = [float(np.mean(shares)) for shares in graphs.values()]
        title = QUANTITIES[query].title
        print(f"| {method} | {title} | {len(means)} | {np.mean(means):.3f} | {min(means):.3f} |")


if __name__ == "__main__":
    main()

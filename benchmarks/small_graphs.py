"""Many small graphs, each released by itself: mean absolute differences of DPGGAN's five statistics.

    python -m benchmarks.small_graphs relabeled_dblp2.jsonl.gz --epsilon 0.5 1 2 5 \\
        --method degree_triangle dgg dp_dk edgerand

One JSON object a line, {"nodes": n, "edges": [[u, v], ...]}; loops are dropped, nodes without edges stay.
Figures: largest component, triangles, characteristic path length, Gini coefficient (DPGGAN's, i from 0) and
relative edge entropy, as DPGGAN reports them; also the share of true edges among those released, and CPU
seconds. Unit edge, every graph at the whole epsilon.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs import static_graph
from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.graphs.graph import EdgeTable, Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

FIGURES = {
    "LCC": "largest_component",
    "TC": "triangles",
    "CPL": "characteristic_path_length",
    "GINI": "gini_dpggan",
    "REDE": "relative_edge_entropy",
}


def load(path: Path) -> list[Graph]:
    """The graphs that have an edge, their node numbers shuffled: ids may go with degrees."""
    return [graph for graph, _ in load_labelled(path)]


def load_labelled(path: Path, fewest_nodes: int = 1, seed: int = 0) -> list[tuple[Graph, Any]]:
    """As :func:`load`, those of at least so many nodes, each with its label."""
    rng, found = np.random.default_rng(seed), []
    with gzip.open(path, "rt") as file:
        for line in file:
            row = json.loads(line)
            ends = rng.permutation(row["nodes"])[np.array(row["edges"], dtype=np.int64).reshape(-1, 2)]
            ends = ends[ends[:, 0] != ends[:, 1]]
            if len(ends) and row["nodes"] >= fewest_nodes:
                found.append((static_graph(row["nodes"], EdgeTable(ends[:, 0], ends[:, 1])), row["label"]))
    return found


def keys(graph: Graph) -> np.ndarray:
    """One number for each edge."""
    table = graph.edges["edge"]
    low, high = np.minimum(table.source, table.target), np.maximum(table.source, table.target)
    return low.astype(np.int64) * graph.nodes["node"].count + high


def one(method: str, graph: Graph, epsilon: float, params: Any) -> list[float]:
    """The five absolute differences, the share of true edges, and CPU seconds."""
    generator, facts = (
        get(method),
        PublicFacts(graph.schema, Unit.EDGE, None, int(epsilon * 1e9), 0, ("edge",)),
    )
    started = time.process_time()
    plan = generator.plan(params, facts)
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    synthetic = generator.fit(session, plan, params, no_progress).sample(noise_generator(), no_progress)
    seconds = time.process_time() - started
    rows = compare(graph, synthetic, Suite.STANDARD, no_progress)["overall"]["scalars"]
    # A statistic that is undefined on the released graph counts as 0.
    errors = [
        abs((rows[name]["synthetic"] or 0) - (rows[name]["original"] or 0)) for name in FIGURES.values()
    ]
    true = np.isin(keys(synthetic), keys(graph)).mean() if len(keys(synthetic)) else 0.0
    return [*errors, float(true), seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--method", nargs="+", default=["degree_triangle", "dgg", "dp_dk", "edgerand"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 2.0, 5.0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="first method only")
    args = parser.parse_args()
    graphs = load(args.path)
    print(f"{len(graphs)} graphs, mean of {args.runs} runs")
    print("| epsilon | method | " + " | ".join([*FIGURES, "true edges", "CPU s"]) + " |")
    print("|---|---|" + "---|" * (len(FIGURES) + 2))
    for epsilon in args.epsilon:
        for method in args.method:
            given = dict(pair.split("=", 1) for pair in args.set) if method == args.method[0] else {}
            params = get(method).Params.model_validate(given)
            rows = [one(method, graph, epsilon, params) for _ in range(args.runs) for graph in graphs]
            means = np.mean(rows, axis=0)
            print(f"| {epsilon:g} | {method} | " + " | ".join(f"{x:.3g}" for x in means) + " |", flush=True)


if __name__ == "__main__":
    main()

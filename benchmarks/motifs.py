"""Times exact and sampled motif counts and checks them against each other.

    python benchmarks/motifs.py                              enumeration on a small graph, heavy-tailed graphs
    python benchmarks/motifs.py --edges Facebook.txt         exact and sampled counts of an edge list
    python benchmarks/motifs.py --collection dblp.jsonl.gz   many small graphs, one JSON object a line

CPU seconds exclude imports and compilation. Prints one JSON line a measurement. ``z``: errors of the sampled
counts in their own standard errors, over the motifs that occur; about 0.95 are within 1.96.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from core.evaluation.metric import Suite
from core.evaluation.utility import motifs
from core.evaluation.utility.motifs import five, four, graphlets, sampled
from core.evaluation.view import UndirectedView

EXACT = {4: four.induced_four, 5: five.induced_five}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The call's result and its CPU seconds."""
    before = time.process_time()
    found = call()
    return found, round(time.process_time() - before, 4)


def heavy_tailed(n: int, m: int, rng: np.random.Generator) -> UndirectedView:
    """About m edges with power-law ends: P(node i) ~ (i + 10)^-0.5."""
    ends = np.cumsum((np.arange(n) + 10.0) ** -0.5)
    pairs = np.searchsorted(ends / ends[-1], rng.random((m, 2))).clip(0, n - 1)
    return UndirectedView.of_pairs(n, pairs[:, 0], pairs[:, 1])


def enumerated(graph: nx.Graph) -> Counter:
    """Connected induced subgraphs of 3 to 5 nodes, grown node by node, each named by its degrees."""

    def key(part: nx.Graph) -> tuple:
        degree = dict(part.degree)
        return tuple(sorted((degree[u], *sorted(degree[v] for v in part[u])) for u in part))

    names = {key(nx.Graph(graphlet.edges)): graphlet.name for graphlet in graphlets.GRAPHLETS}
    found: Counter = Counter()
    subsets = {frozenset([node]) for node in graph}
    for size in (2, 3, 4, 5):
        subsets = {s | {other} for s in subsets for node in s for other in graph[node] if other not in s}
        if size > 2:
            for subset in subsets:
                found[names[key(graph.subgraph(subset))]] += 1
    return found


def beside_enumeration() -> None:
    """One graph of 60 nodes, all 29 motifs, counted twice."""
    graph = nx.powerlaw_cluster_graph(60, 3, 0.5, seed=1)
    pairs = np.array(graph.edges)
    slow, slow_seconds = timed(lambda: enumerated(graph))
    view = UndirectedView.of_pairs(60, pairs[:, 0], pairs[:, 1])
    fast, seconds = timed(lambda: motifs.scalars(view, Suite.FULL))
    print(
        json.dumps(
            {
                "measured": "enumeration, 60 nodes",
                "equal": all(slow[name] == value for name, value in fast.items()),
                "enumeration_cpu_seconds": slow_seconds,
                "cpu_seconds": seconds,
                "ratio": round(slow_seconds / seconds),
            }
        )
    )


def measure(what: str, view: UndirectedView) -> None:
    """Exact and sampled counts on 4 and 5 nodes."""
    for size, exact in EXACT.items():
        true, seconds = timed(lambda exact=exact: exact(view))
        row: dict[str, Any] = {"measured": what, "nodes": view.node_count, "edges": view.edge_count}
        row |= {"size": size, "exact_cpu_seconds": seconds if true is not None else "above the bound"}
        found, row["sampled_cpu_seconds"] = timed(lambda size=size: sampled.induced(view, size))
        if true is not None:
            scores = [(found[name].value - n) / found[name].standard_error for name, n in true.items() if n]
            row["z_within_1.96"] = round(float(np.mean(np.abs(scores) <= 1.96)), 3)
            row["z_worst"] = round(float(np.abs(scores).max()), 2)
            row["median_relative_error"] = float(
                f"{np.median([abs(found[name].value / n - 1) for name, n in true.items() if n]):.2g}"
            )
            row["counts"] = true
        print(json.dumps(row), flush=True)


def collection(lines: Iterable[str]) -> None:
    """All 29 counts of every graph."""
    views = []
    for line in lines:
        graph = json.loads(line)
        pairs = np.array(graph["edges"], dtype=np.int64).reshape(-1, 2)
        views.append(UndirectedView.of_pairs(graph["nodes"], pairs[:, 0], pairs[:, 1]))
    seconds = [timed(lambda view=view: motifs.scalars(view, Suite.FULL))[1] for view in views]
    print(
        json.dumps(
            {
                "measured": "collection",
                "graphs": len(views),
                "mean_nodes": round(float(np.mean([view.node_count for view in views])), 1),
                "cpu_seconds_a_graph": round(float(np.mean(seconds)), 5),
                "slowest": max(seconds),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=Path)
    parser.add_argument("--collection", type=Path)
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    small = heavy_tailed(100, 400, rng)  # compiles every kernel
    motifs.scalars(small, Suite.FULL)
    sampled.induced(small, 5, draws=100)
    if asked.collection:
        with gzip.open(asked.collection, "rt") as lines:
            collection(lines)
    elif asked.edges:
        pairs = np.loadtxt(asked.edges, dtype=np.int64, usecols=(0, 1))
        ids, ends = np.unique(pairs, return_inverse=True)
        ends = ends.reshape(-1, 2)
        measure(asked.edges.stem, UndirectedView.of_pairs(len(ids), ends[:, 0], ends[:, 1]))
    else:
        beside_enumeration()
        for n, m in ((1_000, 10_000), (10_000, 100_000), (100_000, 1_000_000), (1_000_000, 10_000_000)):
            measure("heavy-tailed", heavy_tailed(n, m, rng))


if __name__ == "__main__":
    main()

"""CPU seconds of the structural metrics: beside the published way of computing them, and at scale.

    python -m benchmarks.structure_speed Facebook.txt                a graph and a random one of its degrees
    python -m benchmarks.structure_speed --random 1000000 20000000   two generated graphs, metric by metric

The published way is PrivGraph's evaluation in plain NetworkX (benchmarks/structure_plain.py), which computes
fewer metrics than we do. CPU seconds are user and system time of all threads, beyond imports and the
compilation of kernels (a small pair goes first, and is not counted). Peak memory is the whole process's; the
generated graphs are made and stored by another process.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import networkit  # noqa: F401  (imported here so that no measurement contains it)
import networkx as nx
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import structure_plain as plain
from benchmarks.graphs import community_graph
from benchmarks.load import load_static
from core.evaluation.metric import Suite
from core.evaluation.utility import (
    assortativity,
    clustering,
    communities,
    components,
    degrees,
    edges,
    eigenvector,
    inequality,
    paths,
)
from core.evaluation.view import UndirectedView
from core.graphs.stored.whole import read_graph, write_graph

FAMILIES = (
    edges,
    degrees,
    inequality,
    assortativity,
    clustering,
    components,
    communities,
    eigenvector,
    paths,
)
# What must be cheap at 20 million edges: degrees, triangles, clustering, the largest component.
QUICK = (edges, degrees, inequality, assortativity, clustering, components)
RATIO_BAR = 20
SECONDS_BAR, MEGABYTES_BAR = 120, 8_000
T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of the call, and its result."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def megabytes() -> float:
    """Peak resident memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ours(original: UndirectedView, synthetic: UndirectedView, report: bool = False) -> dict[str, float]:
    """CPU seconds by family, all metrics of a pair; what families share falls to the first that asks."""
    spent = {}
    for family in FAMILIES:

        def run(family=family) -> list[dict]:
            found = []
            if hasattr(family, "SCALARS"):
                found += [family.scalars(view, Suite.FULL) for view in (original, synthetic)]
            if hasattr(family, "DISTANCES"):
                found.append(family.distances(original, synthetic, Suite.FULL))
            return found

        name = family.__name__.rpartition(".")[2]
        spent[name], found = timed(run)
        if report:
            print(f"  {name:<16}{spent[name]:>9.3f} s  peak {megabytes():>7.0f} MB  {found[0]}", flush=True)
    return spent


def published(original: nx.Graph, synthetic: nx.Graph) -> dict[str, float]:
    """CPU seconds by metric of the published evaluation of a pair."""
    pair = (original, synthetic)
    spent = {}
    for name, measure in plain.SCALARS.items():
        spent[name], _ = timed(lambda measure=measure: [measure(graph) for graph in pair])
    spent["degree KL"], _ = timed(lambda: plain.divergence(*map(plain.degree_counts, pair)))

    def centralities() -> None:
        scores = [plain.centralities(graph) for graph in pair]
        plain.overlap(*scores)
        plain.highest_error(*scores)

    def partitions() -> None:
        labels = [plain.labels(graph)[0] for graph in pair]
        normalized_mutual_info_score(*labels)

    spent["centralities"], _ = timed(centralities)
    spent["Louvain, NMI"], _ = timed(partitions)
    for name, seconds in spent.items():
        print(f"  {name:<16}{seconds:>9.3f} s", flush=True)
    return spent


def warm_up() -> None:
    """Compiles the kernels, or loads them from their cache."""
    ours(*(UndirectedView.of(community_graph(2000, 6000, seed=seed).cell("edge", None)) for seed in (1, 2)))
    large = UndirectedView.of(community_graph(50_000, 60_000).cell("edge", None))
    paths.path_lengths(large)  # the sampled form


def side_by_side(path: Path) -> bool:
    """Both ways on one pair; whether ours is at least 20 times faster."""
    view = UndirectedView.of(load_static(path).cell("edge", None))
    other = plain.rewired(view.node_count, view.u, view.v)
    # Fresh views: nothing of the first may be found in the second.
    pair = [UndirectedView.of_pairs(view.node_count, u, v) for u, v in ((view.u, view.v), other)]
    print(
        f"{path.name}: {view.node_count} nodes, {view.edge_count} edges, beside a random graph of its degrees"
    )
    warm_up()
    print("ours, every structural metric:")
    mine = sum(ours(*pair, report=True).values())
    graphs = []
    for one in pair:
        graph = nx.empty_graph(view.node_count)
        graph.add_edges_from(zip(one.u.tolist(), one.v.tolist(), strict=True))
        graphs.append(graph)
    print("the published metrics, plain NetworkX:")
    theirs = sum(published(*graphs).values())
    holds = theirs >= RATIO_BAR * mine
    print(
        f"ours {mine:.2f} s, published {theirs:.2f} s, ratio {theirs / mine:.0f}, bar {RATIO_BAR}: ", end=""
    )
    print("PASS" if holds else "FAIL")
    return holds


def at_scale(nodes: int, edge_count: int) -> bool:
    """Two generated graphs, every family; whether the quick ones keep within the bar."""
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        pair = []
        for seed in (1, 2):
            stored = Path(folder) / str(seed)
            arguments = ("--write", str(nodes), str(edge_count), str(seed), str(stored))
            subprocess.run([sys.executable, "-m", "benchmarks.structure_speed", *arguments], check=True)
            spent, view = timed(
                lambda stored=stored: UndirectedView.of(read_graph(stored).cell("edge", None))
            )
            pair.append(view)
            print(f"read and viewed in {spent:.2f} s, peak {megabytes():.0f} MB")
    found = ours(*pair, report=True)
    quick = sum(found[family.__name__.rpartition(".")[2]] for family in QUICK)
    holds = quick <= SECONDS_BAR and megabytes() <= MEGABYTES_BAR
    print(
        f"both graphs: {sum(found.values()):.1f} CPU s in all, {quick:.1f} for degrees, triangles, clustering"
    )
    print(f"and components (bar {SECONDS_BAR}); peak {megabytes():.0f} MB (bar {MEGABYTES_BAR}): ", end="")
    print("PASS" if holds else "FAIL")
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--random", nargs=2, type=int, metavar=("N", "M"))
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write:
        nodes, edge_count, seed, folder = asked.write
        write_graph(community_graph(int(nodes), int(edge_count), seed=int(seed)), Path(folder))
        return 0
    if asked.random:
        return int(not at_scale(*asked.random))
    if asked.path:
        return int(not side_by_side(asked.path))
    parser.error("give an edge list or --random")


if __name__ == "__main__":
    sys.exit(main())

"""How much of a release's partition NMI is chance: the same graph with its nodes renamed at random.

    python -m benchmarks.nmi_by_chance --data FOLDER --graphs citeseer digg --methods dcsbm ldpgen

Two partitions of many small parts share information whatever they say, and a node without an edge is a part
of its own. A renaming keeps the graph and loses every node's place, so that what NMI is left is chance.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.graphs import static_graph
from benchmarks.static_graphs import SOURCES, load
from benchmarks.static_tables import release
from core.evaluation.compare import compared
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph

NMI = "partition_nmi"


def nmi(original: UndirectedView, synthetic: Graph) -> float | None:
    """The NMI of both graphs' partitions."""
    view = UndirectedView.of(synthetic.cell("edge", None))
    return compared(original, view, Suite.STANDARD, only={NMI})["distances"][NMI]


def renamed(graph: Graph, names: np.ndarray) -> Graph:
    """The graph with node v called ``names[v]``."""
    edges = graph.edges["edge"]
    return static_graph(len(names), EdgeTable(names[edges.source], names[edges.target]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the public data sets")
    parser.add_argument("--graphs", nargs="+", choices=list(SOURCES), required=True)
    parser.add_argument("--methods", nargs="+", default=["dcsbm", "ldpgen"])
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    print("| graph | method | nodes without an edge: true, released | NMI | NMI, nodes renamed |")
    print("|---|---|---|---|---|")
    for graph in asked.graphs:
        original = load(graph, asked.data)
        view = UndirectedView.of(original.cell("edge", None))
        names = np.random.default_rng(1).permutation(view.node_count).astype(np.int32)
        for method in asked.methods:
            synthetic, _ = release(method, original, asked.epsilon, {})
            alone = ", ".join(str(_alone(each)) for each in (original, synthetic))
            found, chance = nmi(view, synthetic), nmi(view, renamed(synthetic, names))
            print(f"| {graph} | {method} | {alone} | {_shown(found)} | {_shown(chance)} |")


def _alone(graph: Graph) -> int:
    edges = graph.edges["edge"]
    return graph.nodes["node"].count - len(np.unique(np.concatenate([edges.source, edges.target])))


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()

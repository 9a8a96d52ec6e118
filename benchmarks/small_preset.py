"""What the preset ``small`` of ``dcsbm`` is to read, judged on small graphs, each left out in turn.

    python -m benchmarks.small_preset RESULTS.jsonl --data FOLDER --epsilons 0.5 1 2 4 --runs 3
    python -m benchmarks.small_preset RESULTS.jsonl --table

Graphs: four that NetworkX has, the graph of mails, and NAME-200 of ``benchmarks.good_for``. ``WAYS``: the
preset as it is, and with a part of the triangles' share for the sum of local clustering. Unit edge. The loss
is the mean error in all measures of ``benchmarks.regret`` but those of which node is which, one above 1 taken
as 1; for each graph the way is chosen whose mean loss over the *other* graphs is least. RESULTS holds one
line a run; a call makes those that are missing.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from benchmarks.freed_shares import SCOPES, loss
from benchmarks.good_for import named
from benchmarks.graphs import static_graph
from benchmarks.regret_cells import errors_of
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_graphs import load
from benchmarks.static_tables import release
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph

KNOWN: Mapping[str, Any] = {
    "florentine families": nx.florentine_families_graph,
    "davis": nx.davis_southern_women_graph,
    "karate": nx.karate_club_graph,
    "les miserables": nx.les_miserables_graph,
}
BALLS = ("citeseer", "cora", "email-eu", "collegemsg", "bitcoin-otc", "polblogs", "lastfm", "chameleon")
GRAPHS = (*KNOWN, "radoslaw", *(f"{name}-200" for name in BALLS))
WAYS: Mapping[str, Mapping[str, Any]] = {
    "small": {},
    "some clustering": {"triangle_share": 0.19, "clustering_share": 0.1},
    "half clustering": {"triangle_share": 0.15, "clustering_share": 0.14},
}
EPSILONS, RUNS = (0.5, 1.0, 2.0, 4.0), 3
SHOWN = ("mean_local_clustering", "transitivity", "clustering_by_degree", "modularity")


def graph_of(name: str, data: Path) -> Graph:
    """One of GRAPHS, its nodes in random order."""
    if name not in KNOWN:
        return load(name, data) if name == "radoslaw" else named(name, data)[0]
    known = nx.convert_node_labels_to_integers(KNOWN[name]())
    place = np.random.default_rng(0).permutation(len(known))
    ends = place[np.array([edge[:2] for edge in known.edges()])]
    return static_graph(len(known), EdgeTable(ends[:, 0], ends[:, 1]))


def made(asked: argparse.Namespace) -> None:
    """Every graph, epsilon and way has its runs."""
    had = Counter((line["graph"], line["epsilon"], line["way"]) for line in read(asked.results))
    for name in asked.graphs:
        original = graph_of(name, asked.data)
        view = UndirectedView.of(original.cell("edge", None))
        mean = 2 * original.edges["edge"].count / original.nodes["node"].count
        for epsilon in asked.epsilons:
            for way, shares in WAYS.items():
                for _ in range(asked.runs - had[name, epsilon, way]):
                    synthetic, seconds = release("dcsbm", original, epsilon, {"preset": "small", **shares})
                    errors = errors_of(view, UndirectedView.of(synthetic.cell("edge", None)))
                    key = {"graph": name, "epsilon": epsilon, "way": way, "mean_degree": mean}
                    add(asked.results, {**key, "errors": errors, "cpu_seconds": seconds})


def printed(lines: list[Line]) -> Iterator[str]:
    """A row for each graph at each epsilon, then means and what is chosen with each graph left out."""
    graphs = list(dict.fromkeys(line["graph"] for line in lines))
    for epsilon in sorted({line["epsilon"] for line in lines}):
        cells = {
            (graph, way): [e for e in lines if (e["graph"], e["epsilon"], e["way"]) == (graph, epsilon, way)]
            for graph in graphs
            for way in WAYS
        }
        found = np.array([[loss(cells[graph, way], SCOPES["shape"]) for way in WAYS] for graph in graphs])
        chosen = [int(np.delete(found, place, 0).mean(axis=0).argmin()) for place in range(len(graphs))]
        yield f"\n**Preset small, epsilon {epsilon:g}, {len(graphs)} graphs**\n"
        yield "| way | chosen, a graph left out | shape | " + " | ".join(SHOWN) + " |"
        yield "|---" * (3 + len(SHOWN)) + "|"
        for place, way in enumerate(WAYS):
            more = found[:, place] - found[:, 0]
            spread = f" ± {more.std(ddof=1) / np.sqrt(len(graphs)):.3f}" if place else ""
            told = [np.mean([loss(cells[graph, way], {name}) for graph in graphs]) for name in SHOWN]
            shown = " | ".join(f"{each:.3f}" for each in told)
            yield f"| {way} | {chosen.count(place)} | {found[:, place].mean():.3f}{spread} | {shown} |"
        yield "\n| graph | mean degree | " + " | ".join(f"clustering, {way} | shape" for way in WAYS) + " |"
        yield "|---" * (2 + 2 * len(WAYS)) + "|"
        for row, graph in enumerate(graphs):
            told = [
                f"{loss(cells[graph, way], {SHOWN[0]}):.2f} | {found[row, place]:.3f}"
                for place, way in enumerate(WAYS)
            ]
            yield f"| {graph} | {cells[graph, 'small'][0]['mean_degree']:.1f} | {' | '.join(told)} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS), metavar="GRAPH")
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--runs", type=int, default=RUNS)
    run_or_print(parser, parser.parse_args(), made, printed)


if __name__ == "__main__":
    main()

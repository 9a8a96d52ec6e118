"""Where ``dcsbm`` reads no labels: how what they would cost is divided, chosen on the other graphs.

    python -m benchmarks.freed_shares RESULTS.jsonl --data FOLDER --graphs citeseer cora --runs 8
    python -m benchmarks.freed_shares RESULTS.jsonl --table

Unit edge. The loss of a release is the mean of its errors in all measures of ``benchmarks.regret``, one above
1 taken as 1; "shape" leaves out those of which node is which. For each graph the division is chosen whose
mean loss over the *other* graphs is least. RESULTS holds one line a run; a call makes those that are missing.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.graphs import community_graph
from benchmarks.regret_cells import MEASURES, errors_of
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_graphs import SOURCES, load
from benchmarks.static_tables import release
from core.evaluation.view import UndirectedView
from core.methods.dcsbm import budget

SPARSE = ("citeseer", "cora", "as-733", "collegemsg", "bitcoin-alpha", "bitcoin-otc", "lastfm", "digg")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 8
DIVISIONS: Mapping[str, Mapping[str, float]] = {
    "triangles": {"degree": 0.15, "tail": 0.1, "triangle": 0.45, "clustering": 0.3},
    "even": {"degree": 0.32, "tail": 0.08, "triangle": 0.33, "clustering": 0.27},
    "clustering": {"degree": 0.2, "tail": 0.08, "triangle": 0.3, "clustering": 0.42},
    "degrees": {"degree": 0.49, "tail": 0.07, "triangle": 0.22, "clustering": 0.22},
}
WHO = {"degree_spearman", "top_pagerank_overlap", "top_eigenvector_overlap", "partition_nmi_above_chance"}
SCOPES = {"all": set(MEASURES), "shape": set(MEASURES) - WHO}


def made(asked: argparse.Namespace) -> None:
    """Every graph, epsilon and division has its runs."""
    had = Counter((line["graph"], line["epsilon"], line["division"]) for line in read(asked.results))
    release("dcsbm", community_graph(500, 2_500), 1.0, {})
    for name in asked.graphs:
        original = load(name, asked.data)
        view = UndirectedView.of(original.cell("edge", None))
        for epsilon in EPSILONS:
            for division, freed in DIVISIONS.items():
                for _ in range(asked.runs - had[name, epsilon, division]):
                    budget.FREED.clear()
                    budget.FREED.update(freed)
                    synthetic, seconds = release("dcsbm", original, epsilon, {})
                    errors = errors_of(view, UndirectedView.of(synthetic.cell("edge", None)))
                    key = {"graph": name, "epsilon": epsilon, "division": division}
                    add(asked.results, {**key, "errors": errors, "cpu_seconds": seconds})


def loss(lines: list[Line], measures: set[str]) -> float:
    """The mean error over the measures, of several runs."""
    means = []
    for name in sorted(measures):
        if values := [min(line["errors"][name], 1.0) for line in lines if line["errors"][name] is not None]:
            means.append(np.mean(values))
    return float(np.mean(means))


def printed(lines: list[Line]) -> Iterator[str]:
    """The losses by epsilon, and whose division is chosen where each graph is left out."""
    graphs = list(dict.fromkeys(line["graph"] for line in lines))
    yield f"{len(graphs)} graphs: {', '.join(graphs)}."
    for scope, measures in SCOPES.items():
        yield ""
        yield f"| {scope}, epsilon | {' | '.join(DIVISIONS)} | chosen, a graph left out |"
        yield f"|---|{'---|' * len(DIVISIONS)}---|"
        for epsilon in EPSILONS:
            found = np.array(
                [
                    [
                        loss([e for e in lines if (e["graph"], e["epsilon"], e["division"]) == key], measures)
                        for key in ((graph, epsilon, division) for division in DIVISIONS)
                    ]
                    for graph in graphs
                ]
            )
            chosen = Counter(
                list(DIVISIONS)[int(np.delete(found, place, 0).mean(axis=0).argmin())]
                for place in range(len(graphs))
            )
            error = (found - found[:, :1]).std(axis=0, ddof=1) / np.sqrt(len(graphs))
            means = [f"{mean:.3f} ± {own:.3f}" for mean, own in zip(found.mean(axis=0), error, strict=True)]
            picks = ", ".join(f"{name} {count}" for name, count in chosen.items())
            yield f"| {epsilon:g} | {' | '.join(means)} | {picks} |"
    yield ""
    yield "±: standard error over graphs of the difference to the first column."


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--graphs", nargs="+", choices=list(SOURCES), default=list(SPARSE), metavar="GRAPH")
    parser.add_argument("--runs", type=int, default=RUNS)
    run_or_print(parser, parser.parse_args(), made, printed)


if __name__ == "__main__":
    main()

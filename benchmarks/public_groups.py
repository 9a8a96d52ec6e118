"""Public groups as the labels of ``dcsbm``, beside labels that are read.

    python -m benchmarks.public_groups RESULTS.jsonl --data FOLDER [--runs N]
    python -m benchmarks.public_groups RESULTS.jsonl --table

Four graphs whose nodes have a class, which is declared public. Errors as in ``benchmarks.regret``. Homophily:
assortativity by class, of the release and of the original; mixing TV: half the sum of |share of edges between
two classes - the same of the original|. Only runs that RESULTS lacks are made.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.person_graphs import edge_wise, groups_of, with_groups
from benchmarks.regret_cells import MEASURES, errors_of
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_tables import release
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph

GRAPHS = {
    "cora": ("cora/edges.csv", "cora/labels.csv"),
    "citeseer": ("citeseer/edges.csv", "citeseer/labels.csv"),
    "lastfm": ("lastfm_asia/lastfm_asia_edges.csv", "lastfm_asia/lastfm_asia_target.csv"),
    "polblogs": ("polblogs/edges.csv", "polblogs/labels.csv"),
}
EPSILONS = (0.5, 1.0, 2.0)
ROWS: dict[str, dict[str, str]] = {"labels that are read": {}, "public groups": {"groups": "group"}}
RUNS = 5


def loaded(name: str, data: Path) -> Graph:
    """One of ``GRAPHS``, its classes public and its nodes unprotected."""
    edges, labels = GRAPHS[name]
    return edge_wise(with_groups(data / edges, data / labels))


def mixing(view: UndirectedView, groups: np.ndarray) -> np.ndarray:
    """The share of edge ends between each two classes, (k, k), symmetric; it sums to 1."""
    k = int(groups.max()) + 1
    one = np.bincount(groups[view.u] * k + groups[view.v], minlength=k * k).reshape(k, k)
    return (one + one.T) / (2 * view.edge_count)


def assortativity_by_class(shares: np.ndarray) -> float:
    """Newman 2003, equation 2: what edges inside classes exceed chance by."""
    by_chance = float((shares.sum(axis=0) ** 2).sum())
    return (float(np.trace(shares)) - by_chance) / (1 - by_chance)


def measured(original: Graph, epsilon: float, parameters: dict[str, str]) -> dict[str, float | None]:
    """The figures of one release."""
    synthetic, seconds = release("dcsbm", original, epsilon, parameters)
    views = [UndirectedView.of(graph.cell("edge", None)) for graph in (original, synthetic)]
    groups = groups_of(original)
    assert groups is not None
    true, drawn = (mixing(view, groups) for view in views)
    return {
        **errors_of(*views),
        "homophily": assortativity_by_class(drawn),
        "true homophily": assortativity_by_class(true),
        "mixing TV": float(np.abs(true - drawn).sum()) / 2,
        "CPU s": seconds,
    }


def run_missing(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks, the first release of a process uncounted: it loads kernels."""
    known = {(line["graph"], line["epsilon"], line["row"], line["run"]) for line in read(asked.results)}
    warm = False
    for name in GRAPHS:
        original = loaded(name, asked.data)
        for epsilon in EPSILONS:
            for row, parameters in ROWS.items():
                for run in range(asked.runs):
                    if (name, epsilon, row, run) in known:
                        continue
                    if not warm:
                        warm = bool(measured(original, epsilon, parameters))
                    line = {"graph": name, "epsilon": epsilon, "row": row, "run": run}
                    add(asked.results, line | {"figures": measured(original, epsilon, parameters)})


def tables(lines: list[Line]) -> Iterator[str]:
    """One table in Markdown: means over runs."""
    found: dict[tuple[str, float, str], list[dict[str, float]]] = defaultdict(list)
    for line in lines:
        found[line["graph"], line["epsilon"], line["row"]].append(line["figures"])
    titles = {name: title for name, (title, _) in MEASURES.items()}
    columns = list(next(iter(found.values()))[0]) if found else []
    yield f"| graph | epsilon | labels | {' | '.join(titles.get(each, each) for each in columns)} | runs |"
    yield "|---" * (len(columns) + 4) + "|"
    for (graph, epsilon, row), runs in sorted(found.items()):
        shown = [f"{np.mean([run[each] for run in runs if run[each] is not None]):.3f}" for each in columns]
        yield f"| {graph} | {epsilon:g} | {row} | {' | '.join(shown)} | {len(runs)} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    run_or_print(parser, parser.parse_args(), run_missing, tables)


if __name__ == "__main__":
    main()

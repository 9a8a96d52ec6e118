"""Shares of the methods of unit node, chosen on the other graphs: the regret on the graph that was left out.

    python -m benchmarks.person_shares RESULTS.jsonl --data FOLDER                  what RESULTS lacks
    python -m benchmarks.person_shares RESULTS.jsonl --data FOLDER --method projection --runs 3
    python -m benchmarks.person_shares RESULTS.jsonl --table

A candidate is a method's default with some shares changed. Its error on a graph is the mean of the figures in
ERRORS, each at most 1, over runs and epsilons; its regret what that exceeds the least candidate's by. For
each graph the candidate is chosen whose mean regret over the other graphs is least.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks import person_graphs
from benchmarks.person_tables import Row, people, released, things
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.errors import NotAccepted
from core.graphs.graph import Graph

CANDIDATES: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "profiles": {
        "default": {},
        "less for tastes": {"structure_share": 0.2},
        "less for totals": {"total_share": 0.2},
        "more for persons": {"degree_share": 0.28},
    },
    "projection": {
        "default": {},
        "less for triangles": {"triangle_share": 0.05},
        "more for triangles": {"triangle_share": 0.3},
        "more for edges": {"edge_share": 0.35},
    },
}
GRAPHS = {"profiles": ("ml-100k", "amazon", "bitcoin-otc"), "projection": ("cora", "lastfm", "digg")}
EPSILONS = (1.0, 4.0)
ERRORS = {
    "profiles": ("TV persons", "TV things", "L1 things", "AUC-items"),
    "projection": ("degree TV", "density RE", "triangles RE", "modularity"),
}


def error_of(method: str, figures: Mapping[str, Any]) -> float:
    """The mean of the method's errors, each at most 1; of AUC-items and modularity what is missing."""
    found = []
    for name in ERRORS[method]:
        if name not in figures:
            continue
        value = float(figures[name])
        if name == "modularity":
            value = abs(value - float(figures["true modularity"]))
        found.append(min(float(figures["best AUC"]) - value if name == "AUC-items" else value, 1.0))
    return float(np.mean(found))


def drawn(label: str, method: str, shares: Mapping[str, float], graph: Graph, epsilon: float) -> Graph:
    """One release; by the defaults where a share could change nothing."""
    try:
        return released(Row(label, method, parameters=json.dumps(shares)), graph, epsilon, 1)[0]
    except NotAccepted:
        return released(Row(label, method), graph, epsilon, 1)[0]


def made(asked: argparse.Namespace) -> None:
    """Makes the runs that RESULTS lacks, one after the other."""
    done = {
        (line["method"], line["graph"], line["label"], line["epsilon"], line["run"])
        for line in read(asked.results)
    }
    for method in asked.method or CANDIDATES:
        for name in GRAPHS[method]:
            graph = person_graphs.load(name, asked.data)
            looked = things(name, graph, graph) if method == "profiles" else {}
            for label, shares in CANDIDATES[method].items():
                for epsilon in EPSILONS:
                    for run in range(asked.runs):
                        if (method, name, label, epsilon, run) in done:
                            continue
                        synthetic = drawn(label, method, shares, graph, epsilon)
                        if method == "profiles":
                            figures = things(name, graph, synthetic) | {"best AUC": looked["AUC-items"]}
                        else:
                            figures = people(graph, synthetic)
                        line: Line = {"method": method, "graph": name, "label": label, "epsilon": epsilon}
                        add(asked.results, line | {"run": run, "error": error_of(method, figures)})


def regrets(lines: list[Line], method: str) -> dict[str, dict[str, float]]:
    """The regret of every candidate, on every graph on which all were measured."""
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["method"] == method:
            errors[line["graph"]][line["label"]].append(line["error"])
    means = {graph: {label: float(np.mean(v)) for label, v in own.items()} for graph, own in errors.items()}
    return {
        graph: {label: value - min(own.values()) for label, value in own.items()}
        for graph, own in means.items()
        if len(own) == max(map(len, means.values()))
    }


def chosen(found: Mapping[str, Mapping[str, float]], graph: str) -> str:
    """The candidate whose mean regret over the other graphs is least."""
    others = [own for name, own in found.items() if name != graph]
    return min(found[graph], key=lambda label: float(np.mean([own[label] for own in others])))


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown: for each method the regrets on every graph, and what is chosen without it."""
    for method in CANDIDATES:
        found = regrets(lines, method)
        if len(found) < 2:
            continue
        labels = list(next(iter(found.values())))
        yield f"\n**{method}**\n"
        yield "| graph | " + " | ".join(labels) + " | chosen on the others | its regret |"
        yield "|---" * (len(labels) + 3) + "|"
        for graph, own in found.items():
            choice = chosen(found, graph)
            shown = " | ".join(f"{own[label]:.3f}" for label in labels)
            yield f"| {graph} | {shown} | {choice} | {own[choice]:.3f} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--method", action="append", choices=list(CANDIDATES), help="one method")
    parser.add_argument("--runs", type=int, default=3)
    run_or_print(parser, parser.parse_args(), made, tables)


if __name__ == "__main__":
    main()

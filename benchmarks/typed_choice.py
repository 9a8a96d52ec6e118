"""Which method `auto` should take for typed and directed graphs without time: errors by method, and regret.

    python -m benchmarks.typed_choice RESULTS.jsonl --data FOLDER            all graphs, 3 runs each
    python -m benchmarks.typed_choice RESULTS.jsonl --data FOLDER --set imdb --only anchored --epsilon 1
    python -m benchmarks.typed_choice RESULTS.jsonl --table

Unit edge, every relation at the whole epsilon. Sets with time are taken as one step; ``, bare`` has no
features. The error of a release is the mean over its relations of the mean of five, each from 0 to 1:

- degree: total variation of the degree distributions, mean of both sides;
- popularity: half the L1 distance of both graphs' degrees, each divided by its sum, mean of both sides: who
  has the edges;
- path: total variation of the numbers of paths of length two back to a node's own type, in doubling bins;
- cycles: 1 - min(r, 1/r), r the ratio of the numbers of 4-cycles (left out where the original has none);
- preference: how much of the original's AUC above .5 is missing (see ``typed_metrics``).

Regret: a release's error minus the least that a method reaches on that graph at that epsilon. The first
table says what `auto` took.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError

from benchmarks.load import load_typed
from benchmarks.results_file import add, parser_of, read, run_or_print
from benchmarks.typed_metrics import degree_figures, four_cycles, preference_aucs
from core.evaluation.utility.degrees import total_variation
from core.evaluation.view import sides
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts, no_progress
from core.methods.choice import AUTO, choose
from core.methods.registry import get
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.hetesdg.benchmarks.data import DATASETS as FEATURED
from papers.hetesdg.benchmarks.data import load as load_featured
from papers.hetesdg.benchmarks.graph import paths

METHODS = (AUTO, "anchored", "hetesdg", "edgerand", "tmf", "lapgraph")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 3
BARE = ", bare"
FLAT = {"ml-100k": "ml-100k/ml-100k.txt.gz", "dblp": "dblp_kdd/dblp_kdd.txt.gz"}
DIRECTED = {
    "bitcoin-alpha": "bitcoin-alpha/soc-sign-bitcoinalpha.csv",
    "email-Eu": "email-Eu-core-temporal-prefix/email-Eu-core-temporal.txt",
}
SETS = (*FEATURED, *(name + BARE for name in FEATURED), *FLAT, *DIRECTED)


def load(name: str, data: Path) -> Graph:
    """One of ``SETS``, untimed."""
    if name in DIRECTED:
        return _directed(data / DIRECTED[name])
    if name in FLAT:
        (graph,) = load_typed(data / FLAT[name])
        return without_time(graph)
    graph = load_featured(name.removesuffix(BARE), data)
    return without_features(graph) if name.endswith(BARE) else graph


def without_time(graph: Graph) -> Graph:
    """A pair is linked where it is in any step."""
    kinds, tables = [], {}
    for kind in graph.schema.edge_types:
        columns, table = graph.nodes[kind.target].count, graph.edges[kind.name]
        keys = np.unique(table.source.astype(np.int64) * columns + table.target)
        kinds.append(EdgeType(name=kind.name, source=kind.source, target=kind.target, directed=kind.directed))
        tables[kind.name] = EdgeTable(*np.divmod(keys, columns))
    schema = GraphSchema(node_types=graph.schema.node_types, edge_types=tuple(kinds))
    return Graph.build(schema, graph.nodes, tables)


def without_features(graph: Graph) -> Graph:
    """The same links among nodes of which nothing is public."""
    bare = tuple(NodeType(name=kind.name, count=kind.count) for kind in graph.schema.node_types)
    schema = GraphSchema(node_types=bare, edge_types=graph.schema.edge_types)
    nodes = {name: NodeTable(table.count) for name, table in graph.nodes.items()}
    return Graph.build(schema, nodes, graph.edges)


def _directed(path: Path) -> Graph:
    listed = path.suffix == ".csv"  # with a line of names
    rows = np.loadtxt(
        path, usecols=(0, 1), delimiter="," if listed else None, skiprows=int(listed), dtype=np.int64
    )
    names, place = np.unique(rows, return_inverse=True)
    ends = np.random.default_rng(0).permutation(len(names))[place.reshape(rows.shape)]
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    relation = EdgeType(directed=True)
    schema = GraphSchema(node_types=(NodeType(count=len(names)),), edge_types=(relation,))
    return Graph.build(schema, {"node": NodeTable(len(names))}, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def facts_of(graph: Graph, epsilon: float) -> PublicFacts:
    names = tuple(kind.name for kind in graph.schema.edge_types)
    return PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), 0, names)


def released(method: str, graph: Graph, epsilon: float, params: dict[str, Any]) -> Graph:
    """One synthetic graph."""
    facts = facts_of(graph, epsilon)
    if method == AUTO:
        found = choose(facts, {name: table.count for name, table in graph.nodes.items()})
        method, params = found.method, dict(found.params)
    generator = get(method)
    chosen = generator.Params.model_validate(params)
    plan = generator.plan(chosen, facts)
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    return generator.fit(session, plan, chosen, no_progress).sample(noise_generator(), no_progress)


class Original:
    """A graph and what is worked out of it once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.cycles = cache(lambda relation: four_cycles(graph, relation))
        self.preference = cache(lambda relation: _preference(graph, graph, relation))
        self.paths = cache(lambda relation: paths(graph, relation))

    def errors(self, synthetic: Graph) -> dict[str, float]:
        """The five errors, means over relations; ``true``: the share of released edges that are true."""
        found: dict[str, list[float]] = defaultdict(list)
        for kind in self.graph.schema.edge_types:
            for name, value in self.of_relation(synthetic, kind.name).items():
                found[name].append(value)
        return {name: float(np.mean(values)) for name, values in found.items()}

    def of_relation(self, synthetic: Graph, name: str) -> dict[str, float]:
        """The errors of one relation."""
        ours, theirs = (sides(graph.cell(name, None)) for graph in (self.graph, synthetic))
        figures = degree_figures(self.graph, synthetic, name)
        found = {
            "degree": np.mean([v or 0.0 for k, v in figures.items() if k.startswith("degree_tv")]),
            "popularity": np.mean([_apart(ours[side], theirs[side]) for side in ours]),
        }
        counts = paths(synthetic, name)
        found["path"] = np.mean(
            [total_variation(*_binned(each, counts[side])) for side, each in self.paths(name).items()]
        )
        if self.cycles(name):
            ratio = four_cycles(synthetic, name) / self.cycles(name)
            found["cycles"] = 1 - min(ratio, 1 / ratio) if ratio else 1.0
        whole = self.preference(name)
        if whole is not None and whole > 0.55:
            part = _preference(self.graph, synthetic, name) or 0.5
            found["preference"] = float(np.clip((whole - part) / (whole - 0.5), 0, 1))
        columns = self.graph.nodes[self.graph.schema.edge_type(name).target].count
        real, drawn = (
            graph.edges[name].source.astype(np.int64) * columns + graph.edges[name].target
            for graph in (self.graph, synthetic)
        )
        found["true"] = np.isin(drawn, real).mean() if len(drawn) else 0.0
        return {name: float(value) for name, value in found.items()}


def _preference(original: Graph, synthetic: Graph, relation: str) -> float | None:
    """The AUC of real pairs by the synthetic ones; None where these have too few distinct components."""
    try:
        return preference_aucs(original, synthetic, relation)[0]
    except ArpackError:  # such as where every source has one target: all singular values are alike
        return None


def _apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    shares = [side / max(side.sum(), 1) for side in (ours, theirs)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _binned(*counts: np.ndarray) -> list[np.ndarray]:
    places = [np.floor(np.log2(np.maximum(each, 0.5))).astype(np.int64) + 1 for each in counts]
    width = 1 + max(int(each.max(initial=0)) for each in places)
    return [np.bincount(each, minlength=width) / max(len(each), 1) for each in places]


def run_missing(asked: argparse.Namespace) -> None:
    """Appends what RESULTS lacks. A method that refuses a graph stands in its line with the reason."""
    lines = read(asked.results)
    done = {(line["set"], line["method"], line["epsilon"], line["run"]) for line in lines}
    params = dict(pair.split("=", 1) for pair in asked.param)
    for name in asked.set:
        original = None
        for run in range(asked.runs):
            for epsilon in asked.epsilon:
                for method in asked.only:
                    label = " ".join([method, *asked.param])
                    if (name, label, epsilon, run) in done:
                        continue
                    original = original or Original(load(name, asked.data))
                    started = time.process_time()
                    found = original.errors(released(method, original.graph, epsilon, params))
                    public = facts_of(original.graph, epsilon)
                    counts = {kind: table.count for kind, table in original.graph.nodes.items()}
                    line = {"set": name, "method": label, "epsilon": epsilon, "run": run, "errors": found}
                    line["auto"] = choose(public, counts).method
                    add(asked.results, line | {"seconds": time.process_time() - started})


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: error by set and epsilon, its parts, and each method's regret."""
    found: dict[tuple[str, float], dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    taken = {}
    for line in lines:
        found[line["set"], line["epsilon"]][line["method"]].append(line["errors"])
        taken[line["set"], line["epsilon"]] = line["auto"]
    methods = list(dict.fromkeys(line["method"] for line in lines))
    yield "| set | epsilon | " + " | ".join(methods) + " | auto takes | runs |"
    yield "|---|---|" + "---|" * (len(methods) + 2)
    regrets: dict[tuple[str, float], list[float]] = defaultdict(list)
    for (name, epsilon), rows in sorted(found.items(), key=lambda each: (SETS.index(each[0][0]), each[0][1])):
        errors = {method: _error(runs) for method, runs in rows.items()}
        best, auto = min(errors.values()), taken[name, epsilon]
        for method, error in errors.items():
            regrets[method, epsilon].append(error - best)
        told = " | ".join(f"{errors[method]:.3f}" if method in errors else "" for method in methods)
        count = min(len(runs) for runs in rows.values())
        yield f"| {name} | {epsilon:g} | {told} | {auto} | {count} |"
    epsilons = sorted({epsilon for _, epsilon in found})
    yield "\nRegret, mean (largest) over the sets:\n"
    yield "| method | " + " | ".join(f"{e:g}" for e in epsilons) + " |"
    yield "|---|" + "---|" * len(epsilons)
    for method in methods:
        each = [regrets[method, e] for e in epsilons]
        told = " | ".join(f"{np.mean(r):.3f} ({max(r):.3f})" if r else "" for r in each)
        yield f"| {method} | {told} |"
    parts = ("degree", "popularity", "path", "cycles", "preference", "true")
    yield "\nParts, mean over the sets:\n"
    yield "| method | epsilon | " + " | ".join(parts) + " |"
    yield "|---|---|" + "---|" * len(parts)
    for method in methods:
        for epsilon in epsilons:
            runs = [run for (_, e), rows in found.items() if e == epsilon for run in rows.get(method, [])]
            if not runs:
                continue
            told = " | ".join(f"{np.mean([run[part] for run in runs if part in run]):.3f}" for part in parts)
            yield f"| {method} | {epsilon:g} | {told} |"


def _error(runs: list[dict[str, float]]) -> float:
    return float(np.mean([np.mean([v for k, v in run.items() if k != "true"]) for run in runs]))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--only", action="append", metavar="METHOD")
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    asked.set, asked.only = asked.set or list(SETS), asked.only or list(METHODS)
    asked.epsilon = asked.epsilon or list(EPSILONS)
    run_or_print(parser, asked, run_missing, tables)


if __name__ == "__main__":
    main()

"""Which structure a directed or typed relation without time should have, and which rule says so.

    python -m benchmarks.relation_choice RESULTS.jsonl --data FOLDER                 what RESULTS lacks
    python -m benchmarks.relation_choice RESULTS.jsonl --data FOLDER --set ml-100k --epsilon 1 --runs 5
    python -m benchmarks.relation_choice RESULTS.jsonl --table

Unit edge: every relation has all of epsilon, whatever draws the others, so each is released by itself. Graphs
with time are taken as one step. "routes": airports of examples/us-flights, an arc from each to those that a
flight goes to; "generated-N": N nodes, four arcs each by heavy-tailed degrees on both sides. Errors: as in
``benchmarks.typed_choice``, from 0 to 1. ``out`` and ``in``: the correlation of every node's degree with the
original's, by Pearson.

A rule reads public facts: the sizes of both sides, epsilon, and ``strength``, epsilon over the log odds
against an edge by two edges a node. For each graph the rule is chosen whose mean regret over the *other*
graphs is least (a graph's relations count as one graph), and its regret on the graph that was left out is
printed.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import typed_choice
from benchmarks.person_graphs import one_way
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods._shared.flips.worth import strength
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO
from core.privacy.queries import Shape
from core.privacy.units import Unit

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 3
CANDIDATES: Mapping[str, tuple[str, dict[str, str]]] = {
    "hetesdg": ("hetesdg", {}),
    "anchored": ("anchored", {}),
    "anchored, none": ("anchored", {"evidence": "none"}),
}
FLIGHTS = Path(__file__).parents[1] / "examples" / "us-flights" / "edges.csv"
GENERATED = {f"generated-{nodes}": nodes for nodes in (60, 120, 300)}
OTHERS = ("otc", "polblogs", "collegemsg")
SETS = (
    *("ml-100k", "dblp", "acm", "imdb", "amazon", "bitcoin-alpha", "email-Eu"),
    *OTHERS,
    *("radoslaw", "routes"),
    *GENERATED,
)
SMALL = ("radoslaw", "routes", *GENERATED)
"""Directed graphs of a few hundred nodes: whose correlations are printed."""


def load(name: str, data: Path) -> Graph:
    """One of ``SETS``, untimed."""
    if name in OTHERS:
        return one_way(name, data)
    if name in GENERATED:
        return generated(GENERATED[name])
    if name == "radoslaw":
        return arcs(np.loadtxt(data / "radoslaw-email/email.tsv", comments="%", usecols=(0, 1)))
    if name == "routes":
        flown = pl.read_csv(FLIGHTS).filter(pl.col("type") == "flight")
        names = {each: place for place, each in enumerate(sorted({*flown["source"], *flown["target"]}))}
        return arcs(np.array([[names[one], names[other]] for one, other in flown[:, :2].iter_rows()]))
    return typed_choice.load(name, data)


def arcs(rows: np.ndarray) -> Graph:
    """One directed relation of the nodes that are named; loops and repeats are dropped."""
    names, place = np.unique(rows.astype(np.int64), return_inverse=True)
    ends = np.random.default_rng(0).permutation(len(names))[place.reshape(-1, 2)]
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    schema = GraphSchema(node_types=(NodeType(count=len(names)),), edge_types=(EdgeType(directed=True),))
    nodes = {"node": NodeTable(len(names))}
    return Graph.build(schema, nodes, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def generated(nodes: int) -> Graph:
    """Ends meet at random by weights of a power law, each side's its own; the same at every call."""
    rng = np.random.default_rng(nodes)
    sides = []
    for _ in range(2):
        weight = (1 - rng.random(nodes)) ** (-1 / 1.5)
        sides.append(rng.choice(nodes, 4 * nodes, p=weight / weight.sum()))
    missing = np.setdiff1d(np.arange(nodes), np.concatenate(sides))
    sides[1][: len(missing)] = missing  # every node has an arc, so that it has a name
    return arcs(np.stack(sides, axis=1))


def alone(graph: Graph, relation: str) -> Graph:
    """The graph of that relation and the nodes at its ends."""
    kind = graph.schema.edge_type(relation)
    kinds = tuple(each for each in graph.schema.node_types if each.name in (kind.source, kind.target))
    schema = GraphSchema(node_types=kinds, edge_types=(kind,))
    nodes = {each.name: graph.nodes[each.name] for each in kinds}
    return Graph.build(schema, nodes, {relation: graph.edges[relation]})


def facts_of(graph: Graph, epsilon: float) -> PublicFacts:
    """Return what a plan of the graph's one relation is made of."""
    (kind,) = graph.schema.edge_types
    return PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), 0, (kind.name,))


def told_apart(graph: Graph, epsilon: float) -> dict[str, float]:
    """Return what a rule may read."""
    (kind,) = graph.schema.edge_types
    sizes = graph.nodes[kind.source].count, graph.nodes[kind.target].count
    worth = strength(Shape(kind, *sizes), round(epsilon * NANO), 1)
    return {"least": min(sizes), "most": max(sizes), "strength": worth, "inside": float(kind.homogeneous)}


def correlations(original: Graph, synthetic: Graph, relation: str) -> dict[str, float]:
    """The correlation of out- and of in-degrees, node by node; 0 where one side does not vary."""
    kind = original.schema.edge_type(relation)
    found = {}
    for name, side, end in (("out", "source", kind.source), ("in", "target", kind.target)):
        count = original.nodes[end].count
        pair = [np.bincount(getattr(g.edges[relation], side), minlength=count) for g in (original, synthetic)]
        varies = all(each.std() > 0 for each in pair)
        found[name] = float(np.corrcoef(*pair)[0, 1]) if varies else 0.0
    return found


def made(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    keys = ("set", "relation", "method", "epsilon", "run")
    done = {tuple(line[key] for key in keys) for line in read(asked.results)}
    for name in asked.set:
        graph = load(name, asked.data)
        for kind in graph.schema.edge_types:
            own = alone(graph, kind.name)
            original = typed_choice.Original(own)
            for epsilon in asked.epsilon:
                for label, (method, params) in CANDIDATES.items():
                    for run in range(asked.runs):
                        if (name, kind.name, label, epsilon, run) in done:
                            continue
                        begun = time.process_time()
                        synthetic = typed_choice.released(method, own, epsilon, params)
                        seconds = time.process_time() - begun
                        line: Line = dict(
                            zip(keys, (name, kind.name, label, epsilon, run), strict=True),
                            errors=original.errors(synthetic) | correlations(own, synthetic, kind.name),
                            facts=told_apart(own, epsilon),
                            seconds=seconds,
                        )
                        add(asked.results, line)


Case = tuple[str, str, float]
"""A set, a relation of it, and an epsilon."""
FIGURES = ("true", "out", "in")
"""Of a line's errors those that are none."""


@dataclass(frozen=True)
class Measured:
    """The mean error of every candidate in one case, and what a rule reads there."""

    errors: Mapping[str, float]
    facts: Mapping[str, float]

    def regret(self, label: str) -> float:
        """What the candidate loses to the best one."""
        return self.errors[label] - min(self.errors.values())


def error_of(line: Line) -> float:
    """The mean of a run's errors."""
    return float(np.mean([value for name, value in line["errors"].items() if name not in FIGURES]))


def cases_of(lines: list[Line]) -> dict[Case, Measured]:
    """What the lines say, case by case; those in which a candidate was not run are left out."""
    found: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    facts: dict[Case, dict[str, float]] = {}
    for line in lines:
        case = (line["set"], line["relation"], line["epsilon"])
        found[case][line["method"]].append(error_of(line))
        facts[case] = line["facts"]
    cases = {}
    for case, rows in found.items():
        errors = {label: float(np.mean(each)) for label, each in rows.items()}
        if set(errors) == set(CANDIDATES):
            cases[case] = Measured(errors, facts[case])
    return cases


Rule = Callable[[Mapping[str, float]], str]


def _always(label: str, _: Mapping[str, float]) -> str:
    return label


def rules() -> dict[str, Rule]:
    """Candidates for every relation, and rules of two numbers.

    Below ``worth`` of strength: keep every node's own degree where the smaller (or the larger) side has at
    most so many nodes, and hetesdg beyond; above it: anchored. "as it was": inside one type alone.
    """
    found: dict[str, Rule] = {label: partial(_always, label) for label in CANDIDATES}

    def rule(worth: float, side: str, most: float, inside: bool) -> Rule:
        def chosen(facts: Mapping[str, float]) -> str:
            if facts["strength"] >= worth:
                return "anchored"
            small = facts[side] <= most and (facts["inside"] > 0 or not inside)
            return "anchored, none" if small else "hetesdg"

        return chosen

    found[AS_IT_IS] = rule(0.6, "most", 1_000, inside=True)
    for worth, (side, most) in product(
        (0.3, 0.45, 0.6, 0.8),
        (("least", 0), ("least", 100), ("least", 500), ("least", 1_000), ("most", 2_000)),
    ):
        told = f"smaller side at most {most:,}" if side == "least" else f"both sides at most {most:,}"
        found[f"worth {worth:g}, {told}"] = rule(worth, side, most, inside=False)
    return found


AS_IT_IS = "worth 0.6, inside one type at most 1,000"


def regrets_of(cases: Mapping[Case, Measured], rule: Rule) -> dict[str, list[float]]:
    """The rule's regret by set, for each of its epsilons the mean over relations."""
    found: dict[tuple[str, float], list[float]] = defaultdict(list)
    for (name, _, epsilon), each in cases.items():
        found[name, epsilon].append(each.regret(rule(each.facts)))
    by_set: dict[str, list[float]] = defaultdict(list)
    for (name, _), values in found.items():
        by_set[name].append(float(np.mean(values)))
    return by_set


def chosen(found: Mapping[str, Mapping[str, list[float]]], left_out: str) -> str:
    """The rule whose mean regret over the other sets is least; ``found``: by rule and set."""
    return min(
        found, key=lambda rule: float(np.mean([np.mean(v) for k, v in found[rule].items() if k != left_out]))
    )


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown: errors by relation, rules' regrets, what is chosen without each graph, small graphs."""
    cases = cases_of(lines)
    labels = list(CANDIDATES)
    yield f"| set | relation | epsilon | strength | {' | '.join(labels)} | as it is |"
    yield "|---" * (len(labels) + 5) + "|"
    now = rules()[AS_IT_IS]
    for (name, relation, epsilon), each in sorted(
        cases.items(), key=lambda row: (SETS.index(row[0][0]), *row[0][1:])
    ):
        told = " | ".join(f"{each.errors[label]:.3f}" for label in labels)
        taken = now(each.facts)
        yield (
            f"| {name} | {relation} | {epsilon:g} | {each.facts['strength']:.2f} | {told} | "
            f"{taken}, {each.regret(taken):.3f} |"
        )
    found = {label: regrets_of(cases, rule) for label, rule in rules().items()}
    yield "\nRegret of rules, mean over sets and epsilons (worst):\n\n| rule | mean (worst) |\n|---|---|"
    ranked = sorted(found, key=lambda rule: np.mean([np.mean(v) for v in found[rule].values()]))
    for rule in ranked:
        values = [np.mean(v) for v in found[rule].values()]
        worst = max(max(v) for v in found[rule].values())
        yield f"| {rule} | {np.mean(values):.4f} ({worst:.3f}) |"
    yield "\nChosen on the other graphs:\n"
    yield "| left out | chosen | its regret there | as it is |\n|---|---|---|---|"
    sets = list(found[AS_IT_IS])
    totals = []
    for name in sets:
        rule = chosen(found, name)
        pair = [float(np.mean(found[each][name])) for each in (rule, AS_IT_IS)]
        totals.append(pair)
        yield f"| {name} | {rule} | {pair[0]:.3f} | {pair[1]:.3f} |"
    means = np.mean(totals, axis=0)
    yield f"| **mean** | | **{means[0]:.4f}** | **{means[1]:.4f}** |"
    yield from small_table(lines)


def small_table(lines: list[Line]) -> Iterator[str]:
    """Markdown: the correlations of degrees in small directed graphs."""
    found: dict[tuple[str, float, str], list[Line]] = defaultdict(list)
    for line in lines:
        if line["set"] in SMALL:
            found[line["set"], line["epsilon"], line["method"]].append(line)
    yield "\nSmall directed graphs: correlation of degrees with the original's, node by node\n"
    yield "| set | epsilon | method | out | in | error | runs |\n|---|---|---|---|---|---|---|"
    for (name, epsilon, method), own in sorted(found.items(), key=lambda row: SETS.index(row[0][0])):
        out, into = (np.mean([line["errors"][side] for line in own]) for side in ("out", "in"))
        error = np.mean([error_of(line) for line in own])
        yield f"| {name} | {epsilon:g} | {method} | {out:.2f} | {into:.2f} | {error:.3f} | {len(own)} |"


def main() -> None:
    """Make runs, or print tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    asked.set, asked.epsilon = asked.set or list(SETS), asked.epsilon or list(EPSILONS)
    run_or_print(parser, asked, made, tables)


if __name__ == "__main__":
    main()

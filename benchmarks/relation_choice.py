"""Which structure a directed or typed relation without time should have, and which rule says so.

    python -m benchmarks.relation_choice RESULTS.jsonl --data FOLDER                 what RESULTS lacks
    python -m benchmarks.relation_choice RESULTS.jsonl --data FOLDER --set ml-100k --epsilon 1 --runs 5
    python -m benchmarks.relation_choice RESULTS.jsonl --table

Unit edge: every relation has all of epsilon, whatever draws the others, so each is released by itself. Graphs
with time are taken as one step. "routes": airports of examples/us-flights, an arc from each to those that a
flight goes to; "states": the states that they lie in; "hospital": patients and diagnoses of
examples/hospital; "generated-N" and "generated-N-M": N nodes of one type, or N and M of two, four edges drawn
for each of the first by heavy-tailed degrees on both sides, repeats dropped. Errors: as in
``benchmarks.typed_choice``, from 0 to 1. ``out`` and ``in``: the correlation of every node's degree with the
original's, by Pearson.

A rule reads public facts: the sizes of both sides, epsilon, and ``strength``, epsilon over the log odds
against an edge by two edges a node. For each graph the rule is chosen whose mean regret over the *other*
graphs is least, and its regret on the graph that was left out is printed. Relations of a graph count as one
graph, and so do all generated ones.
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
from core.methods._shared.flips.worth import WORTH, strength
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
EXAMPLES = Path(__file__).parents[1] / "examples"
GENERATED = {f"generated-{nodes}": nodes for nodes in (60, 120, 300)}
BETWEEN = {"generated-300-600": (300, 600), "generated-900-1600": (900, 1_600)}
OTHERS = ("otc", "polblogs", "collegemsg")
SETS = (
    *("ml-100k", "dblp", "acm", "imdb", "amazon", "bitcoin-alpha", "email-Eu"),
    *OTHERS,
    *("radoslaw", "routes", "states", "hospital"),
    *GENERATED,
    *BETWEEN,
)
SMALL = ("radoslaw", "routes", *GENERATED)
"""Directed graphs of a few hundred nodes: whose correlations are printed."""


def load(name: str, data: Path) -> Graph:
    """One of ``SETS``, untimed."""
    if name in OTHERS:
        return one_way(name, data)
    if name in GENERATED:
        return generated(GENERATED[name])
    if name in BETWEEN:
        return between(heavy(*BETWEEN[name]))
    if name == "radoslaw":
        return arcs(np.loadtxt(data / "radoslaw-email/email.tsv", comments="%", usecols=(0, 1)))
    if name in ("routes", "states"):
        kind = "flight" if name == "routes" else "located_in"
        listed = pl.read_csv(EXAMPLES / "us-flights/edges.csv").filter(pl.col("type") == kind)
        return (arcs if name == "routes" else between)(numbered(listed, name == "routes"))
    if name == "hospital":
        listed = pl.read_csv(EXAMPLES / "hospital/edges.csv", schema_overrides={"source": pl.String})
        return between(numbered(listed, inside=False))
    return typed_choice.load(name, data)


def arcs(rows: np.ndarray) -> Graph:
    """One directed relation of the nodes that are named; loops and repeats are dropped."""
    names, place = np.unique(rows.astype(np.int64), return_inverse=True)
    ends = np.random.default_rng(0).permutation(len(names))[place.reshape(-1, 2)]
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    schema = GraphSchema(node_types=(NodeType(count=len(names)),), edge_types=(EdgeType(directed=True),))
    nodes = {"node": NodeTable(len(names))}
    return Graph.build(schema, nodes, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def numbered(listed: pl.DataFrame, inside: bool) -> np.ndarray:
    """The ends of a list as numbers: of one universe, where both are ``inside`` one type."""
    columns = [listed["source"].to_numpy(), listed["target"].to_numpy()]
    if inside:
        return np.unique(np.stack(columns, axis=1), return_inverse=True)[1].reshape(-1, 2)
    return np.stack([np.unique(each, return_inverse=True)[1] for each in columns], axis=1)


def between(rows: np.ndarray) -> Graph:
    """One relation from the nodes named on the left to those on the right; repeats are dropped."""
    rng, ends = np.random.default_rng(0), np.unique(rows, axis=0)
    sizes = ends.max(axis=0) + 1
    source, target = (rng.permutation(size)[ends[:, side]] for side, size in enumerate(sizes))
    kinds = tuple(NodeType(name=n, count=int(c)) for n, c in zip(("left", "right"), sizes, strict=True))
    schema = GraphSchema(node_types=kinds, edge_types=(EdgeType(name="edge", source="left", target="right"),))
    nodes = {kind.name: NodeTable(kind.count or 0) for kind in kinds}
    return Graph.build(schema, nodes, {"edge": EdgeTable(source, target)})


def generated(nodes: int) -> Graph:
    """A directed graph of so many nodes, each with an arc; the same at every call."""
    ends = heavy(nodes, nodes)
    missing = np.setdiff1d(np.arange(nodes), ends)
    ends[: len(missing), 1] = missing  # so that every node has a name
    return arcs(ends)


def heavy(sources: int, targets: int) -> np.ndarray:
    """Ends that meet at random by weights of a power law, each side's its own; the same at every call."""
    rng = np.random.default_rng(sources)
    sides = []
    for nodes in (sources, targets):
        weight = (1 - rng.random(nodes)) ** (-1 / 1.5)
        sides.append(rng.choice(nodes, 4 * sources, p=weight / weight.sum()))
    return np.stack(sides, axis=1)


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


def rule(worth: float, few: int, inside: int, between: int, facts: Mapping[str, float]) -> str:
    """Choose by four numbers.

    From ``worth`` of strength on anchored, with bits of pairs; below it hetesdg. But where one of two types
    has at most ``few`` nodes anchored, and where a relation inside one type has at most ``inside`` nodes, or
    one between two at most ``between`` on either side, every node's own degrees.
    """
    if facts["strength"] >= worth or (not facts["inside"] and facts["least"] <= few):
        return "anchored"
    return "anchored, none" if facts["most"] <= (inside if facts["inside"] else between) else "hetesdg"


def rules() -> dict[str, Rule]:
    """List one candidate for all relations, and rules of four numbers."""
    found: dict[str, Rule] = {label: partial(_always, label) for label in CANDIDATES}
    found[AS_IT_WAS] = partial(rule, 0.6, 0, 1_000, 0)
    for numbers in product((0.45, 0.6, 0.8), (0, 100), (1_000, 2_000), (0, 1_000, 2_000)):
        worth, few, inside, between = numbers
        told = f"worth {worth:g}; few {few}; small inside {inside:,}, between {between:,}"
        found[told] = partial(rule, *numbers)
    return found


AS_IT_WAS = "as it was"
NAMED = {AS_IT_WAS, *CANDIDATES}
MOST_RULES = 12
"""So many of the best rules are printed, and those that are named."""


def regrets_of(cases: Mapping[Case, Measured], chosen: Rule) -> dict[str, list[float]]:
    """The rule's regret by graph, for each of its epsilons the mean over relations.

    Where hetesdg is chosen for some relations and not for others, all have the method that suits them
    together, by the mean of their strengths: it is no part of a composition.
    """
    graphs: dict[tuple[str, float], dict[str, Measured]] = defaultdict(dict)
    for (name, relation, epsilon), each in cases.items():
        graphs[name, epsilon][relation] = each
    by_set: dict[str, list[float]] = defaultdict(list)
    for (name, _), relations in graphs.items():
        picks = {relation: chosen(each.facts) for relation, each in relations.items()}
        if len({*picks.values()}) > 1 and "hetesdg" in picks.values():
            mean = np.mean([each.facts["strength"] for each in relations.values()])
            picks = dict.fromkeys(picks, "hetesdg" if mean < WORTH else "anchored")
        regret = float(np.mean([each.regret(picks[relation]) for relation, each in relations.items()]))
        by_set["generated" if name.startswith("generated") else name].append(regret)
    return by_set


def chosen(found: Mapping[str, Mapping[str, list[float]]], left_out: str) -> str:
    """The rule whose mean regret over the other sets is least; ``found``: by rule and set."""
    return min(
        found, key=lambda each: float(np.mean([np.mean(v) for k, v in found[each].items() if k != left_out]))
    )


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown: errors by relation, rules' regrets, what is chosen without each graph, small graphs."""
    cases = cases_of(lines)
    labels = list(CANDIDATES)
    yield f"| set | relation | epsilon | strength | {' | '.join(labels)} | as it was |"
    yield "|---" * (len(labels) + 5) + "|"
    now = rules()[AS_IT_WAS]
    for (name, relation, epsilon), each in sorted(
        cases.items(), key=lambda row: (SETS.index(row[0][0]), *row[0][1:])
    ):
        shown = " | ".join(f"{each.errors[label]:.3f}" for label in labels)
        taken = now(each.facts)
        yield (
            f"| {name} | {relation} | {epsilon:g} | {each.facts['strength']:.2f} | {shown} | "
            f"{taken}, {each.regret(taken):.3f} |"
        )
    found = {label: regrets_of(cases, rule) for label, rule in rules().items()}
    yield "\nRegret of rules, mean over sets and epsilons (worst):\n\n| rule | mean (worst) |\n|---|---|"
    ranked = sorted(found, key=lambda each: np.mean([np.mean(v) for v in found[each].values()]))
    for told in (*ranked[:MOST_RULES], *(each for each in ranked[MOST_RULES:] if each in NAMED)):
        values = [np.mean(v) for v in found[told].values()]
        worst = max(max(v) for v in found[told].values())
        yield f"| {told} | {np.mean(values):.4f} ({worst:.3f}) |"
    yield "\nChosen on the other graphs:\n"
    yield "| left out | chosen | its regret there | as it was |\n|---|---|---|---|"
    sets = list(found[AS_IT_WAS])
    totals = []
    for name in sets:
        told = chosen(found, name)
        pair = [float(np.mean(found[each][name])) for each in (told, AS_IT_WAS)]
        totals.append(pair)
        yield f"| {name} | {told} | {pair[0]:.3f} | {pair[1]:.3f} |"
    means = np.mean(totals, axis=0)
    yield f"| **mean** | | **{means[0]:.4f}** | **{means[1]:.4f}** |"
    yield from small_table(lines)


def small_table(lines: list[Line]) -> Iterator[str]:
    """Markdown: the correlations of degrees in small directed graphs."""
    found: dict[tuple[str, float], dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["set"] in SMALL:
            found[line["set"], line["epsilon"]][line["method"]].append(line)
    yield "\nSmall directed graphs: correlation of out- and in-degrees with the original's, node by node\n"
    yield f"| set | epsilon | {' | '.join(CANDIDATES)} | runs |"
    yield "|---" * (len(CANDIDATES) + 3) + "|"
    for (name, epsilon), methods in sorted(found.items(), key=lambda row: (SETS.index(row[0][0]), row[0][1])):
        shown = [
            ", ".join(
                f"{np.mean([line['errors'][side] for line in methods[label]]):.2f}" for side in ("out", "in")
            )
            for label in CANDIDATES
        ]
        yield f"| {name} | {epsilon:g} | {' | '.join(shown)} | {min(map(len, methods.values()))} |"


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

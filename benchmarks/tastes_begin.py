"""From how many persons on ``profiles`` tells tastes, beside what its plan says beforehand.

    python -m benchmarks.tastes_begin RESULTS.jsonl --data FOLDER --epsilons 1 4 --runs 2
    python -m benchmarks.tastes_begin RESULTS.jsonl --table

ML-100k, delta 1e-6, with so many of its persons, drawn anew each run. AUC-items is 1/2 where which things one
person takes together is chance. Printed are the number of persons from which the plan promises tastes, and
AUC-items of the release and of the original. RESULTS holds one line a run; a call makes those missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from benchmarks import person_graphs
from benchmarks.person_tables import DELTA_ATTO, THINGS_ROWS, released, with_public
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.evaluation.attacks.projection import static_view
from core.evaluation.tasks.item_preference import item_preference
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.methods.base import PublicFacts
from core.methods.profiles import GENERATOR
from core.methods.profiles.budget import without_tastes
from core.privacy.accounting.events import NANO
from core.privacy.units import Unit

GRAPH = "ml-100k"
PERSONS = (30, 60, 120, 240, 480, 943)
RUNS = 2


def of_persons(graph: Graph, kept: np.ndarray) -> Graph:
    """The same graph with these persons only."""
    person = graph.schema.protected_type
    assert person is not None
    place = np.full(person.count, -1)
    place[kept] = np.arange(len(kept))
    kinds = tuple(
        kind.model_copy(update={"count": len(kept)}) if kind.protected else kind
        for kind in graph.schema.node_types
    )
    schema = graph.schema.model_copy(update={"node_types": kinds})
    tables = {}
    for kind in schema.edge_types:
        own = graph.edges[kind.name]
        source = place[own.source] if kind.source == person.name else own.source
        target = place[own.target] if kind.target == person.name else own.target
        held = (source >= 0) & (target >= 0)
        step = None if own.step is None else own.step[held]
        tables[kind.name] = EdgeTable(source[held], target[held], step)
    nodes = {**graph.nodes, person.name: NodeTable(len(kept))}
    return Graph.build(schema, nodes, tables)


def said(graph: Graph, epsilon: float) -> list[str]:
    """What the plan says of tastes."""
    names = tuple(kind.name for kind in graph.schema.edge_types if not kind.public)
    facts = PublicFacts(graph.schema, Unit.NODE, None, round(epsilon * NANO), DELTA_ATTO, names)
    plan = GENERATOR.plan(GENERATOR.Params(), facts)
    nodes = {name: table.count for name, table in graph.nodes.items()}
    focus = person_graphs.THINGS[GRAPH][1].focus
    return [each for each in without_tastes(plan, graph.schema, nodes) if focus in each]


def made(asked: argparse.Namespace) -> None:
    """Every number of persons and epsilon has its runs."""
    whole = person_graphs.load(GRAPH, asked.data)
    kind = whole.schema.edge_type(person_graphs.THINGS[GRAPH][1].focus)
    first, rng = kind.source == person_graphs.THINGS[GRAPH][0], np.random.default_rng()
    for epsilon in asked.epsilons:
        for persons in asked.persons:
            key = {"persons": persons, "epsilon": epsilon}
            had = sum(key.items() <= line.items() for line in read(asked.results))
            for _ in range(asked.runs - had):
                graph = of_persons(whole, rng.permutation(PERSONS[-1])[:persons])
                synthetic, seconds = released(THINGS_ROWS[0], graph, epsilon, 0)
                views = [static_view(each, kind) for each in (graph, with_public(graph, synthetic))]
                own, kept = (item_preference(views[0], view, kind.name, first) for view in views)
                line: Line = {**key, "said": said(graph, epsilon), "cpu_seconds": seconds}
                line |= {"auc": kept["trained_on_synthetic"], "of_original": own["trained_on_synthetic"]}
                add(asked.results, line)


def printed(lines: list[Line]) -> Iterator[str]:
    """A row for each epsilon and number of persons."""
    yield "| epsilon | persons | the plan promises tastes | AUC-items | of the original | runs |"
    yield "|---" * 6 + "|"
    for epsilon in sorted({line["epsilon"] for line in lines}):
        for persons in sorted({line["persons"] for line in lines}):
            own = [line for line in lines if (line["epsilon"], line["persons"]) == (epsilon, persons)]
            if not own:
                continue
            begin = own[0]["said"][0].partition("begin at about ")[2].split() if own[0]["said"] else []
            told = f"no, from {begin[0]} on" if begin else "yes"
            figures = []
            for name in ("auc", "of_original"):
                values = [line[name] for line in own]
                figures.append(f"{np.mean(values):.3f} ± {np.std(values):.3f}")
            yield f"| {epsilon:g} | {persons} | {told} | {' | '.join(figures)} | {len(own)} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--persons", nargs="+", type=int, default=list(PERSONS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    parser.add_argument("--runs", type=int, default=RUNS)
    run_or_print(parser, parser.parse_args(), made, printed)


if __name__ == "__main__":
    main()

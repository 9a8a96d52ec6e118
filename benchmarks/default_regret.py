"""What `auto` took for a whole graph before it composed, beside what it takes now: errors, regret and CPU.

    python -m benchmarks.default_regret RESULTS.jsonl --data FOLDER                  what RESULTS lacks
    python -m benchmarks.default_regret RESULTS.jsonl --data FOLDER --set ml-100k --epsilon 1 --runs 5
    python -m benchmarks.default_regret RESULTS.jsonl --table

Nothing is declared beside edges. Before: one method for all relations, by the mean strength of a directed or
typed graph's, and by the same rules otherwise. Where both are one method with the same parameters and the
same plan, releases have one law: no run is made, and the table counts the case as the same. Else both are
run side by side, after a first release of each that is not counted (kernels are loaded). Cases of other units
than edge are not run: their choices are printed.

Sets: the static graphs of ``benchmarks.regret``, undirected; the directed and typed ones of
``benchmarks.relation_choice``, without time; "acm, co-authors", whose authors wrote together (undirected) and
wrote papers; graphs in time, under event, w-event and pair; persons under unit node.
Errors, from 0 to 1: of directed and typed relations as in ``benchmarks.typed_choice``; of undirected ones the
mean of ``benchmarks.regret``'s, each at most 1. Regret: a side's error less the smaller of both.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import person_graphs, relation_choice, static_graphs, typed_choice
from benchmarks.default_tables import acm
from benchmarks.regret_cells import errors_of
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.typed_graphs import load_dataset
from core.errors import NotAccepted
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.methods._shared.flips.worth import WORTH
from core.methods._shared.preferences import (
    FLIPS,
    SETTINGS,
    TYPED,
    TYPED_WEAK,
    flips_of,
    mean_strength,
    preferred,
    two_sided,
)
from core.methods.base import PublicFacts, no_progress
from core.methods.choice import choose
from core.methods.registry import get
from core.methods.room import require_room
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 5
WINDOW, DELTA_ATTO = 3, 10**12
BEFORE, NOW = "before", "now"
UNITS = {"event": Unit.EVENT, "w-event": Unit.W_EVENT, "pair": Unit.PAIR, "node": Unit.NODE}

Loader = Callable[[Path], Graph]


def together(data: Path) -> Graph:
    """Authors of ACM, whom they wrote with, and what; nothing else is declared."""
    graph = acm(data)
    schema = GraphSchema(
        node_types=tuple(each.model_copy(update={"attributes": ()}) for each in graph.schema.node_types),
        edge_types=tuple(each.without_attributes() for each in graph.schema.edge_types),
    )
    nodes = {name: NodeTable(each.count) for name, each in graph.nodes.items()}
    edges = {name: EdgeTable(each.source, each.target) for name, each in graph.edges.items()}
    return Graph.build(schema, nodes, edges)


def in_time(name: str, data: Path) -> Graph:
    """Messages in eight steps, with their directions or without, or one of the typed data sets."""
    if name in ("ml-100k", "dblp"):
        return load_dataset(name, data)
    graph = person_graphs.one_way("collegemsg-8-steps", data)
    if name == "messages":
        return graph
    relation = graph.schema.edge_types[0].model_copy(update={"directed": False})
    schema = graph.schema.model_copy(update={"edge_types": (relation,)})
    return Graph.build(schema, graph.nodes, graph.edges)


def sources() -> dict[str, tuple[Unit, Loader]]:
    """List every set with its unit."""
    found: dict[str, tuple[Unit, Loader]] = {
        f"static {name}": (Unit.EDGE, partial(static_graphs.load, name)) for name in static_graphs.SOURCES
    }
    found |= {name: (Unit.EDGE, partial(relation_choice.load, name)) for name in relation_choice.SETS}
    found["acm, co-authors"] = Unit.EDGE, together
    for name in ("messages", "messages, undirected", "ml-100k", "dblp"):
        for unit in (Unit.EVENT, Unit.W_EVENT, Unit.PAIR):
            found[f"{name}, {unit}"] = unit, partial(in_time, name)
    for name in ("cora", "facebook", "otc", "ml-100k", "bitcoin-otc"):
        found[f"{name}, node"] = Unit.NODE, partial(person_graphs.load, name)
    return found


def facts_of(graph: Graph, unit: Unit, epsilon: float) -> PublicFacts:
    """Return what both choices are made of; things have a delta, as a policy gives them by default."""
    kinds = [kind for kind in graph.schema.edge_types if not kind.public]
    delta = DELTA_ATTO if unit is Unit.NODE and not all(kind.homogeneous for kind in kinds) else 0
    window = WINDOW if unit is Unit.W_EVENT else None
    names = tuple(kind.name for kind in kinds)
    return PublicFacts(graph.schema, unit, window, round(epsilon * NANO), delta, names)


Choice = tuple[str, Mapping[str, Any], PrivacyPlan]


def before(public: PublicFacts, nodes: Mapping[str, int]) -> Choice:
    """Choose as `auto` did before it composed; NotAccepted where it took nothing."""
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    flips = flips_of(public, nodes) if public.unit is not Unit.NODE else None
    order, _ = preferred(public, nodes)
    if public.unit is not Unit.NODE and any(two_sided(each) for each in relations):
        weak = public.unit is Unit.EDGE and mean_strength(public, relations, nodes) < WORTH
        order = TYPED_WEAK if weak else TYPED
    settings = SETTINGS.get(order, {})
    tries = [] if flips is None else [(FLIPS, dict(flips[1]))]
    tries += [(name, dict(settings.get(name, {}))) for name in order]
    refusal: NotAccepted | None = None
    for name, params in tries:
        generator = get(name)
        try:
            plan = generator.plan(generator.Params.model_validate(params), public)
            require_room(generator, generator.Params.model_validate(params), plan, public.schema, nodes)
        except NotAccepted as error:
            refusal = refusal or error
        else:
            return name, params, plan
    assert refusal is not None
    raise refusal


def now(public: PublicFacts, nodes: Mapping[str, int]) -> Choice:
    """Choose as `auto` does."""
    found = choose(public, nodes)
    return found.method, found.params, found.plan


def both(graph: Graph, unit: Unit, epsilon: float) -> dict[str, Choice | None]:
    """Return both choices; None for one that takes nothing."""
    public, nodes = facts_of(graph, unit, epsilon), {name: each.count for name, each in graph.nodes.items()}
    found: dict[str, Choice | None] = {}
    for side, choice in ((BEFORE, before), (NOW, now)):
        try:
            found[side] = choice(public, nodes)
        except NotAccepted:
            found[side] = None
    return found


def alike(found: Mapping[str, Choice | None]) -> bool:
    """Tell whether both choices release the same law."""
    one, other = found[BEFORE], found[NOW]
    if one is None or other is None:
        return False
    params = [get(name).Params.model_validate(dict(params)) for name, params, _ in (one, other)]
    return one[0] == other[0] and params[0] == params[1] and one[2] == other[2]


def told(choice: Choice | None) -> str:
    """Name a choice: its method, or those of its structures."""
    if choice is None:
        return "refused"
    method, params, _ = choice
    if "structures" not in params:
        return ", ".join([method, *(f"{value}" for name, value in params.items() if name == "evidence")])
    named = {
        name: ", ".join([each["method"], *each["parameters"].get("evidence", "").split()])
        for name, each in params["structures"].items()
    }
    return "; ".join(f"{name} {each}" for name, each in named.items())


def released(graph: Graph, choice: Choice) -> tuple[Graph, float]:
    """Draw one synthetic graph, and tell the CPU seconds of it."""
    method, params, plan = choice
    generator, begun = get(method), time.process_time()
    asked = generator.Params.model_validate(dict(params))
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    synthetic = generator.fit(session, plan, asked, no_progress).sample(noise_generator(), no_progress)
    return synthetic, time.process_time() - begun


def error_of(original: typed_choice.Original, synthetic: Graph) -> float:
    """The mean over relations of their errors."""
    found = []
    for kind in original.graph.schema.edge_types:
        if two_sided(kind):
            errors = original.of_relation(synthetic, kind.name)
            found.append(np.mean([value for name, value in errors.items() if name != "true"]))
        else:
            views = [UndirectedView.of(each.cell(kind.name, None)) for each in (original.graph, synthetic)]
            found.append(np.mean([min(v, 1.0) for v in errors_of(*views).values() if v is not None]))
    return float(np.mean(found))


def made(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    keys = ("set", "epsilon", "side", "run")
    done = {tuple(line[key] for key in keys) for line in read(asked.results)}
    for name in asked.set:
        unit, load = SOURCES[name]
        graph = load(asked.data)
        original = typed_choice.Original(graph)
        for epsilon in asked.epsilon:
            found = both(graph, unit, epsilon)
            names = {side: told(choice) for side, choice in found.items()}
            line: Line = {"set": name, "epsilon": epsilon} | names
            if alike(found) or unit is not Unit.EDGE:
                if (name, epsilon, "same", 0) not in done:
                    add(asked.results, line | {"side": "same", "run": 0, "alike": alike(found)})
                continue
            warm: set[str] = set()
            for run in range(asked.runs):
                for side, choice in found.items():  # side by side: what the machine does strikes both
                    if (name, epsilon, side, run) in done or choice is None:
                        continue
                    if side not in warm:
                        released(graph, choice)
                        warm.add(side)
                    synthetic, seconds = released(graph, choice)
                    error = error_of(original, synthetic)
                    add(asked.results, line | {"side": side, "run": run, "error": error, "seconds": seconds})


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown: where both are the same; errors, regrets and CPU where they differ."""
    same: dict[str, list[Line]] = defaultdict(list)
    runs: dict[tuple[str, float], dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["side"] == "same":
            same[line["set"]].append(line)
        else:
            runs[line["set"], line["epsilon"]][line["side"]].append(line)
    count = sum(line["alike"] for own in same.values() for line in own)
    yield f"The same method, parameters and plan: {count} cases.\n"
    yield "| set | epsilon | method |\n|---|---|---|"
    for name, own in same.items():
        by_method: dict[str, list[float]] = defaultdict(list)
        for line in own:
            told_of = line[NOW] if line["alike"] else f"before {line[BEFORE]}, now {line[NOW]}"
            by_method[told_of].append(line["epsilon"])
        for method, epsilons in by_method.items():
            yield f"| {name} | {', '.join(f'{e:g}' for e in sorted(epsilons))} | {method} |"
    yield "\n| set | epsilon | before | now | error before | error now | CPU ratio | runs |"
    yield "|---" * 8 + "|"
    regrets: dict[str, list[float]] = defaultdict(list)
    ratios = []
    for (name, epsilon), sides in sorted(runs.items()):
        errors = {side: [line["error"] for line in own] for side, own in sides.items()}
        means = {side: float(np.mean(own)) for side, own in errors.items()}
        if set(means) != {BEFORE, NOW}:
            continue
        for side, mean in means.items():
            regrets[side].append(mean - min(means.values()))
        seconds = {side: np.mean([line["seconds"] for line in own]) for side, own in sides.items()}
        ratios.append(float(seconds[NOW] / seconds[BEFORE]))
        shown = [f"{means[side]:.3f} ± {np.std(errors[side]):.3f}" for side in (BEFORE, NOW)]
        first, count = sides[NOW][0], min(map(len, errors.values()))
        yield (
            f"| {name} | {epsilon:g} | {first[BEFORE]} | {first[NOW]} | {' | '.join(shown)} | "
            f"{ratios[-1]:.2f} | {count} |"
        )
    if ratios:
        average, worst = ({side: f(regrets[side]) for side in (BEFORE, NOW)} for f in (np.mean, np.max))
        cpu = float(np.exp(np.mean(np.log(ratios))))
        yield (
            f"\nRegret where they differ, mean (worst): before {average[BEFORE]:.3f} ({worst[BEFORE]:.3f}), "
            f"now {average[NOW]:.3f} ({worst[NOW]:.3f}). CPU now by before, geometric mean: {cpu:.2f}."
        )


SOURCES = sources()


def main() -> None:
    """Make runs, or print tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=list(SOURCES))
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    asked.set, asked.epsilon = asked.set or list(SOURCES), asked.epsilon or list(EPSILONS)
    run_or_print(parser, asked, made, tables)


if __name__ == "__main__":
    main()

"""The number of edges that ``projection`` publishes under unit node, on every static graph at hand.

    python -m benchmarks.person_totals RESULTS.jsonl --data FOLDER --graphs cora polblogs --runs 3
    python -m benchmarks.person_totals RESULTS.jsonl --table
    python -m benchmarks.person_totals RESULTS.jsonl --table --before EARLIER.jsonl

Every node is a person and no bound is declared. Printed are, for each graph and each division of epsilon, the
mean relative error of the number of edges, the total variation of the degree distribution, and how often the
interval that the release states holds the true number. RESULTS holds one line a run; a call makes those that
are missing. EARLIER: what the first call wrote in a checkout of another commit.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.person_graphs import person_graph
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_graphs import SOURCES, load
from core.graphs.graph import Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.projection import GENERATOR
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

DIVISIONS: Mapping[str, Mapping[str, float]] = {
    "default": {},
    "scale .1, edges .2": {"scale_share": 0.1, "edge_share": 0.2},
    "scale .12, edges .3": {"scale_share": 0.12, "edge_share": 0.3},
}
RUNS = 3


def released(graph: Graph, epsilon: float, shares: Mapping[str, float]) -> tuple[Graph, list[float], float]:
    """One release, the interval that it states, and CPU seconds."""
    params = GENERATOR.Params(**shares)
    facts = PublicFacts(graph.schema, Unit.NODE, None, round(epsilon * NANO), 0, ("edge",))
    started = time.process_time()
    plan = GENERATOR.plan(params, facts)
    model = GENERATOR.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    synthetic = model.sample(noise_generator(), no_progress)
    between = [float(end) for end in model.totals().get("edge", ())] if hasattr(model, "totals") else []
    return synthetic, between, time.process_time() - started


def degrees(graph: Graph) -> np.ndarray:
    """The nodes of each degree."""
    table, nodes = graph.edges["edge"], graph.nodes["node"].count
    ends = np.concatenate([table.source, table.target])
    return np.bincount(np.bincount(ends, minlength=nodes), minlength=nodes)


def made(asked: argparse.Namespace) -> None:
    """Every graph, epsilon and division has its runs."""
    had = Counter((line["graph"], line["epsilon"], line["division"]) for line in read(asked.results))
    for name in asked.graphs:
        graph = person_graph(load(name, asked.data), None)
        true, of = degrees(graph), graph.edges["edge"].count
        for epsilon in asked.epsilons:
            for division in asked.divisions:
                for _ in range(asked.runs - had[name, epsilon, division]):
                    synthetic, between, seconds = released(graph, epsilon, DIVISIONS[division])
                    found = degrees(synthetic)
                    line: Line = {"graph": name, "epsilon": epsilon, "division": division}
                    line["edges_relative"] = abs(synthetic.edges["edge"].count - of) / of
                    line["degree_tv"] = float(np.abs(found - true).sum() / 2 / true.sum())
                    line["held"] = between[0] <= of <= between[1] if between else None
                    add(asked.results, line | {"between": between, "true": of, "cpu_seconds": seconds})


def printed(lines: list[Line]) -> Iterator[str]:
    """A row for each graph and epsilon, and their means."""
    divisions = list(dict.fromkeys(line["division"] for line in lines))
    yield (
        "| graph, epsilon | "
        + " | ".join(f"edges RE, {name} | degree TV" for name in divisions)
        + " | held |"
    )
    yield "|---" * (2 * len(divisions) + 2) + "|"
    for epsilon in sorted({line["epsilon"] for line in lines}):
        here = [line for line in lines if line["epsilon"] == epsilon]
        rows = []
        for graph in dict.fromkeys(line["graph"] for line in here):
            rows.append([])
            own = [line for line in here if line["graph"] == graph]
            for name in divisions:
                runs = [line for line in own if line["division"] == name]
                rows[-1] += [np.mean([line[key] for line in runs]) for key in ("edges_relative", "degree_tv")]
            yield _row(f"{graph}, {epsilon:g}", rows[-1], own)
        yield _row(f"mean of {len(rows)}, {epsilon:g}", np.mean(rows, axis=0), here)


def _row(title: str, figures: Iterator[float], lines: list[Line]) -> str:
    held = [line["held"] for line in lines if line["held"] is not None]
    shown = " | ".join(f"{figure:.3f}" for figure in figures)
    return f"| {title} | {shown} | {f'{sum(held)} of {len(held)}' if held else 'not stated'} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--graphs", nargs="+", choices=list(SOURCES), default=list(SOURCES), metavar="GRAPH")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--divisions", nargs="+", choices=list(DIVISIONS), default=["default"])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--before", type=Path, help="results of another commit, shown beside")
    asked = parser.parse_args()
    earlier = [line | {"division": "before"} for line in read(asked.before)] if asked.before else []
    run_or_print(parser, asked, made, lambda lines: printed(earlier + lines))


if __name__ == "__main__":
    main()

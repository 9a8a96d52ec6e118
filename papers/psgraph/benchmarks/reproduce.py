"""PSGraph's first experiment on any stream: its five metrics, six systems and our readings.

    python -m papers.psgraph --quick --data edges.csv --schema schema.json --nodes nodes.csv
    python -m papers.psgraph --stream as-days=as-733 --out FOLDER
    python -m papers.psgraph --quick --stream as-days=as-733 --own-nodes --threshold .01 --threshold 100

Each release is a line of FOLDER/psgraph.jsonl: the same command again makes only the runs that are missing.
At its end FOLDER has psgraph.md, psgraph.csv and psgraph.svg (the five metrics at every step, as the
paper's Figure 12), and psgraph-sweeps.svg where there are several epsilons, windows or thresholds (Figures 2,
5, 6 and 11). ``--own-nodes`` adds the same tables with each snapshot on its own nodes, as in the paper; no
guarantee holds over a node set that was read from the graph. ``--data`` is a file that the service takes; a
relation of its schema has a grid of time.
Noise has no seed: spread is over runs, and node numbers are shuffled by seed 0. The paper prints pictures and
no numbers for these metrics, but for the claims that stand below each table.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.line_plots import panels
from benchmarks.results_file import Line, read
from benchmarks.stream_data import FIGURES, LOADERS, figures_by_step, release
from core.errors import GraphveilError
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from papers._shared.benchmarks.reproduce import keep, name_of, own_graph, own_schema, parser_of, write
from papers.psgraph.benchmarks import own_nodes
from papers.psgraph.benchmarks.sweeps import (
    METRICS,
    PAPER,
    PUBLISHED,
    THRESHOLDS,
    at_thresholds,
    means_of,
    sweep_picture,
    threshold_table,
)

ALONE = "as published, each step by itself"
SIX: dict[str, tuple[str, dict[str, Any]]] = {
    PUBLISHED: ("psgraph", PAPER),
    "TmF": ("tmf", {}),
    "DER": ("der", {}),
    "PrivHRG": ("privhrg", {}),
    "LDPGen": ("ldpgen", {}),
    "PrivGraph": ("privgraph", {}),
}
READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "as published, NormSub of the whole vector": ("psgraph", {**PAPER, "norm_sub": "vector"}),
    "as published, count met": ("psgraph", {**PAPER, "meet_count": True}),
    ALONE: ("psgraph", {**PAPER, "reuse_partition": False}),
}
SYSTEMS = {**SIX, **READINGS, "PSGraph, our default": ("psgraph", {})}
EPSILONS = tuple(half / 2 for half in range(1, 9))
CLAIMS = (
    ("density error is close to zero", "density_re"),
    ("top nodes overlap most of the six", "overlap"),
)


class Cell(NamedTuple):
    """What is run several times. ``data`` tells one graph from another."""

    data: str
    system: str
    window: int
    epsilon: float


def relation_of(graph: Graph, name: str | None) -> Graph:
    """Return one relation as a stream of simple graphs. ValueError where none has a grid of time."""
    fit = {
        each.name: each for each in graph.schema.edge_types if each.temporal and each.source == each.target
    }
    if name is None and len(fit) == 1:
        name = next(iter(fit))
    if name not in fit:
        found = ", ".join(fit) or "none of this schema"
        raise ValueError(f"--relation names a relation with time between nodes of one type: {found}")
    table, nodes, steps = graph.edges[name], graph.nodes[fit[name].source].count, graph.schema.steps
    place = np.random.default_rng(0).permutation(nodes).astype(np.int32)
    schema = GraphSchema(
        node_types=(NodeType(count=nodes),),
        edge_types=(EdgeType(temporal=True),),
        time=TimeGrid(count=steps),
    )
    edges = EdgeTable(place[table.source], place[table.target], table.step)
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": edges})


def loaded(asked: argparse.Namespace) -> tuple[str, Graph]:
    """Read the stream that was asked for, and a name that is its own. ValueError says what is to mend."""
    if asked.stream:
        name, _, path = asked.stream.partition("=")
        if name not in LOADERS or not Path(path).exists():
            raise ValueError(f"--stream is NAME=PATH, a path that exists and a name of {', '.join(LOADERS)}")
        return name, LOADERS[name](Path(path))
    schema = own_schema(asked, "--stream NAME=PATH")
    stream = relation_of(own_graph(asked, schema), asked.relation)
    return name_of(asked, stream), stream


def run_missing(asked: argparse.Namespace, data: str, stream: Graph, kept: Path) -> None:
    """Make the runs that the file lacks, a line each."""
    done = Counter(cell_of(line) for line in read(kept))
    systems = {name: SYSTEMS[name] for name in asked.only}
    rows = [(data, *each) for each in (systems | at_thresholds(asked.threshold)).items()]
    if asked.own_nodes:
        rows += [(on_own_nodes(data), *each) for each in systems.items() if each[0] in SIX | READINGS]
    for run in range(asked.runs):
        for window, epsilon, (name, system, (method, parameters)) in product(
            asked.window, asked.epsilon, rows
        ):
            cell = Cell(name, system, window, epsilon)
            if done[cell] > run:
                continue
            if name == data:
                synthetic, seconds = release(method, stream, window, epsilon, parameters)
                steps = list(figures_by_step(stream, synthetic))
            else:
                steps, seconds = own_nodes.figures(method, stream, window, epsilon, parameters)
            keep(kept, {**cell._asdict(), "run": run, "cpu_seconds": seconds, "steps": steps})
            told = "" if name == data else ", own nodes"
            print(
                f"run {run + 1} of {asked.runs}, w {window}, epsilon {epsilon:g}: {system}{told}", flush=True
            )


def on_own_nodes(data: str) -> str:
    """Name a stream whose snapshots have their own nodes: another experiment on the same data."""
    return f"{data}, own nodes"


def cell_of(line: Line) -> Cell:
    return Cell(*(line[name] for name in Cell._fields))


def place_among(own: float, others: Iterable[float], metric: str) -> int:
    """Tell the place of a mean, from 1, as the metric is better."""
    higher = FIGURES[metric][1] == "higher"
    return 1 + sum(other > own if higher else other < own for other in others)


def by_cell(lines: list[Line], data: str) -> dict[tuple[int, float], dict[str, list[Line]]]:
    found: dict[tuple[int, float], dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["data"] == data:
            found[line["window"], line["epsilon"]][line["system"]].append(line)
    return dict(sorted(found.items()))


def rows_of(systems: dict[str, list[Line]]) -> dict[str, dict[str, list[float]]]:
    """Collect every system's results by metric, a number a run."""
    return {system: means_of(systems[system]) for system in SYSTEMS if system in systems}


def markdown(lines: list[Line], data: str) -> Iterator[str]:
    """The tables of a stream, the sweep over thresholds, and the same on each snapshot's own nodes."""
    yield f"# PSGraph on {data}"
    cells = by_cell(lines, data)
    yield from tables(cells)
    yield from threshold_table(cells)
    if own := by_cell(lines, on_own_nodes(data)):
        yield f"\n# PSGraph on {on_own_nodes(data)}\n"
        yield own_nodes.NOTICE
        yield from tables(own)


def tables(cells: dict[tuple[int, float], dict[str, list[Line]]]) -> Iterator[str]:
    """A table for each window and epsilon: mean and spread over runs, the place among the paper's six."""
    for (window, epsilon), systems in cells.items():
        rows = rows_of(systems)
        yield f"\n## epsilon {epsilon:g} for any {window} steps\n"
        yield "| system | runs | " + " | ".join(FIGURES[each][0] for each in METRICS) + " | CPU s |"
        yield "|---" * (len(METRICS) + 3) + "|"
        for system in rows:
            texts = [text_of(rows, system, metric) for metric in METRICS]
            seconds = np.mean([line["cpu_seconds"] for line in systems[system]])
            yield f"| {system} | {len(systems[system])} | {' | '.join(texts)} | {seconds:.2f} |"
        yield "\nIn brackets: the place among the paper's six, the row's form in PSGraph's stead.\n"
        yield from claims(rows)


def claims(rows: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """What the paper says in words, and what was found of it, a line each."""
    named = [each for each in SYSTEMS if SYSTEMS[each][0] == "psgraph" and each in rows]
    for claim, metric in CLAIMS:
        found = "; ".join(f"{each}: {text_of(rows, each, metric)}" for each in named)
        yield f"- Printed: {claim}. Found: {found}."
    means = {each: {name: float(np.mean(of)) for name, of in rows[each].items() if of} for each in rows}
    rivals = [means[each]["degree_kl"] for each in SIX if each in means and each != PUBLISHED]
    if rivals:
        found = "; ".join(f"{each}: {apart(min(rivals), means[each]['degree_kl'])}" for each in named)
        yield (
            '- Printed: degree KL "143.5% lower" than the best rival\'s (Cit-HepPh, epsilon 1). '
            f"Found, the rival's above: {found}."
        )
    both = [means[each].get("overlap", 0.0) for each in (PUBLISHED, ALONE) if each in means]
    if len(both) == 2:
        yield (
            "- Printed: the overlap is 85.1 % above that of each step by itself (Reddit, epsilon 2). "
            f"Found: {apart(*both)}."
        )


def apart(one: float, other: float) -> str:
    """How far one is above the other, in percent of that."""
    return f"{100 * (one / other - 1):+.1f} %" if other else "undefined"


def text_of(rows: dict[str, dict[str, list[float]]], system: str, metric: str) -> str:
    """Mean, spread and place; "undefined" where no step has the metric, as overlap below 500 nodes."""
    values = rows[system][metric]
    if not values:
        return "undefined"
    mean = float(np.mean(values))
    stead = system if system in SIX else PUBLISHED
    rivals = [rows[each][metric] for each in SIX if each in rows and each != stead]
    others = [float(np.mean(each)) for each in rivals if each]
    return f"{mean:.3f} ±{np.std(values):.3f} ({place_among(mean, others, metric)})"


def write_csv(lines: list[Line], data: str, path: Path) -> None:
    """Write one row a run and step."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*Cell._fields, "run", "cpu_seconds", "step", *METRICS])
        for line in lines:
            if line["data"] in (data, on_own_nodes(data)):
                begun = [*cell_of(line), line["run"], line["cpu_seconds"]]
                for step, found in enumerate(line["steps"]):
                    writer.writerow([*begun, step, *(found.get(metric, "") for metric in METRICS)])


def picture(lines: list[Line], data: str) -> str:
    """Draw the metrics at every step, means over runs, at the first window and the last epsilon there are."""
    cells = by_cell(lines, data)
    window = min(window for window, _ in cells)
    epsilon = max(epsilon for each, epsilon in cells if each == window)
    charts = []
    for metric in METRICS:
        drawn: dict[str, list[tuple[float, float]]] = {}
        for system, runs in cells[window, epsilon].items():
            if system not in SYSTEMS:
                continue
            series: dict[int, list[float]] = defaultdict(list)
            for line in runs:
                for step, found in enumerate(line["steps"]):
                    if metric in found:
                        series[step].append(found[metric])
            if series:
                drawn[system] = [(float(step), float(np.mean(each))) for step, each in sorted(series.items())]
        if drawn:
            charts.append(
                (f"{FIGURES[metric][0]}, by step", "step", FIGURES[metric][1] + " is better", drawn)
            )
    title = f"PSGraph on {data}, epsilon {epsilon:g} for any {window} steps"
    return panels(title, title, charts, thick=(PUBLISHED,), order=tuple(SYSTEMS), columns=3)


def parser() -> argparse.ArgumentParser:
    made = parser_of(
        "psgraph",
        __doc__,
        runs="10 by default, as in the paper",
        quick="epsilon 1 and 2 runs, unless they are given",
    )
    made.add_argument("--relation", help="the relation of --data, where several have a grid of time")
    made.add_argument("--stream", metavar="NAME=PATH", help=f"a public stream: {', '.join(LOADERS)}")
    made.add_argument("--epsilon", type=float, action="append", help="repeat; .5 to 4 by default")
    made.add_argument("--window", type=int, action="append", help="repeat; 5 by default")
    made.add_argument(
        "--threshold",
        type=float,
        action="append",
        metavar="FACTOR",
        help="how many times the nodes the edges must change by for a new partition; repeat; .01 to 100 by "
        "default, as in the paper, and its 1 alone with --quick",
    )
    made.add_argument(
        "--own-nodes",
        action="store_true",
        help="also each snapshot on the nodes that it has: for comparison, without a guarantee over them",
    )
    made.add_argument("--only", action="append", choices=list(SYSTEMS), metavar="SYSTEM", help="repeat")
    return made


def main(given: list[str] | None = None) -> None:
    made = parser()
    asked = made.parse_args(given)
    asked.epsilon = asked.epsilon or ([1.0] if asked.quick else list(EPSILONS))
    asked.window, asked.only = asked.window or [5], asked.only or list(SYSTEMS)
    asked.threshold = asked.threshold or ([] if asked.quick else list(THRESHOLDS))
    asked.runs = asked.runs or (2 if asked.quick else 10)
    try:
        data, stream = loaded(asked)
    except (ValueError, GraphveilError) as error:
        made.error(str(error))
    asked.out.mkdir(parents=True, exist_ok=True)
    kept = asked.out / "psgraph.jsonl"
    run_missing(asked, data, stream, kept)
    lines = read(kept)
    write(asked.out, "psgraph", markdown(lines, data), picture(lines, data))
    write_csv(lines, data, asked.out / "psgraph.csv")
    drawn = sweep_picture(by_cell(lines, data), tuple(SYSTEMS), f"PSGraph on {data}")
    if drawn:
        (asked.out / "psgraph-sweeps.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()

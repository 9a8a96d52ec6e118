"""DPGGAN's experiment on any networks: its five statistics (Table 1), cosines (2), hidden links (Figure 3).

    python -m papers.dpggan --quick --data edges.csv --schema schema.json --nodes nodes.csv
    python -m papers.dpggan --networks dblp=relabeled_dblp2.jsonl.gz --out OUT

Each release is a line of OUT/dpggan.jsonl: the same command again makes only the runs that are missing. At
its end OUT has dpggan.md, dpggan.csv and dpggan.svg (statistics and hidden links by epsilon). ``--data`` is a
file that the service takes: every relation that is not directed is a network, and each graph of a collection
is one. With time each step is one, of epsilon over the number of steps: a pair may be in all of them. Between
two node types a network has the nodes of both and knows no types.
``--networks`` is a public set, dblp or imdb; the paper's numbers stand beside.

Figures are means over networks of absolute differences, of cosines, of the share of true edges among those
released, and of the AUC at which links that were hidden are told from pairs by someone who aligns nodes by
degree. Noise has no seed: the spread is over runs. GIN's accuracy: ``papers.dpggan.benchmarks.networks``.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.graphs import static_graph
from benchmarks.line_plots import panels
from benchmarks.results_file import Line, read
from benchmarks.small_graphs import load_labelled
from core.errors import GraphveilError
from core.graphs.graph import EdgeTable, Graph
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import noise_generator
from papers._shared.benchmarks.reproduce import (
    by_cell,
    keep,
    name_of,
    own_graph,
    own_schema,
    parser_of,
    write,
)
from papers.dpggan.benchmarks.attacks import hidden
from papers.dpggan.benchmarks.networks import COLUMNS, EPSILONS, FEWEST_NODES, REPORTED, figures
from papers.dpggan.benchmarks.rows import FREE, ROWS, Row, planned, release

METRICS = (*COLUMNS, "hidden links")
PUBLISHED = "DPGGAN, preset paper"
SYSTEMS: dict[str, Row] = {
    PUBLISHED: ROWS["dpggan, preset paper"],
    "DPGVAE, preset paper": ROWS["dpgvae, preset paper"],
    "DPGGAN, variant paper": ROWS["dpggan, variant paper"],
    "DPGGAN, ours": ROWS["dpggan"],
    "DPGVAE, ours": ROWS["dpgvae"],
}
OURS = ("DPGGAN, ours", "DPGVAE, ours")
UNPAID: dict[str, Row | None] = {
    "original": None,
    "as many edges at random": None,
    "GVAE": FREE["gvae"],
    "GGAN": FREE["ggan"],
    "GVAE, largest scores": FREE["gvae, largest"],
    "GGAN, largest scores": FREE["ggan, largest"],
    "NetGAN's family": FREE["heterogeneous_walks"],
    "GraphRNN": FREE["graphrnn"],
    "DPGGAN, noise on the decoder alone": FREE["dpggan, noise on the decoder alone"],
    "DPGVAE, noise on the decoder alone": FREE["dpgvae, noise on the decoder alone"],
}
"""Systems that know no epsilon and claim none: one row for all, printed at 0."""
ALL: dict[str, Row | None] = {**SYSTEMS, **UNPAID}
DRAWN = {"original": "original", "as many edges at random": "gnm"}
SETS = ("dblp", "imdb")
QUICK: dict[str, dict[str, Any]] = {
    "dpggan": {"most_steps": 100},
    "dpgvae": {"most_steps": 100},
    "heterogeneous_walks": {"most_batches": 100},
    "graphrnn": {"steps": 20},
}
FIRST = 4
FEWEST_LINKS = 10
"""Of a network whose links are hidden in part."""


class Cell(NamedTuple):
    """What is run several times. ``data`` tells one set of networks from another; epsilon is 0 for UNPAID."""

    data: str
    system: str
    epsilon: float
    quick: bool


class Network(NamedTuple):
    """One of the networks, and how many divide epsilon because one pair may be in all of them."""

    graph: Graph
    shares: int = 1


def networks_of(graph: Graph) -> list[Network]:
    """Every network of a graph by itself, node numbers shuffled. ValueError where there is none."""
    rng, found = np.random.default_rng(0), []
    for each in graph.schema.edge_types:
        first = 0 if each.homogeneous else graph.nodes[each.source].count
        nodes = first + graph.nodes[each.target].count
        if nodes < FEWEST_NODES or (each.homogeneous and each.directed):
            continue
        order, steps = rng.permutation(nodes), graph.schema.steps_of(each.name)
        for step in steps:
            cell = graph.cell(each.name, step)
            edges = EdgeTable(order[cell.source], order[first + cell.target])
            found.append(Network(static_graph(nodes, edges), len(steps)))
    kept = [each for each in found if each.graph.edges["edge"].count]
    if not kept:
        raise ValueError(
            "DPGGAN needs a relation between two node types, or an undirected one inside a type, with an "
            f"edge and {FEWEST_NODES} nodes; this graph has none"
        )
    return kept


def loaded(asked: argparse.Namespace) -> tuple[str, list[Network]]:
    """Read the networks that were asked for, and a name of their own. ValueError says what is to mend."""
    if asked.networks:
        name, _, path = asked.networks.partition("=")
        if name not in SETS or not Path(path).is_file():
            raise ValueError(f"--networks is NAME=FILE, a file that exists and a name of {', '.join(SETS)}")
        return name, [Network(graph) for graph, _ in load_labelled(Path(path), FEWEST_NODES)]
    schema = own_schema(asked, "--networks NAME=FILE")
    graph = own_graph(asked, schema)
    return name_of(asked, graph, "each step"), networks_of(graph)


def measured(one: Network, cell: Cell, links: bool) -> dict[str, Any]:
    """One release of one network, and with ``links`` one of four fifths of its links."""
    row, network, epsilon = ALL[cell.system], one.graph, cell.epsilon / one.shares
    if row is not None and cell.quick and cell.system not in OURS:
        row = replace(row, parameters=row.parameters | QUICK.get(row.method, {}))
    started = time.process_time()
    drawn = release(row or DRAWN[cell.system], network, epsilon)[0]
    spent = time.process_time() - started
    found: dict[str, float] = dict(zip(COLUMNS, figures(network, drawn), strict=True))
    links &= DRAWN.get(cell.system) != "gnm" and network.edges["edge"].count >= FEWEST_LINKS
    if links:
        found["hidden links"] = float(hidden(row, [network], epsilon, noise_generator())[1]["value"])
    kind = GuaranteeKind.NONE if row is None else planned(row, network, epsilon)[2].kind
    return {"figures": found, "guarantee": str(kind), "cpu_seconds": spent}


def run_missing(asked: argparse.Namespace, data: str, networks: list[Network], kept: Path) -> None:
    """Make the runs that the file lacks, a line each."""
    done = Counter((cell_of(line), line["run"], line["network"]) for line in read(kept))
    for run in range(asked.runs):
        cells = [Cell(data, s, e, asked.quick) for e, s in product(asked.epsilon, SYSTEMS) if s in asked.only]
        cells += [Cell(data, system, 0.0, asked.quick) for system in UNPAID if system in asked.only]
        for cell in cells:
            missing = [each for each in range(len(networks)) if not done[cell, run, each]]
            for number in missing:
                line = {**cell._asdict(), "run": run, "network": number}
                keep(kept, {**line, **measured(networks[number], cell, not asked.no_hidden)})
            if missing:
                told = f"run {run + 1} of {asked.runs}, epsilon {cell.epsilon:g}: {cell.system}"
                print(f"{told}, {len(missing)} networks", flush=True)


def cell_of(line: Line) -> Cell:
    return Cell(*(line[name] for name in Cell._fields))


def means_of(lines: list[Line], metric: str) -> list[float]:
    """Average over the networks, a number a run."""
    runs: dict[int, list[float]] = defaultdict(list)
    for line in lines:
        if metric in line["figures"]:
            runs[line["run"]].append(line["figures"][metric])
    return [float(np.mean(each)) for each in runs.values()]


def text_of(lines: list[Line], metric: str) -> str:
    """Mean, and its spread over several runs; nothing where there is no such figure."""
    values = means_of(lines, metric)
    spread = f" ±{np.std(values):.2g}" if len(values) > 1 else ""
    return f"{np.mean(values):.3g}{spread}" if values else ""


def markdown(lines: list[Line], data: str, quick: bool) -> Iterator[str]:
    """A table for each epsilon: means over networks, and what the paper prints."""
    yield f"# DPGGAN on {data}"
    if quick:
        yield "\nQuick: 100 steps at most; these are not the paper's trainings."
    for epsilon, systems in by_cell(lines, data, quick).items():
        yield f"\n## {f'epsilon {epsilon:g}' if epsilon else 'without an epsilon'}\n"
        yield f"| system | guarantee | runs | networks | {' | '.join(METRICS)} | CPU s |"
        yield "|---" * (len(METRICS) + 5) + "|"
        for system in [each for each in ALL if each in systems]:
            own = systems[system]
            texts = [text_of(own, metric) for metric in METRICS]
            counts = f"{len({line['run'] for line in own})} | {len({line['network'] for line in own})}"
            seconds = np.mean([line["cpu_seconds"] for line in own])
            yield f"| {system} | {own[0]['guarantee']} | {counts} | {' | '.join(texts)} | {seconds:.2f} |"
        for name, values in REPORTED.get((data, epsilon), {}).items():
            known = [*values, *[None] * len(METRICS)][: len(METRICS) - 1]
            told = " | ".join("" if value is None else f"{value:g}" for value in known)
            yield f"| *{name}* | | | | {told} | | |"
    yield "\n`true edges`: of those released, the share that is in the original; a copy has 1."


def write_csv(lines: list[Line], data: str, path: Path) -> None:
    """Write one row a release."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*Cell._fields, "run", "network", "guarantee", "cpu_seconds", *METRICS])
        for line in lines:
            if line["data"] == data:
                told = [line[name] for name in ("run", "network", "guarantee", "cpu_seconds")]
                writer.writerow([*cell_of(line), *told, *(line["figures"].get(each, "") for each in METRICS)])


def picture(lines: list[Line], data: str, quick: bool) -> str:
    """Draw the statistics, the true edges and the hidden links (Figure 3) by epsilon."""
    cells = by_cell(lines, data, quick)
    charts = []
    for metric in (*COLUMNS[:5], "true edges", "hidden links"):
        drawn: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for epsilon, systems in cells.items():
            for system, own in systems.items():
                values = means_of(own, metric)
                for at in [epsilon] if epsilon else [each for each in cells if each] or [0.0]:
                    if values:
                        drawn[system].append((at, float(np.mean(values))))
        if drawn:
            charts.append((metric, "epsilon", metric, {name: sorted(each) for name, each in drawn.items()}))
    title = f"DPGGAN on {data}"
    return panels(title, title, charts, thick=(PUBLISHED,), order=tuple(ALL), columns=3)


def parser() -> argparse.ArgumentParser:
    made = parser_of(
        "dpggan",
        __doc__,
        runs="3 by default",
        quick=f"epsilon 1, one run, {FIRST} networks, 100 steps",
    )
    made.add_argument("--networks", metavar="NAME=FILE", help=f"a public set: {', '.join(SETS)}")
    made.add_argument("--first", type=int, metavar="N", help="so many networks; all by default")
    made.add_argument("--no-hidden", action="store_true", help="no hidden links, in half the time")
    made.add_argument("--epsilon", type=float, action="append", help="repeat; .1, 1 and 10 by default")
    made.add_argument("--only", action="append", choices=list(ALL), metavar="SYSTEM", help="repeat")
    return made


def main(given: list[str] | None = None) -> None:
    made = parser()
    asked = made.parse_args(given)
    asked.epsilon = asked.epsilon or ([1.0] if asked.quick else list(EPSILONS))
    asked.only, asked.runs = asked.only or list(ALL), asked.runs or (1 if asked.quick else 3)
    asked.first = asked.first or (FIRST if asked.quick else None)
    try:
        data, networks = loaded(asked)
    except (ValueError, GraphveilError) as error:
        made.error(str(error))
    asked.out.mkdir(parents=True, exist_ok=True)
    kept = asked.out / "dpggan.jsonl"
    run_missing(asked, data, networks[: asked.first], kept)
    lines = read(kept)
    told, drawn = markdown(lines, data, asked.quick), picture(lines, data, asked.quick)
    write(asked.out, "dpggan", told, drawn)
    write_csv(lines, data, asked.out / "dpggan.csv")


if __name__ == "__main__":
    main()

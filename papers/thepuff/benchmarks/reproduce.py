"""THEPUFF's experiment on any typed graph with time: its seven measures, its attack, its ablations, and ours.

    python -m papers.thepuff --quick --data edges.csv --schema schema.json --nodes nodes.csv
    python -m papers.thepuff --graph ml-100k=FOLDER --out OUT

Each release is a line of OUT/thepuff.jsonl: the same command again makes only the runs that are missing. At
its end OUT has thepuff.md, thepuff.csv and thepuff.svg (losses by batch, as the paper's Figure 3).
``--data`` is a file that the service takes; a relation of its schema has a grid of time. ``--graph`` is a
public one, ml-100k or dblp, from the folder that holds the public data; its printed numbers stand beside
(Tables 2, 3, 4, 8, 9 and 10). Noise has no seed: the spread is over runs. Both attacks are in percent:
``attack`` on any node (Eq. 23), ``attack on sources`` on users, authors, or elsewhere the sources of the
largest relation with time (Eq. 28). DPGGAN and the diffusion run snapshot by snapshot without types, as the
paper runs such systems. Not run: ML-20M and Taobao, whose files are not ours to pass on, and Table 6, GPU
memory.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.line_plots import panels
from benchmarks.results_file import Line, read
from benchmarks.typed_graphs import DATASETS, load_dataset
from core.errors import GraphveilError
from core.evaluation.attacks.degree_signature import degree_signature
from core.graphs.graph import Graph
from papers._shared.benchmarks.reproduce import (
    by_cell,
    keep,
    name_of,
    own_graph,
    own_schema,
    parser_of,
    thinned,
    write,
)
from papers.thepuff.benchmarks.golden import scores
from papers.thepuff.benchmarks.report import PAPER, SEVEN
from papers.thepuff.benchmarks.snapshot_by_snapshot import Untyped, untyped
from papers.thepuff.benchmarks.tables import Release, Row, release

ATTACKS = ("attack", "attack on sources")
METRICS = (*SEVEN, *ATTACKS)
OF_EPSILON = "epsilon_minus"
PUBLISHED = "THEPUFF, preset paper"
SYSTEMS: dict[str, Row] = {
    PUBLISHED: Row("thepuff", {"preset": "paper"}, of_epsilon=OF_EPSILON),
    "preset paper, without D_util": Row(
        "thepuff", {"preset": "paper", "utility": False}, of_epsilon=OF_EPSILON
    ),
    "preset paper, without D_prv": Row(
        "thepuff", {"preset": "paper", "privacy": False}, of_epsilon=OF_EPSILON
    ),
    "preset paper, one step a walk": Row(
        "thepuff", {"preset": "paper", "across_steps": False}, of_epsilon=OF_EPSILON
    ),
    "THEPUFF, variant paper": Row("thepuff", {"variant": "paper"}, of_epsilon=OF_EPSILON),
    "its perturbation alone": Row("thepuff_perturb", {"variant": "paper"}, of_epsilon=OF_EPSILON),
    "HGEN's family": Row("heterogeneous_walks"),
    "TagGen's family": Row("temporal_walks"),
    "DPGGAN, variant paper": Row("dpggan", {"variant": "paper"}),
    "DPGGAN, ours": Row("dpggan"),
    "EDGE's family": Row("diffusion"),
    "THEPUFF, ours": Row("thepuff"),
}
WITHOUT_TYPES = ("DPGGAN, variant paper", "DPGGAN, ours", "EDGE's family")
"""Static systems that know no types: see :mod:`papers.thepuff.benchmarks.snapshot_by_snapshot`."""
PRINTED = {
    "THEPUFF": PUBLISHED,
    "HGEN": "HGEN's family",
    "TagGen": "TagGen's family",
    "EDGE": "EDGE's family",
    "DPGGAN": "DPGGAN, variant paper",
    "without D_util": "preset paper, without D_util",
    "without D_prv": "preset paper, without D_prv",
}
ABLATIONS = {
    "ml-100k": {
        "without D_util": (".468", "1.000", ".240", ".079", "1.660", "1.313", "2.319e-2", ""),
        "without D_prv": (".496", "1.050", ".216", ".073", "1.660", "1.313", "2.068e-2", ""),
    }
}
"""Table 8."""
ORIGINAL = {"ml-100k": ("4.192", "11.73"), "dblp": (".093", ".113")}
"""What the attacks reach on the original itself, Tables 3, 9 and 10."""
ATTACKED = {"ml-100k": "u", "dblp": "a"}
BY_EPSILON = {
    "ml-100k": {
        1.0: ("7.598e-5", "2.000", ".363", ".796", "1.689", "1.313", "2.285e-2"),
        2.0: ("1.343e-3", "1.532", ".240", ".413", "1.661", "1.313", "1.812e-2"),
        3.0: ("5.070e-5", "2.000", ".266", ".677", "1.676", "1.313", "1.500e-2"),
        4.0: ("2.540e-4", "2.000", ".266", ".644", "1.682", "1.313", "1.367e-2"),
        5.0: ("3.204e-4", "2.000", ".240", ".603", "1.668", "1.313", "1.665e-2"),
        6.0: ("3.104e-4", "2.000", ".289", ".557", "1.669", "1.313", "1.575e-2"),
        7.0: ("6.915e-5", "2.000", ".239", ".570", "1.664", "1.313", "1.872e-2"),
        8.0: ("3.546e-4", "1.766", ".265", ".489", "1.663", "1.313", "2.660e-2"),
    }
}
"""Table 4, which disagrees with Table 2 at 8."""
EPSILONS = (8.0,)
QUICK = {
    "thepuff": {"most_batches": 100},
    "dpggan": {"most_steps": 100},
    "diffusion": {"training_steps": 100, "steps": 16},
}


class Cell(NamedTuple):
    """What is run several times. ``data`` tells one graph from another."""

    data: str
    system: str
    epsilon: float
    quick: bool


def loaded(asked: argparse.Namespace) -> tuple[str, Graph]:
    """Read the graph that was asked for, and a name that is its own. ValueError says what is to mend."""
    if asked.graph:
        name, _, folder = asked.graph.partition("=")
        if name not in DATASETS or not (Path(folder) / DATASETS[name].path).exists():
            raise ValueError(f"--graph is NAME=FOLDER, which holds {'; '.join(_places())}")
        return name, load_dataset(name, Path(folder))
    schema = own_schema(asked, "--graph NAME=FOLDER")
    if not any(each.temporal for each in schema.edge_types):
        raise ValueError("THEPUFF's measures need a relation with a grid of time; this schema has none")
    graph = own_graph(asked, schema)
    return name_of(asked, graph), graph


def _places() -> Iterator[str]:
    return (f"{name}: {each.path}" for name, each in DATASETS.items())


def measured(graph: Graph, data: str, cell: Cell) -> dict[str, Any]:
    """One release: the measures, CPU seconds and the curves of its training."""
    row = SYSTEMS[cell.system]
    if cell.quick and (row.method != "dpggan" or "variant" in row.parameters):
        row = replace(row, parameters=row.parameters | QUICK.get(row.method, {}))
    told: dict[str, Any] = {"curves": {}, "collapsed": None}
    made: Untyped | Release
    if cell.system in WITHOUT_TYPES:
        made = untyped(row.method, row.parameters, graph, cell.epsilon)
        told["without_relation"] = [made.lost, made.pairs]
    else:
        made = release(row, graph, cell.epsilon)
        if row.method == "thepuff":
            told["curves"] = {name: thinned(curve) for name, curve in made.curves.items()}
        told["collapsed"] = made.collapsed
    found: dict[str, float | None] = dict(scores(graph, made.graph))
    attack = degree_signature(graph, made.graph, range(graph.schema.steps), "out")
    of = sources(graph, data)
    given, reference = (
        [attack[f"{begun}per_step"], attack[f"{begun}per_type"].get(of)] for begun in ("", "reference_")
    )
    total = max(sum(table.count for table in graph.nodes.values()), 1)
    found |= zip(ATTACKS, map(_percent, given), strict=True)
    return told | {
        "figures": found,
        "original": dict(zip(ATTACKS, map(_percent, reference), strict=True)),
        "unrelated": dict(zip(ATTACKS, (100 / total, 100 / max(graph.nodes[of].count, 1)), strict=True)),
        "guarantee": made.kind,
        "cpu_seconds": made.fit_seconds + made.sample_seconds,
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def sources(graph: Graph, data: str) -> str:
    """Who is attacked in Table 10: users, authors; elsewhere sources of the largest relation with time."""
    if data in ATTACKED:
        return ATTACKED[data]
    timed = [each for each in graph.schema.edge_types if each.temporal]
    return max(timed, key=lambda each: graph.edges[each.name].count).source


def run_missing(asked: argparse.Namespace, data: str, graph: Graph, kept: Path) -> None:
    """Make the runs that the file lacks, a line each."""
    done = Counter(cell_of(line) for line in read(kept))
    for run in range(asked.runs):
        for epsilon, system in product(asked.epsilon, asked.only):
            cell = Cell(data, system, epsilon, asked.quick)
            if done[cell] > run:
                continue
            line = {**cell._asdict(), "run": run, **measured(graph, data, cell)}
            keep(kept, line)
            print(f"run {run + 1} of {asked.runs}, epsilon {epsilon:g}: {system}", flush=True)


def cell_of(line: Line) -> Cell:
    return Cell(*(line[name] for name in Cell._fields))


def markdown(lines: list[Line], data: str, quick: bool) -> Iterator[str]:
    """A table for each eps_minus: mean and spread over runs, and what the paper prints."""
    yield f"# THEPUFF on {data}"
    if quick:
        batches, steps = QUICK["thepuff"]["most_batches"], QUICK["dpggan"]["most_steps"]
        yield f"\nQuick: {batches} batches and {steps} steps at most; these are not the papers' trainings."
    for epsilon, systems in by_cell(lines, data, quick).items():
        yield f"\n## eps_minus {epsilon:g}\n"
        yield f"| system | guarantee | runs | {' | '.join(METRICS)} | CPU s |"
        yield "|---" * (len(METRICS) + 4) + "|"
        for name, values in printed_at(data, epsilon).items():
            yield f"| {name}, as printed | | | {' | '.join(padded(values))} | |"
        for system in [each for each in SYSTEMS if each in systems]:
            runs = systems[system]
            texts = [text_of([run["figures"].get(metric) for run in runs]) for metric in METRICS]
            seconds = np.mean([run["cpu_seconds"] for run in runs])
            yield f"| {system} | {runs[0]['guarantee']} | {len(runs)} | {' | '.join(texts)} | {seconds:.1f} |"
        collapsed = [system for system, runs in systems.items() if any(run["collapsed"] for run in runs)]
        if collapsed:
            yield f"\nGenerators that collapsed in a run or more: {', '.join(collapsed)}."
        yield from attacks(systems, data, epsilon)


def printed_at(data: str, epsilon: float) -> dict[str, tuple[str, ...]]:
    """What the paper prints for a graph: at 8 all, else what Table 4 has."""
    found: dict[str, tuple[str, ...]] = {}
    if epsilon == EPSILONS[0]:
        found = {**PAPER.get(data, {}), **ABLATIONS.get(data, {})}
    by_epsilon = BY_EPSILON.get(data, {})
    return found | ({"THEPUFF, Table 4": by_epsilon[epsilon]} if epsilon in by_epsilon else {})


def padded(values: tuple[str, ...]) -> list[str]:
    """One text a metric."""
    return [*values, *[""] * len(METRICS)][: len(METRICS)]


def attacks(systems: dict[str, list[Line]], data: str, epsilon: float) -> Iterator[str]:
    """Both attacks, printed and found (Tables 3, 9 and 10).

    Beside them what they reach on the original, and on a graph whose degrees say nothing of a node's: who
    shares one with his victim is as many as those who could, so that 1 / nodes is left, at most.
    """
    printed, place = printed_at(data, epsilon), {system: name for name, system in PRINTED.items()}
    yield "\n### Attacks, % (Tables 3, 9 and 10)\n"
    yield "| system | any node, printed | found | sources, printed | found |"
    yield "|---|---|---|---|---|"
    every = [run for runs in systems.values() for run in runs]
    rows = [
        (name, given, [run[kept] for run in every if kept in run][:1])
        for name, given, kept in (
            ("the original", ORIGINAL.get(data, ("", "")), "original"),
            ("an unrelated graph", ("", ""), "unrelated"),
        )
    ]
    for system in [each for each in SYSTEMS if each in systems]:
        told = padded(printed.get(place.get(system, ""), ()))[-2:]
        rows.append((system, (told[0], told[1]), [run["figures"] for run in systems[system]]))
    for name, told, figures in rows:
        found = [text_of([each.get(metric) for each in figures]) for metric in ATTACKS]
        yield f"| {name} | {told[0]} | {found[0]} | {told[1]} | {found[1]} |"
    for system in [each for each in WITHOUT_TYPES if each in systems]:
        shares = [
            lost / pairs for lost, pairs in (run["without_relation"] for run in systems[system]) if pairs
        ]
        if shares:
            yield (
                f"\n{system}: {100 * np.mean(shares):.0f} % of its pairs join types that no relation joins, "
                "and are left out."
            )


def text_of(values: list[float | None]) -> str:
    """Mean of what is defined, and its spread over several runs."""
    defined = [value for value in values if value is not None]
    spread = f" ±{np.std(defined):.4f}" if len(defined) > 1 else ""
    return f"{np.mean(defined):.4f}{spread}" if defined else "undefined"


def write_csv(lines: list[Line], data: str, path: Path) -> None:
    """Write one row a run."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*Cell._fields, "run", "guarantee", "collapsed", "cpu_seconds", *METRICS])
        for line in lines:
            if line["data"] == data:
                told = [line[name] for name in ("run", "guarantee", "collapsed", "cpu_seconds")]
                writer.writerow([*cell_of(line), *told, *(line["figures"].get(metric) for metric in METRICS)])


def picture(lines: list[Line], data: str, quick: bool) -> str | None:
    """Draw the losses by batch at the largest eps_minus, of each first run; Figure 3 shows Taobao's.

    None where nothing was trained by batches.
    """
    systems = list(by_cell(lines, data, quick).items())[-1][1]
    drawn: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(dict)
    for system, runs in systems.items():
        for name, curve in runs[0]["curves"].items():
            if curve:
                drawn[name][system] = [(float(at), value) for at, value in curve]
    charts = [(f"loss: {name}", "batch", "loss", each) for name, each in drawn.items()]
    title = f"THEPUFF on {data}, losses by batch"
    return panels(title, title, charts, thick=(PUBLISHED,), order=tuple(SYSTEMS)) if charts else None


def parser() -> argparse.ArgumentParser:
    made = parser_of(
        "thepuff", __doc__, runs="3 by default", quick="one run, and trainings of 100 batches or steps"
    )
    made.add_argument("--graph", metavar="NAME=FOLDER", help=f"a public graph: {', '.join(DATASETS)}")
    made.add_argument("--epsilon", type=float, action="append", help="eps_minus; repeat; 8 by default")
    made.add_argument("--only", action="append", choices=list(SYSTEMS), metavar="SYSTEM", help="repeat")
    return made


def main(given: list[str] | None = None) -> None:
    made = parser()
    asked = made.parse_args(given)
    asked.epsilon, asked.only = asked.epsilon or list(EPSILONS), asked.only or list(SYSTEMS)
    asked.runs = asked.runs or (1 if asked.quick else 3)
    try:
        data, graph = loaded(asked)
    except (ValueError, GraphveilError) as error:
        made.error(str(error))
    asked.out.mkdir(parents=True, exist_ok=True)
    kept = asked.out / "thepuff.jsonl"
    run_missing(asked, data, graph, kept)
    lines = read(kept)
    told, drawn = markdown(lines, data, asked.quick), picture(lines, data, asked.quick)
    write(asked.out, "thepuff", told, drawn)
    write_csv(lines, data, asked.out / "thepuff.csv")


if __name__ == "__main__":
    main()

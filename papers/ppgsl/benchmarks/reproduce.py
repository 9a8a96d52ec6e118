"""PPGSL's experiment on any graph: what attackers find of sensitive links, and what is left to learn.

    python -m papers.ppgsl --quick --data edges.csv --schema schema.json --nodes nodes.csv
    python -m papers.ppgsl --set cora=FOLDER --out OUT

Each release is a line of OUT/ppgsl.jsonl: the same command again makes only the runs that are missing. At
its end OUT has ppgsl.md, ppgsl.csv and ppgsl.svg (attack against links and nodes, as the paper's Figures 2
and 3). ``--data`` is a file that the service takes; ``--relation`` of its schema is undirected, without time
and inside a node type, whose public columns are features, and one of them may be its label. ``--set`` is a
public set, from the folder that holds the public data.

Percent; the protocol is of ``papers.ppgsl.benchmarks.tables``: a tenth of the links is sensitive, another is
to be predicted and taken out before. A seed chooses both. ``--attacks`` adds the eight attackers of Figures 4
and 5 and one who knows the defence, at some ten times the cost. Before any release: how like one another two
nodes are (Table I), and Theorem 3's bound as a number.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from benchmarks.line_plots import panels
from benchmarks.results_file import Line, read
from core.errors import GraphveilError
from core.evaluation.learning.gcn import Autoencoder
from core.evaluation.learning.pairs import cosine
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, Protection
from papers._shared.benchmarks.reproduce import keep, name_of, own_graph, own_schema, parser_of, write
from papers.ppgsl.benchmarks.data import FOLDERS, Case, case, load
from papers.ppgsl.benchmarks.frontier import ROWS as FRONTIER
from papers.ppgsl.benchmarks.tables import ATTACKERS, ORIGINAL, ROWS, Row, figures
from papers.ppgsl.params import FULL_NODES

PAPER: dict[str, Any] = {"preset": "paper"}
RANGE = (0.001, 0.003, 0.01)
PUBLISHED, EVERY = "PPGSL, preset paper", "PPGSL, preset paper, every pair (FGP)"
SYSTEMS: dict[str, Row] = {
    "undefended": ROWS[ORIGINAL],
    PUBLISHED: Row("ppgsl", "alpha", RANGE, PAPER),
    "PPGSL, preset paper, k = 0": Row("ppgsl", "alpha", RANGE, PAPER | {"additions": 0.0}),
    EVERY: Row("ppgsl", "alpha", RANGE, PAPER | {"full": True}),
    "PPGSL, relative change": ROWS["ppgsl"],
    "PPGSL, ours": FRONTIER["ppgsl, informed"],
    **{name: ROWS[name] for name in ("random_rewire", "dice", "rwlp", "ppne")},
    **{name: ROWS[name] for name in ("privgraph", "edgerand", "lapgraph")},
}
METRICS = {
    "attack": "attack AUC",
    "common_neighbours": "common neighbours",
    "links": "links AUC",
    "nodes": "nodes F1",
}
CLAIMS = {"cora": "an attack AUC of about 50 with links at 81 and nodes at 73"}
LIKENESS = ("shortest path", "no path", "features alike", "embedding alike")
PRINTED: dict[tuple[str, str], tuple[float, ...]] = {
    ("cora", "visible links"): (1.0, 0.0, 0.011, 0.900),
    ("cora", "sensitive links"): (3.206, 0.164, 0.011, 0.702),
    ("cora", "no link"): (7.007, 0.254, 0.003, 0.499),
    ("lastfm", "visible links"): (1.0, 0.0, 0.010, 0.978),
    ("lastfm", "sensitive links"): (2.480, 0.089, 0.010, 0.947),
    ("lastfm", "no link"): (5.560, 0.124, 0.008, 0.820),
}
"""Table I."""
QUICK = {"steps": 60, "surrogate_steps": 30, "interval": 20}
PAIRS = 500
"""Of each sort that Table I's figures are of."""


class Cell(NamedTuple):
    """What is run several times. ``data`` tells one graph from another; a run's number is its seed."""

    data: str
    system: str
    value: float
    quick: bool


def subject_of(graph: Graph, relation: str | None) -> Graph:
    """Make one undirected relation a graph of nodes with public columns. ValueError says what is to mend."""
    fit = {
        each.name: each
        for each in graph.schema.edge_types
        if each.homogeneous and not each.directed and not each.temporal
    }
    name = relation or max(fit, key=lambda each: graph.edges[each].count, default=None)
    if name is None or name not in fit:
        found = ", ".join(fit) or "none of this schema"
        raise ValueError(f"--relation names an undirected relation without time inside a type: {found}")
    declared = next(each for each in graph.schema.node_types if each.name == fit[name].source)
    table = graph.nodes[declared.name]
    public = tuple(
        each
        for each in declared.attributes
        if each.protection is Protection.PUBLIC and each.name in table.attributes
    )
    columns = {each.name: table.attributes[each.name] for each in public}
    kind = NodeType(count=table.count, attributes=public)
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(),))
    return Graph.build(
        schema, {"node": NodeTable(table.count, None, columns)}, {"edge": graph.edges[name].bare()}
    )


def loaded(asked: argparse.Namespace) -> tuple[str, Graph]:
    """Read the graph that was asked for, and a name that is its own. ValueError says what is to mend."""
    if asked.set:
        name, _, folder = asked.set.partition("=")
        if name not in FOLDERS or not (Path(folder) / FOLDERS[name]).is_dir():
            places = "; ".join(f"{name}: {each}" for name, each in FOLDERS.items())
            raise ValueError(f"--set is NAME=FOLDER, which holds {places}")
        return name, load(name, Path(folder))
    schema = own_schema(asked, "--set NAME=FOLDER")
    subject = subject_of(own_graph(asked, schema), asked.relation)
    return name_of(asked, subject), subject


def cells(asked: argparse.Namespace, data: str, nodes: int) -> Iterator[Cell]:
    """Every cell that was asked for; ``--quick`` has the middle of a row's settings, and not every pair."""
    for system in asked.only:
        if system == EVERY and (asked.quick or nodes > FULL_NODES):
            continue
        values = SYSTEMS[system].values
        for value in [values[len(values) // 2]] if asked.quick else values:
            yield Cell(data, system, value, asked.quick)


def measured(given: Case, cell: Cell, thorough: bool) -> dict[str, Any]:
    """One release: attacks, what is left to learn, and CPU seconds."""
    row = SYSTEMS[cell.system]
    if cell.quick and row.method == "ppgsl":
        row = row._replace(params=row.params | QUICK)
    return figures(given, row, cell.value, thorough)


def run_missing(asked: argparse.Namespace, data: str, graph: Graph, kept: Path) -> None:
    """Make the runs that the file lacks, a line each."""
    there = [line for line in read(kept) if "system" in line]
    done = Counter((cell_of(line), line["seed"]) for line in there if "attacks" in line or not asked.attacks)
    seen = {line["data"] for line in read(kept) if "likeness" in line}
    if data not in seen:
        keep(kept, {"data": data, "likeness": likeness(case(graph, 0, left=False))})
    for seed in range(asked.runs):
        given = None
        for cell in cells(asked, data, graph.nodes["node"].count):
            if done[cell, seed]:
                continue
            given = given or case(graph, seed, left=False)
            line = {**cell._asdict(), "seed": seed, "figures": measured(given, cell, asked.attacks)}
            keep(kept, line if not asked.attacks else {**line, "attacks": True})
            print(f"seed {seed} of {asked.runs}: {cell.system}, {cell.value:g}", flush=True)


def cell_of(line: Line) -> Cell:
    return Cell(*(line[name] for name in Cell._fields))


def likeness(given: Case) -> dict[str, Any]:
    """Table I of up to PAIRS pairs of each sort, and what Theorem 3 says of this draw."""
    view, whole, rng = given.visible, given.whole, np.random.default_rng(given.seed)
    n = view.node_count
    joined = sp.coo_matrix((np.ones(view.edge_count), (view.u, view.v)), shape=(n, n)).tocsr()
    rows, features = Autoencoder(given.seed, given.features)(view), given.features
    secret = given.targets(given.sensitive)
    apart = secret.label == 0
    sorts = {
        "visible links": (view.u, view.v),
        "sensitive links": (whole.u[given.sensitive], whole.v[given.sensitive]),
        "no link": (secret.source[apart], secret.target[apart]),
    }
    found: dict[str, list[float | None]] = {}
    for name, (source, target) in sorts.items():
        at = rng.permutation(len(source))[:PAIRS]
        one, other = source[at], target[at]
        starts, place = np.unique(one, return_inverse=True)
        far = dijkstra(joined, directed=False, unweighted=True, indices=starts)[place, other]
        near = np.isfinite(far)
        alike = None
        if features is not None:
            values = np.asarray(features.values, dtype=np.float64)
            shares = values / np.maximum(np.abs(values).sum(1, keepdims=True), 1e-12)
            alike = float((shares[one] * shares[other]).sum(1).mean())
        path = float(far[near].mean()) if near.any() else None
        found[name] = [path, float(1 - near.mean()), alike, float(cosine(rows, one, other).mean())]
    hidden = len(given.sensitive)
    slots = n * (n - 1) // 2 - view.edge_count
    bits = (math.lgamma(slots + 1) - math.lgamma(hidden + 1) - math.lgamma(slots - hidden + 1)) / math.log(2)
    return {"pairs": found, "bits": bits, "hidden": hidden}


def by_row(lines: list[Line], data: str, quick: bool) -> dict[tuple[str, float], list[Line]]:
    """Group the runs of a graph by system and setting, in their order; of a cell and seed the last counts."""
    found: dict[tuple[str, float], dict[int, Line]] = defaultdict(dict)
    for line in lines:
        if "system" in line and (line["data"], line["quick"]) == (data, quick):
            found[line["system"], line["value"]][line["seed"]] = line
    order = list(SYSTEMS)
    ranked = sorted(found.items(), key=lambda each: (order.index(each[0][0]), each[0][1]))
    return {row: list(own.values()) for row, own in ranked}


def text_of(runs: list[dict[str, Any]], metric: str, digits: int = 1) -> str:
    """Mean, and its spread over several seeds; nothing where there is no such figure."""
    values = [run[metric] for run in runs if metric in run]
    spread = f" ±{np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}" if values else ""


def markdown(lines: list[Line], data: str, quick: bool) -> Iterator[str]:
    """What was like before, the trade-off, and every attacker where they were asked for."""
    yield f"# PPGSL on {data}"
    if quick:
        yield f"\nQuick: {QUICK['steps']} steps of one setting; these are not the paper's trainings."
    for line in lines:
        if "likeness" in line and line["data"] == data:
            yield from _likeness(line["likeness"], data)
    rows = by_row(lines, data, quick)
    yield "\n## Attack and utility\n"
    yield f"| system | setting | seeds | {' | '.join(METRICS.values())} | deleted | added | CPU s |"
    yield "|---" * (len(METRICS) + 6) + "|"
    for (system, value), own in rows.items():
        runs = [line["figures"] for line in own]
        texts = [text_of(runs, metric) for metric in METRICS]
        texts += [text_of(runs, metric, 0) for metric in ("deleted", "added")]
        knob = f"{SYSTEMS[system].knob} {value:g}" if SYSTEMS[system].knob else ""
        yield f"| {system} | {knob} | {len(own)} | {' | '.join(texts)} | {text_of(runs, 'cpu_s')} |"
    if data in CLAIMS:
        yield f"\nPrinted, beside pictures without numbers: {CLAIMS[data]}."
    attacked = {key: own for key, own in rows.items() if any("attacks" in each["figures"] for each in own)}
    if attacked:
        yield "\n## Every attacker\n"
        yield f"| system | setting | {' | '.join(ATTACKERS.values())} | the best |"
        yield "|---" * (len(ATTACKERS) + 3) + "|"
        for (system, value), own in attacked.items():
            found = [line["figures"]["attacks"] for line in own if "attacks" in line["figures"]]
            best = text_of([line["figures"] for line in own], "figure")
            texts = [text_of(found, each) for each in ATTACKERS]
            yield f"| {system} | {value:g} | {' | '.join(texts)} | {best} |"


def _likeness(found: dict[str, Any], data: str) -> Iterator[str]:
    yield "\n## Pairs before any release (Table I)\n"
    yield "| pairs | " + " | ".join(LIKENESS) + " |"
    yield "|---" * (len(LIKENESS) + 1) + "|"
    for name, values in found["pairs"].items():
        yield f"| {name} | " + " | ".join("" if each is None else f"{each:.3f}" for each in values) + " |"
        if (data, name) in PRINTED:
            yield f"| {name}, as printed | " + " | ".join(f"{each:g}" for each in PRINTED[data, name]) + " |"
    bits, hidden = found["bits"], found["hidden"]
    yield (
        f"\nTheorem 3: the {hidden} sensitive links are one of 2^{bits:.0f} sets: whoever learns nothing "
        f"misses the set with probability {1 - 1 / bits:.4f} at least, and whoever learns half of the bits "
        f"with {0.5 - 1 / bits:.4f}. Missing the set is to err about one link in all: the bound says "
        "nothing of an AUC."
    )


def write_csv(lines: list[Line], data: str, path: Path) -> None:
    """Write one row a release."""
    columns = (*METRICS, "deleted", "added", "cpu_s")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*Cell._fields, "seed", *columns])
        for line in lines:
            if "system" in line and line["data"] == data:
                told = [line["figures"].get(each, "") for each in columns]
                writer.writerow([*cell_of(line), line["seed"], *told])


def picture(lines: list[Line], data: str, quick: bool) -> str:
    """Draw the attack against links and against nodes, as Figures 2 and 3."""
    charts = []
    for metric in ("links", "nodes"):
        drawn: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for (system, _), own in by_row(lines, data, quick).items():
            kept = [line["figures"] for line in own if metric in line["figures"]]
            if kept:
                means = [float(np.mean([each[name] for each in kept])) for name in (metric, "attack")]
                drawn[system].append((means[0], means[1]))
        if drawn:
            charts.append((METRICS[metric], METRICS[metric], METRICS["attack"], dict(drawn)))
    title = f"PPGSL on {data}"
    return panels(title, title, charts, 50.0, (PUBLISHED,), tuple(SYSTEMS))


def parser() -> argparse.ArgumentParser:
    made = parser_of(
        "ppgsl", __doc__, runs="5 by default, as the seeds of the project's tables", quick="one seed, short"
    )
    made.add_argument("--relation", help="the relation whose links are hidden; the largest by default")
    made.add_argument("--set", metavar="NAME=FOLDER", help=f"a public set: {', '.join(FOLDERS)}")
    made.add_argument("--attacks", action="store_true", help="every attacker, the informed one too")
    made.add_argument("--only", action="append", choices=list(SYSTEMS), metavar="SYSTEM", help="repeat")
    return made


def main(given: list[str] | None = None) -> None:
    made = parser()
    asked = made.parse_args(given)
    asked.only, asked.runs = asked.only or list(SYSTEMS), asked.runs or (1 if asked.quick else 5)
    try:
        data, graph = loaded(asked)
    except (ValueError, GraphveilError) as error:
        made.error(str(error))
    asked.out.mkdir(parents=True, exist_ok=True)
    kept = asked.out / "ppgsl.jsonl"
    run_missing(asked, data, graph, kept)
    lines = read(kept)
    told, drawn = markdown(lines, data, asked.quick), picture(lines, data, asked.quick)
    write(asked.out, "ppgsl", told, drawn)
    write_csv(lines, data, asked.out / "ppgsl.csv")


if __name__ == "__main__":
    main()

"""The unit node: what a release keeps where a whole person is protected, and what that costs.

    python -m benchmarks.person_tables RESULTS.jsonl --data FOLDER                 every table
    python -m benchmarks.person_tables RESULTS.jsonl --data FOLDER --only things --graph ml-100k --runs 5
    python -m benchmarks.person_tables RESULTS.jsonl --table

Only runs that RESULTS lacks are made, those of a row and an epsilon in a process of their own: CPU seconds
are of fit and draw, memory is the peak by then, imports, evaluation and the original included. Delta is 1e-6
where a method needs one.

``things``: a protected type and things. TV: total variation of the degree distributions, mean over steps; L1:
sum over things of |degree - original degree| by the number of edges; AUC-items as in docs/metrics.md; Degree
MMD: THEPUFF's; 4-cycles: synthetic / original, sum over steps; chain TV: users' occupations against films'
genres. ``large``: the same of 310,000 generated persons. ``people``: one node type. Density and triangles as
relative errors; modularity of the public groups, against that of the original. ``directed``: one node type,
linked one way. TV of out- and in-degrees over all steps; edges as a relative error; reciprocity: the share of
arcs that are answered in their step; of timed graphs the L1 distance between shares of edges by step, and the
TV of degrees in a step, its mean. ``size``: generated graphs, persons against the declared bound.

Rows "one edge, ...": an edge-level method at the same epsilon protects one edge, which is less. Rows "group
privacy, ...": the same at epsilon / (2 D), D the power of two above the largest degree: all D edges of a
person replaced are 2 D changes, so that persons are protected at epsilon.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import person_graphs
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.typed_metrics import chain_tv, degree_figures, four_cycles
from core.evaluation.attacks.projection import static_view
from core.evaluation.metric import Suite
from core.evaluation.tasks.item_preference import item_preference
from core.evaluation.tasks.run import persons_first
from core.evaluation.utility import clustering, degrees
from core.evaluation.utility.relative import plain
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.thepuff.benchmarks.golden import scores as thepuff_scores

DELTA_ATTO = 10**12
RUNS = 5
LARGE = 1_000_000


@dataclass(frozen=True)
class Row:
    """A method as a table names it. ``grouped``: at epsilon / (2 D); ``bounded``: the schema declares D.

    ``parameters``: what differs from the method's defaults, JSON.
    """

    label: str
    method: str
    unit: Unit = Unit.NODE
    grouped: bool = False
    bounded: bool = False
    parameters: str = "{}"


THINGS_ROWS = (
    Row("profiles", "profiles"),
    Row("one edge, anchored", "anchored", Unit.EDGE),
    Row("group privacy, anchored", "anchored", Unit.EDGE, grouped=True),
)
PEOPLE_ROWS = (
    Row("projection", "projection"),
    Row("projection, bound declared", "projection", bounded=True),
    Row("one edge, dcsbm", "dcsbm", Unit.EDGE),
    Row("group privacy, dcsbm", "dcsbm", Unit.EDGE, grouped=True),
)
DIRECTED_ROWS = (
    Row("projection", "projection"),
    Row("one edge, anchored", "anchored", Unit.EDGE),
    Row("group privacy, anchored", "anchored", Unit.EDGE, grouped=True),
)
SIZE_ROWS = (
    Row("projection, bound declared", "projection", bounded=True),
    Row("one edge, dcsbm", "dcsbm", Unit.EDGE),
)
SIZES = tuple(
    f"generated-{nodes}-{bound}" for bound in (64, 256) for nodes in (10_000, 100_000, 256_000, 1_000_000)
)


@dataclass(frozen=True)
class Table:
    """Which graphs, epsilons and rows one table has."""

    graphs: tuple[str, ...]
    epsilons: tuple[float, ...]
    rows: tuple[Row, ...]


TABLES = {
    "things": Table(("ml-100k", "amazon", "bitcoin-otc"), (0.5, 1, 2, 4, 8), THINGS_ROWS),
    "large": Table(("taobao",), (1,), THINGS_ROWS[:1]),
    "people": Table(tuple(person_graphs.PEOPLE), (0.5, 1, 2, 4), PEOPLE_ROWS),
    "directed": Table(tuple(person_graphs.DIRECTED), (0.5, 1, 2, 4), DIRECTED_ROWS),
    "size": Table(SIZES, (1,), SIZE_ROWS),
}


def released(row: Row, graph: Graph, epsilon: float, bound: int) -> tuple[Graph, float]:
    """One synthetic graph, and the CPU seconds of its fit and draw."""
    generator = get(row.method)
    unit = row.unit
    if unit is Unit.EDGE and graph.schema.temporal:
        unit = Unit.EVENT
    if row.unit is Unit.EDGE:
        graph = person_graphs.edge_wise(graph)
    spent = epsilon / (2 * bound) if row.grouped else epsilon
    delta = DELTA_ATTO if row.method == "profiles" else 0
    names = tuple(kind.name for kind in graph.schema.edge_types if not kind.public)
    facts = PublicFacts(graph.schema, unit, None, max(1, int(spent * NANO)), delta, names)
    params = generator.Params.model_validate_json(row.parameters)
    started = time.process_time()
    plan = generator.plan(params, facts)
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    synthetic = generator.fit(session, plan, params, no_progress).sample(noise_generator(), no_progress)
    return synthetic, time.process_time() - started


def measure(table: str, name: str, data: Path, row: Row | None, epsilon: float, bound: int) -> dict[str, Any]:
    """The figures of one release; row None: of the original beside itself."""
    graph = person_graphs.load(name, data, bound if row is not None and row.bounded else None)
    synthetic, seconds = (graph, 0.0) if row is None else released(row, graph, epsilon, bound)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if name in person_graphs.THINGS:
        found = things(name, graph, synthetic)
    else:
        found = (directed if name in person_graphs.DIRECTED else people)(graph, synthetic)
    return {**found, "cpu_seconds": seconds, "peak_megabytes": peak}


def things(name: str, original: Graph, synthetic: Graph) -> dict[str, float | None]:
    """The figures of people and things; those that would take minutes are left out of large graphs."""
    synthetic = with_public(original, synthetic)
    reading = person_graphs.THINGS[name][1]
    kind = original.schema.edge_type(reading.focus)
    first = persons_first(original.schema, kind)
    ours, others = ("source", "target") if first else ("target", "source")
    by_side = degree_figures(original, synthetic, kind.name)
    found = {
        "TV persons": by_side[f"degree_tv {kind.name} {ours}"],
        "TV things": by_side[f"degree_tv {kind.name} {others}"],
        "L1 things": by_side[f"node_l1 {kind.name} {others}"],
    }
    if original.edges[kind.name].count <= LARGE:
        views = [static_view(graph, kind) for graph in (original, synthetic)]
        task = item_preference(views[0], views[1], kind.name, first)
        cycles = [four_cycles(graph, kind.name) for graph in (original, synthetic)]
        found["AUC-items"] = task["trained_on_synthetic"]
        found["4-cycles"] = cycles[1] / cycles[0] if cycles[0] else None
    if reading.chain:
        found["Degree MMD"] = thepuff_scores(original, synthetic)["Degree"]
        found["chain TV"] = chain_tv(original, synthetic, reading.chain)
    return found


def with_public(original: Graph, synthetic: Graph) -> Graph:
    """The release as it is published: with the original's public relations."""
    tables = {
        kind.name: original.edges[kind.name] if kind.public else synthetic.edges[kind.name]
        for kind in original.schema.edge_types
    }
    return Graph.build(original.schema, original.nodes, tables)


def people(original: Graph, synthetic: Graph) -> dict[str, float | None]:
    """The figures of people and people."""
    views = [UndirectedView.of(graph.cell("edge", None)) for graph in (original, synthetic)]
    apart = degrees.distances(*views, Suite.QUICK)
    edges = [view.edge_count for view in views]
    found = {
        "degree TV": plain(apart["degree_total_variation"]),
        "degree KS": plain(apart["degree_kolmogorov_smirnov"]),
        "density RE": abs(edges[1] - edges[0]) / edges[0],
    }
    if edges[0] <= LARGE:
        closed = [plain(clustering.scalars(view, Suite.QUICK)["triangles"]) or 0 for view in views]
        found["triangles RE"] = abs(closed[1] - closed[0]) / max(closed[0], 1)
    groups = person_graphs.groups_of(original)
    if groups is not None:
        found["modularity"], found["true modularity"] = (modularity(view, groups) for view in views[::-1])
    return found


def directed(original: Graph, synthetic: Graph) -> dict[str, float | None]:
    """The figures of people who are linked one way; reciprocity as it is and, first, as it was drawn."""
    tables = [graph.edges["edge"] for graph in (synthetic, original)]
    nodes, steps = original.nodes["node"].count, original.schema.steps
    found: dict[str, float | None] = {}
    for side in ("source", "target"):
        name = {"source": "TV out", "target": "TV in"}[side]
        found[name] = total_variation(*(np.bincount(getattr(t, side), minlength=nodes) for t in tables))
    edges = [table.count for table in tables]
    found["edges RE"] = abs(edges[0] - edges[1]) / edges[1]
    found["reciprocity"], found["true reciprocity"] = (reciprocity(table, nodes) for table in tables)
    if original.schema.temporal:
        shares = [np.bincount(table.step, minlength=steps) / max(table.count, 1) for table in tables]
        found["L1 steps"] = float(np.abs(shares[0] - shares[1]).sum())
        apart = []
        for step in range(steps):
            cells = [graph.cell("edge", step) for graph in (synthetic, original)]
            for side in ("source", "target"):
                own = (np.bincount(getattr(cell, side), minlength=nodes) for cell in cells)
                apart.append(total_variation(*own))
        found["TV in a step"] = float(np.mean(apart))
    return found


def total_variation(one: np.ndarray, other: np.ndarray) -> float:
    """The distance between the distributions of two vectors of degrees, in 0..1."""
    most = int(max(one.max(initial=0), other.max(initial=0))) + 1
    apart = np.bincount(one, minlength=most) / len(one) - np.bincount(other, minlength=most) / len(other)
    return float(np.abs(apart).sum() / 2)


def reciprocity(table: EdgeTable, nodes: int) -> float:
    """The share of arcs that are answered in their own step; 0 without arcs."""
    step = np.zeros(table.count, dtype=np.int64) if table.step is None else table.step.astype(np.int64)
    source, target = table.source.astype(np.int64), table.target.astype(np.int64)
    keys = [(step * nodes + one) * nodes + other for one, other in ((source, target), (target, source))]
    return float(np.isin(*keys).mean()) if table.count else 0.0


def modularity(view: UndirectedView, groups: np.ndarray) -> float:
    """The modularity of the partition into groups; 0 without edges."""
    m = max(view.edge_count, 1)
    inside = np.count_nonzero(groups[view.u] == groups[view.v]) / m
    shares = np.bincount(groups, weights=view.degrees) / (2 * m)
    return float(inside - (shares**2).sum()) if view.edge_count else 0.0


def made(asked: argparse.Namespace) -> None:
    """Makes the runs that RESULTS lacks; a method that refuses a graph stands in its line with the reason."""
    keys = ("table", "graph", "label", "epsilon")
    done = Counter(tuple(line[key] for key in keys) for line in read(asked.results))
    bounds: dict[str, int] = {}
    for table, name, row, epsilon, runs in _cells(asked):
        cell = (table, name, "original" if row is None else row.label, epsilon)
        if done[cell] >= runs:
            continue
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:  # a process of its own for every cell
            if name not in bounds:
                given = name.split("-")[-1] if name.startswith("generated-") else None
                bounds[name] = int(
                    given or pool.submit(person_graphs.declared_bound, name, asked.data).result()
                )
            for run in range(done[cell], runs):
                job = pool.submit(measure, table, name, asked.data, row, epsilon, bounds[name])
                line: Line = dict(zip(keys, cell, strict=True))
                add(asked.results, line | {"run": run, "bound": bounds[name], "figures": job.result()})


def _cells(asked: argparse.Namespace) -> Iterator[tuple[str, str, Row | None, float, int]]:
    for table in asked.only:
        each = TABLES[table]
        for name in each.graphs:
            if asked.graph and name not in asked.graph:
                continue
            if table == "things":
                yield table, name, None, 0.0, 1
            for row in each.rows:
                if asked.method and row.method not in asked.method:
                    continue
                for epsilon in asked.epsilon or each.epsilons:
                    yield table, name, row, float(epsilon), 1 if table == "large" else asked.runs


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown: a table for every graph, one for all sizes."""
    grouped: dict[str, dict[tuple[str, str, float], list[dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    bounds = {line["graph"]: line["bound"] for line in lines}
    for line in lines:
        where = "size" if line["table"] == "size" else line["graph"]
        grouped[where][line["graph"], line["label"], line["epsilon"]].append(line["figures"])
    for where, rows in grouped.items():
        titles = list(dict.fromkeys(title for runs in rows.values() for title in runs[0]))
        titles = [title for title in titles if title not in ("cpu_seconds", "peak_megabytes")]
        yield f"\n**{where if where != 'size' else 'Generated graphs'}**\n"
        first = "| persons | D " if where == "size" else "| method "
        yield f"{first}| epsilon | " + " | ".join(titles) + " | CPU s | MB | runs |"
        yield "|---" * (len(titles) + 5 + (where == "size")) + "|"
        for (name, label, epsilon), runs in rows.items():
            means = [mean_of([run.get(title) for run in runs]) for title in titles]
            costs = [np.mean([run[key] for run in runs]) for key in ("cpu_seconds", "peak_megabytes")]
            shown = f"{label} (D = {bounds[name]})" if "group" in label or "bound" in label else label
            if where == "size":
                shown = f"{label}, {int(name.split('-')[1]):,} | {bounds[name]}"
            yield (
                f"| {shown} | {epsilon:g} | "
                + " | ".join(means)
                + f" | {costs[0]:.1f} | {costs[1]:.0f} | {len(runs)} |"
            )


def mean_of(values: list[float | None]) -> str:
    """Mean over runs, and their standard deviation where there are several that differ."""
    defined = [value for value in values if value is not None]
    if not defined:
        return ""
    mean, spread = _short(float(np.mean(defined))), float(np.std(defined))
    return f"{mean} ± {_short(spread)}" if spread > 0.0005 else mean


def _short(value: float) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", action="append", choices=list(TABLES), help="one table")
    parser.add_argument("--graph", action="append", help="one graph of it")
    parser.add_argument("--method", action="append", help="rows of one method")
    parser.add_argument("--epsilon", action="append", type=float, help="one epsilon")
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    asked.only = asked.only or list(TABLES)
    run_or_print(parser, asked, made, tables)


if __name__ == "__main__":
    main()

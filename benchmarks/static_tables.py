"""Every generator on static graphs under edge privacy: the structural metrics, CPU and memory.

    python -m benchmarks.static_tables RESULTS.jsonl --runs 10 \\
        --graph facebook=Facebook.txt --graph chamelon=Chamelon.txt --epsilon 0.5 --epsilon 1 --epsilon 2
    python -m benchmarks.static_tables RESULTS.jsonl --table

RESULTS holds one line a run; a call makes only the runs that are missing for its graphs, methods and
epsilons. Runs of one (graph, method, epsilon) share a process of their own, whose largest memory is reported
(imports, the original and its evaluation included). Node numbers are shuffled at load. RE is the relative
error: where the true value is small it is large by itself. Figures are means over runs with their spread.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.load import load_static
from benchmarks.stream_tables import parsed, read
from core.evaluation.metric import Suite
from core.evaluation.utility import assortativity, clustering, communities, degrees, edges, eigenvector
from core.evaluation.utility.relative import plain, scalar
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import generators, get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

# figure: its title, and whether more is better
FIGURES: dict[str, tuple[str, bool]] = {
    "degree_kl_divergence": ("deg KL", False),
    "degree_total_variation": ("deg TV", False),
    "top_eigenvector_overlap": ("top-1% overlap", True),
    "eigenvector_mae": ("EVC MAE", False),
    "transitivity": ("transitivity RE", False),
    "mean_local_clustering": ("avg clust. RE", False),
    "triangles": ("triangles RE", False),
    "modularity": ("modularity RE", False),
    "assortativity": ("assort. RE", False),
    "density": ("density RE", False),
    "partition_nmi": ("NMI", True),
}
COSTS = {"cpu_seconds": "CPU s", "peak_megabytes": "MB"}


class Cell(NamedTuple):
    """What shares one process; ``label`` names the method with its parameters."""

    graph: str
    label: str
    epsilon: float


def release(method: str, graph: Graph, epsilon: float, parameters: dict[str, Any]) -> tuple[Graph, float]:
    """One synthetic graph, and the CPU seconds that it took."""
    generator = get(method)
    params = generator.Params.varied(**parameters)
    facts = PublicFacts(graph.schema, Unit.EDGE, None, int(epsilon * 1e9), 0, ("edge",))
    started = time.process_time()
    plan = generator.plan(params, facts)
    model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    synthetic = model.sample(noise_generator(), no_progress)
    return synthetic, time.process_time() - started


def figures(original: UndirectedView, synthetic: Graph) -> dict[str, float | None]:
    """Every figure of one release; None where it is undefined."""
    view = UndirectedView.of(synthetic.cell("edge", None))
    distances = {
        name: plain(value)
        for family in (degrees, eigenvector, communities)
        for name, value in family.distances(original, view, Suite.STANDARD).items()
    }
    ours, theirs = (
        {
            name: value
            for family in (edges, assortativity, clustering, communities)
            for name, value in family.scalars(graph, Suite.STANDARD).items()
        }
        for graph in (original, view)
    )
    return {
        name: distances[name] if name in distances else scalar(ours[name], theirs[name])["relative_error"]
        for name in FIGURES
    }


def measure(
    cell: Cell, path: Path, method: str, parameters: dict[str, Any], runs: int
) -> list[dict[str, Any]]:
    """``runs`` rows of one cell, after a release that compiles or loads the kernels."""
    original = load_static(path)
    view = UndirectedView.of(original.cell("edge", None))
    release(method, original, cell.epsilon, parameters)
    rows = []
    for _ in range(runs):
        synthetic, seconds = release(method, original, cell.epsilon, parameters)
        found: dict[str, Any] = {
            **figures(view, synthetic),
            "cpu_seconds": seconds,
            "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        rows.append(cell._asdict() | {"method": method, "parameters": parameters, "figures": found})
    return rows


def run_missing(args: argparse.Namespace) -> None:
    """Appends what RESULTS lacks, cell by cell, as each one ends."""
    parameters = parsed(args.set)
    done = Counter(Cell(row["graph"], row["label"], row["epsilon"]) for row in read(args.results))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, mp_context=context, max_tasks_per_child=1) as pool:
        jobs = {}
        for graph, path in parsed(args.graph).items():
            for epsilon in args.epsilon:
                for method in args.method:
                    cell = Cell(graph, args.label or method, epsilon)
                    if (missing := args.runs - done[cell]) > 0:
                        jobs[pool.submit(measure, cell, Path(path), method, parameters, missing)] = cell
        for job in as_completed(jobs):
            rows = job.result()
            with args.results.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
            print(*jobs[job], f"{len(rows)} runs", flush=True)


def table(rows: list[dict[str, Any]]) -> None:
    """Markdown: one table for every graph and epsilon, the best figure of a column in bold."""
    grouped: dict[tuple[str, float], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        grouped[row["graph"], row["epsilon"]][row["label"]].append(row["figures"])
    for (graph, epsilon), methods in sorted(grouped.items()):
        print(f"\n**{graph}**, epsilon {epsilon:g}\n")
        titles = [*(title for title, _ in FIGURES.values()), *COSTS.values()]
        print("| method | runs |", " | ".join(titles), "|")
        print("|---" * (len(titles) + 2) + "|")
        spreads = {
            method: {name: _spread([run[name] for run in runs]) for name in (*FIGURES, *COSTS)}
            for method, runs in methods.items()
        }
        best = {
            name: (max if more else min)(found[name][0] for found in spreads.values())
            for name, (_, more) in FIGURES.items()
        }
        for method, found in sorted(spreads.items()):
            cells = []
            for name in FIGURES:
                mean, deviation = found[name]
                text = f"{mean:.3f} ± {deviation:.3f}"
                cells.append(f"**{text}**" if mean == best[name] else text)
            cells += [f"{found['cpu_seconds'][0]:.2f}", f"{found['peak_megabytes'][0]:.0f}"]
            print(f"| {method} | {len(methods[method])} |", " | ".join(cells), "|")


def _spread(values: list[float | None]) -> tuple[float, float]:
    """Mean and standard deviation of what is defined; NaN where nothing is."""
    defined = [value for value in values if value is not None]
    return (float(np.mean(defined)), float(np.std(defined))) if defined else (float("nan"), float("nan"))


def main() -> None:
    every = [name for name, each in generators().items() if each.accepts.static and Unit.EDGE in each.units]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--table", action="store_true", help="print what RESULTS holds, run nothing")
    parser.add_argument("--graph", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--method", action="append", choices=every)
    parser.add_argument("--label", help="the name in the table of one method with other parameters")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    args.method, args.epsilon = args.method or every, args.epsilon or [0.5, 1.0, 2.0]
    if args.set and not (args.label and len(args.method) == 1):
        parser.error("--set needs one --method and a --label")
    for method in args.method:
        get(method).Params.model_validate(parsed(args.set))
    if args.table:
        table(read(args.results))
    else:
        run_missing(args)


if __name__ == "__main__":
    main()

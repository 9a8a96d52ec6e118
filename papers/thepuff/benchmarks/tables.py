"""Typed temporal graphs: THEPUFF, ``anchored`` and plain baselines, on public data under unit ``event``.

    python -m papers.thepuff.benchmarks.tables RESULTS.jsonl --data FOLDER  every row, 3 runs
    python -m papers.thepuff.benchmarks.tables RESULTS.jsonl --data FOLDER --graph ml-100k \\
        --only anchored --epsilon 4 --runs 1
    python -m papers.thepuff.benchmarks.tables RESULTS.jsonl --data FOLDER --graph ml-100k \\
        --only thepuff-paper --epsilon 1 --epsilon 2 --epsilon 3 ... --epsilon 8       the paper's Table 4
    python -m papers.thepuff.benchmarks.tables RESULTS.jsonl --table

RESULTS holds one line a run; a call makes only the runs that are missing. The runs of one (graph, row,
epsilon) share a process, whose largest memory is reported with its imports and the original. CPU seconds are
those of fit and draw, after a release of a thinned graph that loads what is compiled; one thread.

Rows whose guarantee is none: ``perturbation-paper`` and ``thepuff-paper`` take epsilon as the paper's
eps_minus; ``thepuff-utility-for-nothing`` is ``thepuff`` with a discriminator that reads the original;
``temporal-walks`` and ``heterogeneous-walks`` know no epsilon. All others keep the whole release within
epsilon; those that need a delta have 1e-6.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.results_file import parser_of, read, run_or_print
from benchmarks.typed_graphs import DATASETS, load_dataset
from benchmarks.typed_metrics import figures
from core.graphs.graph import EdgeTable, Graph
from core.methods._shared.degrees.counts import noisy_count
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers._shared.blocks.ranks import distinct
from papers._shared.walks.layout import keys_of
from papers.thepuff import fit as fitting
from papers.thepuff.benchmarks.report import tables
from papers.thepuff.snapshots import Snapshots
from papers.thepuff.utility import Raw

NANO = 1_000_000_000
DELTA_ATTO = 10**12
EPSILONS = (1.0, 2.0, 4.0, 8.0)
WARM_SHARE = 0.05


@dataclass(frozen=True)
class Row:
    """A method and its parameters. ``of_epsilon``: a parameter that takes the row's epsilon; None: none.

    ``reads_all``: its utility discriminator learns from the original itself, for as many batches; nothing
    pays for that, and nothing is guaranteed.
    """

    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    delta: bool = False
    of_epsilon: str | None = None
    reads_all: int = 0


ROWS: dict[str, Row] = {
    "perturbation": Row("thepuff_perturb"),
    "perturbation-paper": Row("thepuff_perturb", {"variant": "paper"}, of_epsilon="epsilon_minus"),
    "anchored": Row("anchored"),
    "anchored-spectral": Row("anchored", {"spectral": True}, delta=True),
    "anchored-no-evidence": Row("anchored", {"evidence": "none"}),
    "thepuff": Row("thepuff"),
    "thepuff-utility": Row("thepuff", {"utility": True}, delta=True),
    "thepuff-no-utility": Row("thepuff", {"utility": False}),  # today's default, whatever tomorrow's is
    "thepuff-utility-for-nothing": Row("thepuff", reads_all=2_500),
    "thepuff-by-counts": Row("thepuff", {"keep_degrees": False}),
    "thepuff-hat": Row("thepuff", {"bias": "hat"}),
    "thepuff-no-privacy": Row("thepuff", {"privacy": False}, delta=True),
    "thepuff-paper": Row("thepuff", {"variant": "paper"}, of_epsilon="epsilon_minus"),
    "thepuff-paper-no-utility": Row(
        "thepuff", {"variant": "paper", "utility": False}, of_epsilon="epsilon_minus"
    ),
    "thepuff-paper-no-privacy": Row(
        "thepuff", {"variant": "paper", "privacy": False}, of_epsilon="epsilon_minus"
    ),
}
# What walk generators reach without a guarantee, and without an epsilon.
CEILINGS = {
    "temporal-walks": Row("temporal_walks"),
    "heterogeneous-walks": Row("heterogeneous_walks"),
}
ROWS |= CEILINGS
# The same, and one that reads the numbers of edges alone.
FREE = ("original", "empty")
BASELINES = (*FREE, "typed-random")


class Cell(NamedTuple):
    """What shares one process. ``epsilon`` is 0 for the rows that know none."""

    graph: str
    label: str
    epsilon: float


def typed_random(graph: Graph, nano_epsilon: int) -> Graph:
    """Every cell's number of edges, paid for with all of epsilon, as uniform pairs of its typed slots."""
    keys = [
        (kind.name, step) for kind in graph.schema.edge_types for step in graph.schema.steps_of(kind.name)
    ]
    allotments = tuple(Allotment(*key, Pure(nano_epsilon, "laplace"), "edge count") for key in keys)
    plan = PrivacyPlan("typed-random", Unit.EVENT, None, graph.schema.steps, allotments)
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    rng = noise_generator()
    parts: dict[str, list[tuple[np.ndarray, ...]]] = {}
    for name, step in keys:
        cell = session.cell(name, step)
        if cell.shape.undirected:
            raise ValueError("the typed random graph takes sided relations")
        count = noisy_count(cell, nano_epsilon)
        _, place = distinct(np.array([count]), np.array([cell.shape.slots]), rng)
        homogeneous = cell.shape.edge_type.homogeneous
        source, target = np.divmod(place, cell.shape.target_count - homogeneous)
        target += homogeneous & (target >= source)  # the slot of a loop is left out
        steps = () if step is None else (np.full(count, step, dtype=np.int32),)
        parts.setdefault(name, []).append((source, target, *steps))
    tables = {
        name: EdgeTable(*(np.concatenate(column) for column in zip(*columns, strict=True)))
        for name, columns in parts.items()
    }
    return Graph.build(graph.schema, graph.nodes, tables)


@dataclass(frozen=True)
class Release:
    """One synthetic graph and what it cost; ``collapsed`` is what the training says of itself."""

    graph: Graph
    fit_seconds: float
    sample_seconds: float
    kind: str = "pure"
    collapsed: bool | None = None
    notes: tuple[str, ...] = ()
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)


def release(row: Row, graph: Graph, epsilon: float) -> Release:
    """The row's release under unit ``event``, all relations protected."""
    generator = get(row.method)
    extra = {row.of_epsilon: epsilon} if row.of_epsilon else {}
    params = generator.Params.varied(**row.parameters, **extra)
    names = tuple(kind.name for kind in graph.schema.edge_types)
    delta = DELTA_ATTO if row.delta else 0
    started = time.process_time()
    plan = generator.plan(
        params, PublicFacts(graph.schema, Unit.EVENT, None, round((epsilon or 1) * NANO), delta, names)
    )
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    with _reading_all(graph, row.reads_all):
        model = generator.fit(session, plan, params, no_progress)
    fitted = time.process_time()
    synthetic = model.sample(noise_generator(), no_progress)
    ended = time.process_time()
    told = model.training() if hasattr(model, "training") else None
    what = (told.collapsed, told.notes, told.curves) if told else (None, (), {})
    kind = "none" if row.reads_all else str(plan.kind)
    return Release(synthetic, fitted - started, ended - fitted, kind, *what)


@contextmanager
def _reading_all(graph: Graph, batches: int) -> Iterator[None]:
    """Give fits inside a utility discriminator that learns from ``graph`` for so many batches, if any."""
    true = fitting._model

    def model(paid, utility, *rest):
        keys = keys_of(graph, paid.layout)
        counts = {cell: len(keys[cell]) for cell, _ in paid.layout.cells(learned=True)}
        return true(paid, Raw(Snapshots.of(paid.layout, keys, counts), batches), *rest)

    fitting._model = model if batches else true
    try:
        yield
    finally:
        fitting._model = true


def thinned(graph: Graph, share: float = WARM_SHARE) -> Graph:
    """The same universe with every 1/``share``-th edge."""
    every = round(1 / share)
    tables = {
        name: EdgeTable(
            table.source[::every], table.target[::every], None if table.step is None else table.step[::every]
        )
        for name, table in graph.edges.items()
    }
    return Graph.build(graph.schema, graph.nodes, tables)


def drawn(label: str, graph: Graph, epsilon: float) -> Release:
    """One release of a row, baselines included."""
    if label in ROWS:
        return release(ROWS[label], graph, epsilon)
    started = time.process_time()
    match label:
        case "original":
            synthetic = graph
        case "empty":
            synthetic = Graph.build(graph.schema, graph.nodes, {})
        case _:
            synthetic = typed_random(graph, round(epsilon * NANO))
    return Release(synthetic, time.process_time() - started, 0.0, "none" if label in FREE else "pure")


def measure(cell: Cell, folder: Path, runs: int) -> list[dict[str, Any]]:
    """``runs`` rows of one cell, after a release of a thinned graph."""
    original = load_dataset(cell.graph, folder)
    drawn(cell.label, thinned(original), cell.epsilon)
    rows = []
    for _ in range(runs):
        made = drawn(cell.label, original, cell.epsilon)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = figures(original, made.graph, DATASETS[cell.graph].reading)
        costs = {
            "fit_cpu_seconds": made.fit_seconds,
            "sample_cpu_seconds": made.sample_seconds,
            "cpu_seconds": made.fit_seconds + made.sample_seconds,
            "peak_megabytes": peak,
        }
        edges = {name: table.count for name, table in made.graph.edges.items()}
        told = {"kind": made.kind, "collapsed": made.collapsed, "notes": made.notes, "edges": edges}
        rows.append(cell._asdict() | told | {"figures": found | costs})
    return rows


def run_missing(args: argparse.Namespace) -> None:
    """Appends what RESULTS lacks, cell by cell, as each one ends."""
    done = Counter(Cell(row["graph"], row["label"], row["epsilon"]) for row in read(args.results))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, mp_context=context, max_tasks_per_child=1) as pool:
        jobs = {}
        for graph in args.graph:
            for label in args.only:
                runs = 1 if label in FREE else args.runs
                for epsilon in (0.0,) if label in (*FREE, *CEILINGS) else args.epsilon:
                    cell = Cell(graph, label, epsilon)
                    if (missing := runs - done[cell]) > 0:
                        jobs[pool.submit(measure, cell, args.data, missing)] = cell
        for job in as_completed(jobs):
            cell = jobs[job]
            if error := job.exception():  # one failed row leaves the others
                print(*cell, f"failed: {error!r}", flush=True)
                continue
            rows = job.result()
            with args.results.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
            print(*cell, f"{len(rows)} runs", f"{rows[-1]['figures']['cpu_seconds']:.2f} CPU s", flush=True)


def main() -> None:
    every = [*BASELINES, *ROWS]
    parser = parser_of(__doc__)
    parser.add_argument("--graph", action="append", choices=list(DATASETS))
    parser.add_argument("--only", action="append", choices=every, metavar="ROW", help=", ".join(every))
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    args.graph, args.only = args.graph or list(DATASETS), args.only or every
    args.epsilon = args.epsilon or list(EPSILONS)
    run_or_print(parser, args, run_missing, tables)


if __name__ == "__main__":
    main()

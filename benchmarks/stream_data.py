"""Real streams for the stream benchmarks, one private release of a stream, and its figures.

The universe is every node of the file, node numbers are shuffled, and a last window that is less than three
quarters over is left out: conventions of a benchmark; a release declares its universe and its grid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.load import numbers
from benchmarks.stream_made import HOURS, MADE, contacts
from core.evaluation.metric import Suite
from core.evaluation.utility import assortativity, clustering, degrees, edges, eigenvector
from core.evaluation.utility.relative import plain
from core.evaluation.view import UndirectedView
from core.evaluation.whole.over_time import compared_over_time
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

DAY_SECONDS = 86_400
AS_DAYS = ("19971108", "19971109", "19971110", "19980201", "19980202", "19990427", "19990428")
CIT_MONTHS = tuple(100 * year + month for year in (96, 97, 98) for month in range(1, 13))
FEWEST_NODES = 500  # a hundredth of fewer nodes is too few to overlap
BITCOIN_WINDOWS = 58  # what follows are months of some tens of ratings

# figure: its title in a table, and the direction in which it is better
FIGURES: dict[str, tuple[str, str]] = {
    "overlap": ("top-1% overlap", "higher"),
    "assortativity_re": ("assort. RE", "lower"),
    "assortativity_error": ("assort. error", "lower"),
    "degree_kl": ("deg KL", "lower"),
    "degree_tv": ("deg TV", "lower"),
    "density_re": ("density RE", "lower"),
    "transitivity_re": ("trans. RE", "lower"),
    "transitivity_error": ("trans. error", "lower"),
}
# figures of whole streams, by their names in docs/metrics.md; of the first ones both graphs have a value
LASTING = ("edge_persistence", "edge_novelty", "activity_persistence", "burstiness", "active_nodes")
OVER_TIME = (
    "active_steps_ks", "activity_gaps_ks", "edge_series_step_error", "edge_series_error",
    "active_series_error", "lost_rises", "degree_correlation", "top_degree_overlap",
)  # fmt: skip


def _bitcoin(path: Path) -> Graph:
    rows = numbers(path, (0, 1, 3))
    steps = (rows[:, 2] - rows[:, 2].min()) // (30 * DAY_SECONDS)
    return _stream(rows[:, :2], steps.astype(np.int64), BITCOIN_WINDOWS)


def _seconds(columns: tuple[int, int, int], seconds: int, skipped: int = 0) -> Callable[[Path], Graph]:
    def load(path: Path) -> Graph:
        rows = numbers(path, columns, skipped)
        steps = (rows[:, 2] - rows[:, 2].min()) / seconds
        return _stream(rows[:, :2], steps.astype(np.int64), int(steps.max() + 0.25))

    return load


def _as_days(folder: Path) -> Graph:
    parts = []
    for step, day in enumerate(AS_DAYS):
        path = next(folder.glob(f"as{day}.*"))
        ends = numbers(path, (0, 1))
        parts.append(np.column_stack([ends, np.full(len(ends), step)]))
    rows = np.concatenate(parts)
    return _stream(rows[:, :2], rows[:, 2].astype(np.int64), len(AS_DAYS))


def _citations(path: Path) -> Graph:
    """Citations of the papers of one month; a paper's number begins with its year and month."""
    rows = numbers(path, (0, 1)).astype(np.int64)
    place = {month: step for step, month in enumerate(CIT_MONTHS)}
    steps = np.array([place.get(int(month), -1) for month in rows[:, 0] // 1000])
    return _stream(rows, steps, len(CIT_MONTHS))


def _made(name: str) -> Callable[[Path], Graph]:
    return lambda _: _stream(*contacts(MADE[name]), MADE[name].days * HOURS)


LOADERS: dict[str, Callable[[Path], Graph]] = {
    "collegemsg-28d": _seconds((0, 1, -1), 28 * DAY_SECONDS),
    "collegemsg-weekly": _seconds((0, 1, -1), 7 * DAY_SECONDS),
    "email-weekly": _seconds((0, 1, -1), 7 * DAY_SECONDS),
    "as-days": _as_days,
    "bitcoin-monthly": _bitcoin,
    "cithepph-monthly": _citations,
    "radoslaw-weekly": _seconds((0, 1, 3), 7 * DAY_SECONDS),
    "mathoverflow-60d": _seconds((0, 1, 2), 60 * DAY_SECONDS),
    "digg-6h": _seconds((0, 1, 3), DAY_SECONDS // 4, 1),
    **{name: _made(name) for name in MADE},  # whatever the path
}


def _stream(ends: np.ndarray, steps: np.ndarray, count: int) -> Graph:
    names, place = np.unique(ends, return_inverse=True)
    shuffled = np.random.default_rng(0).permutation(len(names)).astype(np.int32)[place.reshape(ends.shape)]
    kept = (steps >= 0) & (steps < count)
    schema = GraphSchema(
        node_types=(NodeType(count=len(names)),),
        edge_types=(EdgeType(temporal=True),),
        time=TimeGrid(count=count),
    )
    table = EdgeTable(shuffled[kept, 0], shuffled[kept, 1], steps[kept].astype(np.int32))
    return Graph.build(schema, {"node": NodeTable(len(names))}, {"edge": table})


def release(
    method: str, graph: Graph, window: int, epsilon: float, parameters: dict[str, Any]
) -> tuple[Graph, float]:
    """All relations of one synthetic stream under w-event privacy, and the CPU seconds that it took."""
    generator = get(method)
    params = generator.Params.varied(**parameters)
    names = tuple(each.name for each in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, Unit.W_EVENT, window, int(epsilon * 1e9), 0, names)
    started = time.process_time()
    plan = generator.plan(params, facts)
    model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    synthetic = model.sample(noise_generator(), no_progress)
    return synthetic, time.process_time() - started


def figures_by_step(original: Graph, synthetic: Graph) -> Iterator[dict[str, float]]:
    """The figures of every snapshot; what is undefined (a relative error of a true zero) is left out."""
    for step in range(original.schema.steps):
        ours, theirs = (UndirectedView.of(graph.cell("edge", step)) for graph in (original, synthetic))
        found = degrees.distances(ours, theirs, Suite.QUICK) | eigenvector.distances(
            ours, theirs, Suite.STANDARD
        )
        row = {
            "overlap": plain(found["top_eigenvector_overlap"]) if ours.node_count >= FEWEST_NODES else None,
            "degree_kl": plain(found["degree_kl_divergence"]),
            "degree_tv": plain(found["degree_total_variation"]),
        }
        for name, family in (
            ("density", edges),
            ("assortativity", assortativity),
            ("transitivity", clustering),
        ):
            true, drawn = (plain(family.scalars(view, Suite.QUICK)[name]) for view in (ours, theirs))
            if true is None or drawn is None:
                continue
            row[f"{name}_error"] = abs(true - drawn)
            if true:
                row[f"{name}_re"] = abs(true - drawn) / abs(true)
        yield {name: float(row[name]) for name in FIGURES if row.get(name) is not None}


def figures_over_time(original: Graph, synthetic: Graph) -> dict[str, float | None]:
    """What both streams keep from step to step: the synthetic values of ``LASTING``, the original's under
    ``true_``, and the distances of ``OVER_TIME``."""
    found = compared_over_time(original, synthetic, original.schema.edge_types, range(original.schema.steps))
    assert found is not None
    scalars, distances = found["means"]["scalars"], found["means"]["distances"]
    return {
        **{name: scalars[name]["synthetic"] for name in LASTING},
        **{f"true_{name}": scalars[name]["original"] for name in LASTING},
        **{name: distances[name] for name in OVER_TIME},
    }


def figures(original: Graph, synthetic: Graph) -> dict[str, float]:
    """Every figure's mean over the snapshots that have it; not a number where none has."""
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    for row in figures_by_step(original, synthetic):
        for name, value in row.items():
            found[name].append(value)
    return {name: float(np.mean(values)) if values else float("nan") for name, values in found.items()}

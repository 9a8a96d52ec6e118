"""The suite: what is said of one synthetic graph, and how it compares with its original.

:func:`public_statistics` sees the synthetic graph alone and may be published. :func:`compare` and
:func:`attacks` read the original: their results are for its curators only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.evaluation.attacks.degree_signature import degree_signature
from core.evaluation.utility import (
    assortativity,
    clustering,
    components,
    degrees,
    edges,
    eigenvector,
    modularity,
    relative,
)
from core.evaluation.view import UndirectedView
from core.graphs.graph import Cell, Graph
from core.graphs.schema import EdgeType, GraphSchema

Progress = Callable[[str, int, int], None]

# A year of daily snapshots in full; longer grids are read at this many evenly spaced steps.
MAX_STEPS_EVALUATED = 366

# Scalars of one cell, in report order.
SCALARS = (
    "edges",
    "density",
    "triangles",
    "transitivity",
    "mean_local_clustering",
    "assortativity",
    "modularity",
    "communities",
    "components",
    "largest_component",
    "largest_component_share",
)
# Distances between two cells, in report order.
DISTANCES = (
    "degree_total_variation",
    "degree_kolmogorov_smirnov",
    "degree_kl_divergence",
    "top_eigenvector_overlap",
)


def evaluated_steps(schema: GraphSchema, limit: int = MAX_STEPS_EVALUATED) -> tuple[int, ...]:
    """The steps that are read: all, or ``limit`` evenly spaced ones with both ends. A public rule."""
    if schema.steps <= limit:
        return tuple(range(schema.steps))
    return tuple(int(step) for step in np.unique(np.linspace(0, schema.steps - 1, limit).round()))


def cell_statistics(cell: Cell, view: UndirectedView | None = None) -> dict[str, float | None]:
    """Every scalar of one cell, keys :data:`SCALARS`; None where a metric is undefined."""
    view = view or UndirectedView.of(cell)
    values = edges.statistics(cell)
    for family in (clustering, assortativity, modularity, components):
        values |= family.statistics(view)
    return {name: values[name] for name in SCALARS}


def public_statistics(synthetic: Graph) -> dict[str, Any]:
    """Statistics of the synthetic graph alone, as JSON-able values; a function of nothing else.

    Per edge type: one row a step, the means over steps, and the degree distribution of every side. Time and
    memory are those of the largest cell: near-linear in m apart from triangles (m * arboricity).
    """
    return {
        "nodes": {name: table.count for name, table in synthetic.nodes.items()},
        "steps": synthetic.schema.steps if synthetic.schema.temporal else None,
        "steps_evaluated": len(evaluated_steps(synthetic.schema)),
        "edge_types": [_type_statistics(synthetic, edge_type) for edge_type in synthetic.schema.edge_types],
    }


def _steps(schema: GraphSchema, edge_type: EdgeType) -> tuple[int | None, ...]:
    return evaluated_steps(schema) if edge_type.temporal else (None,)


def _type_statistics(graph: Graph, edge_type: EdgeType) -> dict[str, Any]:
    rows = []
    counts: dict[str, list[np.ndarray]] = {}
    summaries: dict[str, list[dict]] = {}
    for step in _steps(graph.schema, edge_type):
        cell = graph.cell(edge_type.name, step)
        rows.append({"step": step, **cell_statistics(cell)})
        for side, vector in degrees.sides(cell).items():
            summaries.setdefault(side, []).append(degrees.summary(vector))
            counts.setdefault(side, []).append(np.bincount(vector))
    return {
        "name": edge_type.name,
        "source": edge_type.source,
        "target": edge_type.target,
        "directed": edge_type.directed,
        "copied": edge_type.public,
        "edges": graph.edges[edge_type.name].count,
        "rows": rows,
        "means": {name: relative.mean([row[name] for row in rows]) for name in SCALARS},
        "degrees": [
            {
                "side": side,
                **{name: relative.mean([s[name] for s in summaries[side]]) for name in summaries[side][0]},
                "bins": degrees.doubling_bins(_mean_counts(counts[side])),
            }
            for side in counts
        ],
    }


def _mean_counts(histograms: list[np.ndarray]) -> np.ndarray:
    total = np.zeros(max(len(h) for h in histograms))
    for histogram in histograms:
        total[: len(histogram)] += histogram
    return total / len(histograms)


def compare(original: Graph, synthetic: Graph, progress: Progress) -> dict[str, Any]:
    """Every metric of every protected relation, original against synthetic; curators only.

    Both graphs have one universe, nodes aligned by index. Per edge type: one row a step and the means over
    steps; ``overall`` is the mean over edge types. Relations that either graph lacks, and public ones (copied
    as they are), are left out. Progress counts cells under the stage ``compare``.
    """
    shared = [t for t in original.schema.edge_types if t.name in synthetic.edges and not t.public]
    plan = [(t, step) for t in shared for step in _steps(original.schema, t)]
    rows: dict[str, list[dict[str, Any]]] = {t.name: [] for t in shared}
    progress("compare", 0, len(plan))
    for done, (edge_type, step) in enumerate(plan, start=1):
        name = edge_type.name
        rows[name].append(compare_cells(original.cell(name, step), synthetic.cell(name, step)))
        progress("compare", done, len(plan))
    means = {name: _mean_row(found) for name, found in rows.items()}
    return {
        "steps_evaluated": len(evaluated_steps(original.schema)),
        "edge_types": [{"name": name, "rows": rows[name], "means": means[name]} for name in rows],
        "overall": _mean_row(list(means.values())) if means else None,
    }


def compare_cells(original: Cell, synthetic: Cell) -> dict[str, Any]:
    """One row: ``step``, ``scalars`` (values and errors per name) and ``distances``."""
    views = UndirectedView.of(original), UndirectedView.of(synthetic)
    ours, theirs = cell_statistics(original, views[0]), cell_statistics(synthetic, views[1])
    found = degrees.distances(original, synthetic) | eigenvector.overlap(*views)
    return {
        "step": original.step,
        "scalars": {name: relative.scalar(ours[name], theirs[name]) for name in SCALARS},
        "distances": {name: found[name] for name in DISTANCES},
    }


def _mean_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Field by field the mean of the defined values; a mean of errors, not the error of means."""
    fields = ("original", "synthetic", "absolute_error", "relative_error")
    return {
        "step": None,
        "scalars": {
            name: {field: relative.mean([row["scalars"][name][field] for row in rows]) for field in fields}
            for name in SCALARS
        },
        "distances": {name: relative.mean([row["distances"][name] for row in rows]) for name in DISTANCES},
    }


def attacks(original: Graph, synthetic: Graph) -> dict[str, Any]:
    """Results of every attack, by name; curators only. Nodes aligned by index."""
    steps: tuple[int | None, ...] = evaluated_steps(original.schema) if original.schema.temporal else (None,)
    return {"degree_signature": degree_signature(original, synthetic, steps)}

"""The suite: description of a release, and comparison.

It has what is said of one synthetic graph, and how it compares with its original. :func:`public_statistics`
sees only the synthetic graph and may be published. :func:`compare` reads the original: its result is for the
original's curators only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from core.evaluation import catalogue
from core.evaluation.anchors import anchors
from core.evaluation.compare import compared, scalars_of
from core.evaluation.drawing import draw
from core.evaluation.metric import Suite, of_suite
from core.evaluation.node_values import compare_node_values
from core.evaluation.node_values import described as described_of_nodes
from core.evaluation.node_vectors import compare_vectors
from core.evaluation.node_vectors import described as described_of_vectors
from core.evaluation.steps import evaluated_steps, mean_row, steps_of
from core.evaluation.utility import degrees, edges, inequality, relative
from core.evaluation.values import compare_values, described
from core.evaluation.view import DegreesView, UndirectedView, names_of_sides
from core.evaluation.whole.compare import OVER_TIME, WHOLE, compare_whole
from core.evaluation.whole.definitions import LASTING
from core.evaluation.whole.over_time import described_over_time
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType, GraphSchema

Progress = Callable[[str, int, int], None]

# A paid-for release must not fail over its description: what is published of it is the cheapest suite.
PUBLISHED = Suite.QUICK


def public_statistics(synthetic: Graph) -> dict[str, Any]:
    """Describe the synthetic graph only, as JSON-able values.

    They are a function of nothing else. Per edge type: one row a step, the means over steps, and the degree
    distribution of every side. Time and memory are those of the largest cell: near-linear in m apart from
    triangles (m * arboricity).
    """
    scalars = of_suite(catalogue.SCALARS, PUBLISHED)
    lasting = described_over_time(synthetic, evaluated_steps(synthetic.schema, PUBLISHED))
    if lasting is not None:
        scalars += LASTING
    return {
        "nodes": {name: table.count for name, table in synthetic.nodes.items()},
        "steps": synthetic.schema.steps if synthetic.schema.temporal else None,
        "steps_evaluated": len(evaluated_steps(synthetic.schema, PUBLISHED)),
        "metrics": {metric.name: metric.to_json() for metric in scalars},
        "edge_types": [_type_statistics(synthetic, edge_type) for edge_type in synthetic.schema.edge_types],
        "over_steps": lasting,
        "drawing": draw(synthetic),
    }


def degree_statistics(
    schema: GraphSchema,
    nodes: Mapping[str, int],
    cells: Iterable[tuple[tuple[str, int | None], Sequence[np.ndarray]]],
) -> dict[str, Any]:
    """Describe a synthetic graph by its degrees only. ``cells``: those of every relation and step, (n,) each;
    of sources and targets where it is directed, or between two node types.

    As :func:`public_statistics` does, with the metrics that follow from degrees: all else needs the edges
    together. O(n) a cell, of which one is in memory.
    """
    families = (edges, inequality)
    by_relation = {each.name: _OfDegrees(names_of_sides(each)) for each in schema.edge_types}
    evaluated = {
        (each.name, step) for each in schema.edge_types for step in steps_of(schema, each, PUBLISHED)
    }
    counts = dict.fromkeys(by_relation, 0)
    for (name, step), found in cells:
        view = DegreesView.of(schema.edge_type(name), found)
        counts[name] += view.stored
        if (name, step) in evaluated:
            scalars = {
                metric.name: relative.plain(family.scalars(view, PUBLISHED)[metric.name])
                for family in families
                for metric in family.SCALARS
            }
            if view.mutual:  # how many arcs are answered is not known, so neither are neighbours
                scalars |= dict.fromkeys((metric.name for metric in inequality.SCALARS), None)
            by_relation[name].rows.append({"step": step, "scalars": scalars})
            by_relation[name].add(found)
    return {
        "nodes": dict(nodes),
        "steps": schema.steps if schema.temporal else None,
        "steps_evaluated": len(evaluated_steps(schema, PUBLISHED)),
        "metrics": {metric.name: metric.to_json() for family in families for metric in family.SCALARS},
        "edge_types": [
            {
                "name": each.name,
                "source": each.source,
                "target": each.target,
                "directed": each.directed,
                "copied": False,
                "edges": counts[each.name],
                **by_relation[each.name].described(),
            }
            for each in schema.edge_types
        ],
        "over_steps": None,
        "drawing": None,
    }


class _OfDegrees:
    """What the evaluated steps of a relation say: scalars, and of each side summaries and histograms."""

    def __init__(self, sides: Sequence[str]) -> None:
        self.rows: list[dict[str, Any]] = []
        self.sides: dict[str, tuple[list[dict[str, float | int]], list[np.ndarray]]] = {
            side: ([], []) for side in sides
        }

    def add(self, found: Sequence[np.ndarray]) -> None:
        """Add the degrees of one step."""
        for (summaries, histograms), own in zip(self.sides.values(), found, strict=True):
            summaries.append(degrees.summary(own))
            histograms.append(np.bincount(own))

    def described(self) -> dict[str, Any]:
        """Put them together, as :func:`_type_statistics` does."""
        return {
            "rows": self.rows,
            "means": relative.mean_by_name([row["scalars"] for row in self.rows]),
            "degrees": [
                {
                    "side": side,
                    **relative.mean_by_name(summaries),
                    "bins": degrees.doubling_bins(degrees.mean_counts(histograms)),
                }
                for side, (summaries, histograms) in self.sides.items()
            ],
        }


def _type_statistics(graph: Graph, edge_type: EdgeType) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    counts: dict[str, list[np.ndarray]] = {}
    summaries: dict[str, list[dict[str, float | int]]] = {}
    for step in steps_of(graph.schema, edge_type, PUBLISHED):
        view = UndirectedView.of(graph.cell(edge_type.name, step))
        values = scalars_of(view, PUBLISHED)
        rows.append({"step": step, "scalars": {name: relative.plain(values[name]) for name in values}})
        for side, vector in view.sides.items():
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
        "means": relative.mean_by_name([row["scalars"] for row in rows]),
        "degrees": [
            {
                "side": side,
                **relative.mean_by_name(summaries[side]),
                "bins": degrees.doubling_bins(degrees.mean_counts(counts[side])),
            }
            for side in counts
        ],
    }


def compare(
    original: Graph, synthetic: Graph, suite: Suite, progress: Progress, factor: float | None = None
) -> dict[str, Any]:
    """Compare every metric of every protected relation.

    It is original against synthetic; curators only. Both graphs have one universe, nodes aligned by index.
    Per edge type: one row a step and the means over steps, and what edges and nodes carry in both;
    ``overall`` is the mean over edge types. Relations that either graph lacks, and public ones (copied as
    they are), are left out. ``whole`` takes all relations of a step as one graph; ``anchors`` says how far a
    random graph and a resample of the original are from it. Progress counts cells under the stages
    ``compare`` and ``anchors``, and steps under ``whole``.

    ``factor``, where the synthetic graph has so many times the original's nodes: counts of the original are
    multiplied by it, and what needs the same nodes in both, ``whole`` and ``anchors`` among it, is left out.
    """
    shared = [t for t in original.schema.edge_types if t.name in synthetic.edges and not t.public]
    plan = [(t, step) for t in shared for step in steps_of(original.schema, t, suite)]
    rows: dict[str, list[dict[str, Any]]] = {t.name: [] for t in shared}
    histograms: dict[str, degrees.Histograms] = {t.name: degrees.Histograms() for t in shared}
    progress("compare", 0, len(plan))
    for done, (edge_type, step) in enumerate(plan, start=1):
        name = edge_type.name
        ours, theirs = (UndirectedView.of(graph.cell(name, step)) for graph in (original, synthetic))
        rows[name].append(compared(ours, theirs, suite, step, factor=factor))
        histograms[name].add(ours, theirs)
        progress("compare", done, len(plan))
    means = {name: mean_row(found) for name, found in rows.items()}
    aligned = factor is None
    whole = compare_whole(original, synthetic, suite, progress, rows) if aligned else None
    metrics = catalogue.described(suite)
    values = {t.name: compare_values(original, synthetic, t) for t in shared}
    # What no row has needs no explanation.
    if any(values.values()):
        metrics |= described()
    of_nodes = {t.name: compare_node_values(original, synthetic, t) for t in shared}
    if any(of_nodes.values()):
        metrics |= described_of_nodes()
    of_vectors = {t.name: compare_vectors(original, synthetic, t) for t in shared}
    if any(of_vectors.values()):
        metrics |= described_of_vectors()
    if whole is not None:
        followed = OVER_TIME if whole["over_steps"] is not None else ()
        metrics |= {metric.name: metric.to_json() for metric in (*of_suite(WHOLE, suite), *followed)}
    return {
        "suite": suite.value,
        "steps_evaluated": len(evaluated_steps(original.schema, suite)),
        "metrics": metrics,
        "edge_types": [
            {
                "name": name,
                "rows": rows[name],
                "means": means[name],
                "degrees": histograms[name].bins(1.0 if factor is None else factor),
                "values": values[name],
                "node_values": of_nodes[name] + of_vectors[name],
            }
            for name in rows
        ],
        "overall": mean_row(list(means.values())) if means else None,
        "whole": whole,
        "drawing": draw(original),
        "anchors": anchors(original, shared, suite, progress) if shared and aligned else None,
        "scaled": factor,
    }

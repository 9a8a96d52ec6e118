"""The whole graph, original against synthetic. All relations of a snapshot are one, and all steps are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.evaluation.compare import compared
from core.evaluation.metric import Suite, of_suite
from core.evaluation.steps import evaluated_steps, mean_row
from core.evaluation.utility import degrees, relative
from core.evaluation.whole import paper_paths
from core.evaluation.whole.definitions import OVER_TIME, STANDARD, WHOLE
from core.evaluation.whole.layers import Layer, Layout
from core.evaluation.whole.over_time import compared_over_time
from core.evaluation.whole.overlap import edge_overlap
from core.evaluation.whole.sequences import MetaPaths, Sequences
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType

__all__ = ["OVER_TIME", "STAGE", "WHOLE", "compare_whole"]

STAGE = "whole"
Progress = Callable[[str, int, int], None]
Rows = Sequence[dict[str, Any]]


def compare_whole(
    original: Graph,
    synthetic: Graph,
    suite: Suite,
    progress: Progress,
    rows: Mapping[str, Rows] | None = None,
) -> dict[str, Any] | None:
    """Compare both graphs seen whole.

    It is for the report's ``WholeComparison``; None where nothing is new. A step's whole graph holds its
    timed edges and all untimed ones, over all node types, public relations included; relations that either
    graph lacks are left out of both. None for one relation without time, and for a collection: its graphs are
    apart, and their means say all. ``rows`` are the rows already measured relation by relation: where the
    only relation *is* the whole graph they are taken over, and nothing is measured twice. Progress counts
    steps under the stage ``whole``.
    """
    relations = [t for t in original.schema.edge_types if t.name in synthetic.edges]
    single = len(relations) == 1 and not original.schema.temporal
    if not relations or single or original.schema.collection is not None:
        return None
    timed = any(edge_type.temporal for edge_type in relations)
    steps: tuple[int | None, ...] = evaluated_steps(original.schema, suite) if timed else (None,)
    layout = Layout.of(original)
    known = _known_rows(layout, relations, steps, rows or {})
    standard = suite.includes(STANDARD)
    sequences = Sequences(suite, *paper_paths.listed_paths(original, relations))
    paths = MetaPaths(layout.names)
    typed: dict[str, list[dict[str, float]]] = {name: [] for name, _ in layout.parts()}
    compared_rows: list[dict[str, Any]] = []
    progress(STAGE, 0, len(steps))
    for done, step in enumerate(steps, start=1):
        layers = [Layer.of(graph, relations, step) for graph in (original, synthetic)]
        row = known[done - 1] if known else compared(layers[0].view, layers[1].view, suite, step)
        compared_rows.append(row)
        ours = {name: value["original"] for name, value in row["scalars"].items()}
        theirs = {name: value["synthetic"] for name, value in row["scalars"].items()}
        sequences.add(layers[0], layers[1], ours, theirs)
        for name, part in layout.parts():
            shares = degrees.shares(*(layer.view.degrees[part] for layer in layers))
            typed[name].append(degrees.divergences(*shares, "degree"))
        if standard:
            paths.add(*layers)
        progress(STAGE, done, len(steps))
    figures = sequences.found()
    if standard:
        overlap = edge_overlap(original, synthetic, relations, steps)
        figures |= paths.distances() | {"edge_overlap": overlap}
    return {
        "rows": compared_rows,
        "means": mean_row(compared_rows),
        "sequences": {metric.name: figures[metric.name] for metric in of_suite(WHOLE, suite)},
        "node_types": [
            {"name": name, "distances": relative.mean_by_name(rows)} for name, rows in typed.items()
        ],
        "meta_paths": paths.listed() if standard else [],
        "over_steps": compared_over_time(original, synthetic, relations, [s for s in steps if s is not None]),
    }


def _known_rows(
    layout: Layout, relations: list[EdgeType], steps: tuple[int | None, ...], rows: Mapping[str, Rows]
) -> Rows | None:
    """Take over the only relation's rows, if it is the whole graph: undirected, in the only node type."""
    only = relations[0]
    if len(relations) > 1 or len(layout.names) > 1 or only.directed:
        return None
    known = rows.get(only.name, ())
    return known if [row["step"] for row in known] == list(steps) else None

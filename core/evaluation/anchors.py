"""The two ends that a comparison is read against.

A random graph at the one end, the original's own noise at the other. A distance from the original says little
by itself. Here the same distances are measured for two graphs that nobody published. ``uniform`` has the
original's number of edges in every relation and step, and nothing else of it; ``resampled`` is the original
with one edge in twenty resampled. A release is worth what it keeps of the way between the two. Functions of
the original: for curators only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from core.evaluation.attacks.negatives import distinct
from core.evaluation.compare import compared
from core.evaluation.metric import Suite
from core.evaluation.steps import mean_row, steps_of
from core.evaluation.utility import relative
from core.evaluation.view import UndirectedView
from core.evaluation.whole.definitions import STANDARD
from core.evaluation.whole.layers import Layer, Layout
from core.evaluation.whole.sequences import MetaPaths
from core.graphs.graph import Cell, EdgeTable, Graph
from core.graphs.schema import EdgeType
from core.privacy.entropy import Generator, public_generator

ANCHORED = frozenset(
    {
        "density", "degree_total_variation", "gini", "transitivity", "mean_local_clustering", "assortativity",
        "modularity", "partition_nmi_above_chance", "largest_component_share", "top_eigenvector_overlap",
        "distance_total_variation",
    }
)  # fmt: skip
"""The metrics that are anchored, besides the meta-path distances."""

STAGE = "anchors"
REDRAWN = 0.05
"""The share of edges that are drawn anew in a resample."""
FEW_EDGES, DRAWS = 10_000, 3
"""Draws of each kind up to so many edges, one draw above: there a single one hardly varies."""

Progress = Callable[[str, int, int], None]
Draw = Callable[[Cell, Generator], np.ndarray]


def anchors(
    original: Graph, relations: Sequence[EdgeType], suite: Suite, progress: Progress
) -> dict[str, Any]:
    """Measure uniform and resampled graphs, the row's anchors.

    Returned are ``draws``, and the row of ``uniform`` and ``resampled`` graphs: means over draws, relations,
    steps.

    ``relations`` are the protected ones that are compared. The draws are seeded: a comparison that is made
    again says the same. Costs about the named metrics on twice ``draws`` further graphs, all held at once.
    """
    edges = sum(original.edges[relation.name].count for relation in relations)
    draws = DRAWS if edges <= FEW_EDGES else 1
    kinds: Mapping[str, Draw] = {"uniform": uniform, "resampled": resampled}
    others = {
        kind: [redrawn(original, relations, draw, public_generator(seed)) for seed in range(draws)]
        for kind, draw in kinds.items()
    }
    rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
    plan = [(relation, steps_of(original.schema, relation, suite)) for relation in relations]
    total, done = sum(len(steps) for _, steps in plan), 0
    progress(STAGE, 0, total)
    for relation, steps in plan:
        by_graph: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for step in steps:
            ours = UndirectedView.of(original.cell(relation.name, step))
            for kind, graphs in others.items():
                for index, graph in enumerate(graphs):
                    theirs = UndirectedView.of(graph.cell(relation.name, step))
                    row = compared(ours, theirs, suite, step, only=ANCHORED)
                    by_graph.setdefault((kind, index), []).append(row)
            done += 1
            progress(STAGE, done, total)
        # Over steps first, then over relations: as the mean is made that they are held against.
        for key, of_steps in by_graph.items():
            rows.setdefault(key, []).append(mean_row(of_steps))
    means = {kind: mean_row([mean_row(rows[kind, index]) for index in range(draws)]) for kind in others}
    for kind, graphs in others.items():
        means[kind]["distances"] |= _meta_paths(original, graphs, suite)
    return {"draws": draws, **means}


def redrawn(original: Graph, relations: Sequence[EdgeType], draw: Draw, rng: Generator) -> Graph:
    """Resample the cells of ``relations``. All else is as in the original. O(m log m)."""
    tables = dict(original.edges)
    for relation in relations:
        cells = [original.cell(relation.name, step) for step in original.schema.steps_of(relation.name)]
        keys = [draw(cell, rng) for cell in cells]
        width = max(cells[0].target_count, 1)
        joined = np.concatenate(keys)
        step = (
            np.repeat([cell.step or 0 for cell in cells], [len(found) for found in keys])
            if relation.temporal
            else None
        )
        tables[relation.name] = EdgeTable(joined // width, joined % width, step)
    return Graph.build(original.schema, original.nodes, tables)


def uniform(cell: Cell, rng: Generator) -> np.ndarray:
    """Sample uniform keys, as many as the cell has edges. They are uniform among all that it could have."""

    def ends(count: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(0, cell.source_count, count), rng.integers(0, cell.target_count, count)

    return _filled(cell, np.empty(0, dtype=np.int64), ends)


def resampled(cell: Cell, rng: Generator, share: float = REDRAWN) -> np.ndarray:
    """Resample a share of the cell's edges, at least one.

    Their ends are sampled; returned are keys. An end is sampled as often as it has edges: what changes is
    chance, not the degrees that are expected.
    """
    if not cell.count:
        return np.empty(0, dtype=np.int64)
    keys = _keys(cell, cell.source.astype(np.int64), cell.target.astype(np.int64))
    lost = max(1, round(cell.count * share))
    kept = np.sort(rng.permutation(keys)[lost:])

    def ends(count: int) -> tuple[np.ndarray, np.ndarray]:
        # An end of a random edge is a node in proportion to its degree.
        first, second = rng.integers(0, cell.count, (2, count))
        source, target = cell.source[first].astype(np.int64), cell.target[second].astype(np.int64)
        if cell.edge_type.homogeneous and not cell.edge_type.directed:
            # Undirected pairs are stored low end first: which end is taken is drawn too.
            turned = rng.random((2, count)) < 0.5
            source = np.where(turned[0], cell.target[first], source)
            target = np.where(turned[1], cell.source[second], target)
        return source, target

    return _filled(cell, kept, ends)


def _filled(cell: Cell, kept: np.ndarray, ends: Callable[[int], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Add distinct further edges to ``kept`` up to the cell's number; fewer where a cell is all but full."""

    def draw(count: int) -> np.ndarray:
        source, target = ends(count)
        keys = _keys(cell, source, target)
        return keys[source != target] if cell.edge_type.homogeneous else keys

    return distinct(kept, cell.count, draw)


def _keys(cell: Cell, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Compute ``source * width + target`` of canonical edges."""
    width = max(cell.target_count, 1)
    if cell.edge_type.homogeneous and not cell.edge_type.directed:
        unordered: np.ndarray = np.minimum(source, target) * width + np.maximum(source, target)
        return unordered
    ordered: np.ndarray = source * width + target
    return ordered


def _meta_paths(original: Graph, graphs: Sequence[Graph], suite: Suite) -> dict[str, float | None]:
    """Average the meta-path distances of the graphs; empty where a comparison has none."""
    layout = Layout.of(original)
    relations = original.schema.edge_types
    if not suite.includes(STANDARD) or len(layout.names) < 2 or original.schema.collection is not None:
        return {}
    timed = next((relation for relation in relations if relation.temporal), relations[0])
    distances: list[dict[str, float | None]] = []
    for graph in graphs:
        paths = MetaPaths(layout.names)
        for step in steps_of(original.schema, timed, suite):
            paths.add(*(Layer.of(each, relations, step) for each in (original, graph)))
        distances.append(paths.distances())
    return relative.mean_by_name(distances)

"""Graphs in memory and in parts, and fits of persons in both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from core.graphs.graph import Graph
from core.graphs.stored.parted import PartedGraph, write_parted
from core.methods.base import PublicFacts, no_progress
from core.methods.projection import GENERATOR
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.session.counted import PrivateParts


def in_parts(graph: Graph, folder: Path, part_edges: int = 3) -> PartedGraph:
    """Write a graph in parts."""
    rows, first, edges = [], 0, 0
    for relation in graph.schema.edge_types:
        table = graph.edges[relation.name]
        none = np.zeros(table.count, dtype=np.int64)
        cell = none + first + (0 if table.step is None else table.step)
        carried = () if table.values is None else (none, *table.values.columns.values())
        rows.append((table.source, table.target, cell, *carried))
        first, edges = first + len(graph.schema.steps_of(relation.name)), edges + table.count
    return write_parted(graph.schema, graph.nodes, rows, edges, folder, part_edges)


def fit_in_parts(
    params: object, facts: PublicFacts, part_edges: int = 3
) -> Callable[[Graph, Path], PrivacyPlan]:
    """A fit over parts, as :func:`tests.support.neighbours.compared` wants it."""

    def fitted(graph: Graph, folder: Path) -> PrivacyPlan:
        plan = GENERATOR.plan(params, facts)
        parted = in_parts(graph, Path(mkdtemp(dir=folder.parent.parent)) / "g", part_edges)
        session = PrivateParts(parted, Meter(plan, MemoryRecorder()))
        assert GENERATOR.sharding is not None
        GENERATOR.sharding.fit_parts(session, plan, params, no_progress).save(folder)
        return plan

    return fitted


def random_events(nodes: int, steps: int, share: float, seed: int) -> np.ndarray:
    """Pairs in steps, (m, 3), sorted by step."""
    low, high = np.triu_indices(nodes, 1)
    there = np.random.default_rng(seed).random((steps, len(low))) < share
    step, pair = np.nonzero(there)
    return np.stack([low[pair], high[pair], step], axis=1)

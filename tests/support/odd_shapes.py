"""Typed graphs of odd shapes: universes of one node, relations without edges or with all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from core.graphs.graph import Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from tests.support.typed_neighbours import built, cells_of, slots_of

SHAPES = {
    "single nodes": ((1, 1), 1.0),
    "two nodes": ((2, 2), 0.5),
    "no edges": ((6, 7), 0.0),
    "all edges": ((6, 7), 1.0),
    "one large side": ((1, 150), 0.1),
    "the other large side": ((150, 2), 0.1),
}
"""Sizes of both universes, and the share of slots that have an edge."""


def schema_of(sizes: tuple[int, int], temporal: bool) -> GraphSchema:
    """Every sort of relation, with time and without."""
    ends = {"across": ("one", "other"), "along": ("one", "one"), "within": ("other", "other")}
    relations = [
        EdgeType(
            name=f"{name}{'-timed' if timed else ''}{'-fact' if fact else ''}",
            source=source,
            target=target,
            directed=name == "along",
            temporal=timed,
            once=timed and fact,
            functional=fact and name != "within",
        )
        for name, (source, target) in ends.items()
        for timed in ((False, True) if temporal else (False,))
        for fact in (False, True)
    ]
    kinds = NodeType(name="one", count=sizes[0]), NodeType(name="other", count=sizes[1])
    time = TimeGrid(count=2) if temporal else None
    return GraphSchema(node_types=kinds, edge_types=tuple(relations), time=time)


def graph_of(sizes: tuple[int, int], share: float, temporal: bool) -> Graph:
    """Each slot with probability ``share``, as far as the declared facts leave room."""
    schema, rng = schema_of(sizes, temporal), np.random.default_rng(4)
    cells: dict = {}
    for name, step in cells_of(schema):
        kind = schema.edge_type(name)
        taken = {pair for (other, _), pairs in cells.items() if other == name and kind.once for pair in pairs}
        kept = {pair for pair in slots_of(schema, name) if rng.random() < share and pair not in taken}
        if kind.functional:
            sources = {u for u, _ in kept} - {u for u, _ in taken}
            kept = {min(pair for pair in kept if pair[0] == u) for u in sources}
        cells[name, step] = frozenset(kept)
    return built(schema, cells)


def kept_release(
    generator: Any, params: Any, facts: PublicFacts, graph: Graph, folder: Path
) -> tuple[Any, Graph]:
    """The fitted model and a graph of it, within the epsilon that was asked for; the model can be kept."""
    plan = generator.plan(params, facts)
    meter = Meter(plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    spent = guarantee_of(plan, meter.transcript, facts.delta_atto).nano_epsilon
    assert spent is not None
    assert spent <= facts.nano_epsilon
    model.save(folder)
    again = generator.load(folder)
    one, other = (each.sample(public_generator(3), no_progress) for each in (model, again))
    assert one.equals(other)
    assert {name: table.count for name, table in one.nodes.items()} == {
        name: table.count for name, table in graph.nodes.items()
    }
    return model, one


def require_facts(graph: Graph) -> None:
    """The drawn graph keeps what its schema declares."""
    for kind in graph.schema.edge_types:
        table = graph.edges[kind.name]
        pairs = np.stack([table.source, table.target], axis=1)
        if kind.once:
            assert len(np.unique(pairs, axis=0)) == len(pairs)
        if kind.functional:
            alone = np.unique(pairs, axis=0)
            assert len(np.unique(alone[:, 0])) == len(alone)

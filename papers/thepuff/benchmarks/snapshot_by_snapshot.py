"""A method of static graphs without types on a typed graph over time, as THEPUFF's paper runs such systems.

A.5: systems without time run "in a snapshot-to-snapshot way", and for those without types "node type
information is ignored when running baselines". So every step is one undirected graph of all nodes, and so is
what has no time. A pair that comes out stands in the relation that its two types and its layer have; one
between types that no relation joins cannot stand in a typed graph, and is counted. Which way a pair between
equal types points is a coin's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit


@dataclass(frozen=True)
class Untyped:
    """All snapshots as one typed graph. ``pairs``: how many came out; ``lost``: those without a relation."""

    graph: Graph
    kind: str
    lost: int
    pairs: int
    fit_seconds: float
    sample_seconds: float


def untyped(method: str, parameters: dict[str, Any], graph: Graph, epsilon: float) -> Untyped:
    """Release every layer by itself, under unit edge, and put the types back."""
    generator, params = get(method), get(method).Params.varied(**parameters)
    parts: dict[str, list[tuple[np.ndarray, ...]]] = {}
    lost = pairs = 0
    kind, spent = "none", [0.0, 0.0]
    rng = noise_generator()
    for step, relations in layers(graph):
        flat = joined(graph, step, relations)
        begun = time.process_time()
        facts = PublicFacts(flat.schema, Unit.EDGE, None, round(epsilon * NANO), 0, ("edge",))
        plan = generator.plan(params, facts)
        model = generator.fit(PrivateGraph(flat, Meter(plan, MemoryRecorder())), plan, params, no_progress)
        fitted = time.process_time()
        cell = model.sample(rng, no_progress).cell("edge", None)
        spent = [spent[0] + fitted - begun, spent[1] + time.process_time() - fitted]
        kind = str(plan.kind)
        found, without = typed(graph, relations, np.asarray(cell.source), np.asarray(cell.target), rng)
        lost, pairs = lost + without, pairs + len(cell.source)
        for name, ends in found.items():
            when = () if step is None else (np.full(len(ends[0]), step, dtype=np.int32),)
            parts.setdefault(name, []).append((*ends, *when))
    tables = {
        name: EdgeTable(*(np.concatenate(column) for column in zip(*columns, strict=True)))
        for name, columns in parts.items()
    }
    return Untyped(Graph.build(graph.schema, graph.nodes, tables), kind, lost, pairs, *spent)


def layers(graph: Graph) -> Iterator[tuple[int | None, list[str]]]:
    """What has no time, where there is such, and every step: with the names of its relations."""
    still = [each.name for each in graph.schema.edge_types if not each.temporal]
    if still:
        yield None, still
    moving = [each.name for each in graph.schema.edge_types if each.temporal]
    yield from ((step, moving) for step in range(graph.schema.steps) if moving)


def joined(graph: Graph, step: int | None, relations: list[str]) -> Graph:
    """One layer as a simple graph of all nodes, type after type."""
    first, count = _places(graph)
    ends = []
    for name in relations:
        kind, cell = graph.schema.edge_type(name), graph.cell(name, step)
        ends.append(np.stack([cell.source + first[kind.source], cell.target + first[kind.target]]))
    pairs = np.sort(np.concatenate(ends, axis=1), axis=0)
    pairs = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1).astype(np.int32)
    schema = GraphSchema(node_types=(NodeType(count=count),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(count)}, {"edge": EdgeTable(pairs[0], pairs[1])})


def typed(
    graph: Graph, relations: list[str], low: np.ndarray, high: np.ndarray, rng: Any
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], int]:
    """Sort pairs of all nodes into relations by the types of their ends; and how many none takes.

    Of several ways that a pair can stand in, one is drawn.
    """
    first, _ = _places(graph)
    starts, types = np.array(list(first.values())), np.array(list(first))
    one, other = (types[np.searchsorted(starts, each, side="right") - 1] for each in (low, high))
    chance, ways = [], []
    for name in relations:
        kind = graph.schema.edge_type(name)
        for source, target, fits in (
            (low, high, (one == kind.source) & (other == kind.target)),
            (high, low, (other == kind.source) & (one == kind.target)),
        ):
            chance.append(np.where(fits, rng.random(len(low)), -1.0))
            ways.append((name, source - first[kind.source], target - first[kind.target]))
    drawn, taken = np.argmax(chance, axis=0), np.max(chance, axis=0) >= 0
    found: dict[str, list[np.ndarray]] = {name: [] for name in relations}
    for number, (name, source, target) in enumerate(ways):
        chosen = taken & (drawn == number)
        found[name].append(np.stack([source[chosen], target[chosen]]).astype(np.int32))
    ends = {name: tuple(np.concatenate(each, axis=1)) for name, each in found.items()}
    return ends, int((~taken).sum())


def _places(graph: Graph) -> tuple[dict[str, int], int]:
    """Where every type's nodes begin in the order of all, and how many there are."""
    sizes = {name: table.count for name, table in graph.nodes.items() if table.count}
    ends = np.cumsum(list(sizes.values())).tolist()
    return dict(zip(sizes, [0, *ends[:-1]], strict=True)), ends[-1]

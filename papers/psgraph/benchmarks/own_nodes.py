"""Each snapshot on its own nodes, as PSGraph's paper runs them: for comparison, and no release.

Here every step of a stream is of one public universe. The paper takes "overlapping nodes at two timestamps",
so that a step has the nodes that have an edge in it, and its density, threshold and means go by their number.
Which nodes those are is a fact about the edges that nobody pays for: no guarantee of a method holds over it,
and none is claimed.

A node that the step before lacked is in a community of newcomers, and its degrees are combined with nothing:
the paper does not say what becomes of it. The other systems know no past: each step is a release by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.stream_data import figures_by_step
from benchmarks.stream_data import release as release_stream
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO, pure_nano_epsilon
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.psgraph import EDGES
from papers.psgraph.budget import PSGraphParams, divide
from papers.psgraph.combined import Estimate, two_steps
from papers.psgraph.model import PSGraphModel
from papers.psgraph.step import Memory, fit_step

NOTICE = (
    "Every step has only the nodes that have an edge in it, as in the paper. Which these are is read from "
    "the graph and paid for by nobody: for comparison, without a guarantee over the node set."
)


@dataclass(frozen=True)
class Snapshot:
    """One step as a stream of a single step. ``nodes``: the numbers of its own in the stream, ascending."""

    step: int
    nodes: np.ndarray
    graph: Graph


def snapshots(stream: Graph) -> Iterator[Snapshot]:
    """Cut the stream into its steps; one without an edge is left out."""
    (kind,) = stream.schema.edge_types
    for step in range(stream.schema.steps):
        cell = stream.cell(kind.name, step)
        nodes, place = np.unique(np.stack([cell.source, cell.target]), return_inverse=True)
        if not len(nodes):
            continue
        source, target = place.reshape(2, -1).astype(np.int32)
        schema = GraphSchema(
            node_types=(NodeType(count=len(nodes)),),
            edge_types=(EdgeType(temporal=True),),
            time=TimeGrid(count=1),
        )
        edges = EdgeTable(source, target, np.zeros(len(source), dtype=np.int32))
        yield Snapshot(step, nodes, Graph.build(schema, {"node": NodeTable(len(nodes))}, {"edge": edges}))


def figures(
    method: str, stream: Graph, window: int, epsilon: float, parameters: dict[str, Any]
) -> tuple[list[dict[str, float]], float]:
    """The figures of every step on its own nodes, and the CPU seconds of all releases."""
    found: list[dict[str, float]] = []
    seconds, past = 0.0, None
    for each in snapshots(stream):
        if method == EDGES.name:
            started = time.process_time()
            params = PSGraphParams.varied(**parameters)
            synthetic, past = _step(each, window, epsilon, params, past)
            spent = time.process_time() - started
        else:
            synthetic, spent = release_stream(method, each.graph, 1, epsilon / window, parameters)
        seconds += spent
        found += figures_by_step(each.graph, synthetic)
    return found, seconds


@dataclass(frozen=True)
class Past:
    """What a step leaves to the next: its nodes, and its memory in their order."""

    nodes: np.ndarray
    memory: Memory


def _step(
    snapshot: Snapshot, window: int, epsilon: float, params: PSGraphParams, past: Past | None
) -> tuple[Graph, Past]:
    """One step of the paper's form; its degrees are combined where both steps have the node (Eq. 1)."""
    if params.way.combination != "two_steps":
        raise ValueError("own nodes are the paper's: preset=paper")
    graph, rng = snapshot.graph, noise_generator()
    facts = PublicFacts(
        graph.schema, Unit.W_EVENT, window, int(epsilon * NANO), 0, ("edge",), tick=snapshot.step
    )
    plan = EDGES.plan(params, facts)
    (allotment,) = plan.allotments
    budget = divide(params, pure_nano_epsilon(allotment.event) or 0)
    count = len(snapshot.nodes)
    before, known = _moved(past, snapshot.nodes)
    cell = PrivateGraph(graph, Meter(plan, MemoryRecorder())).cell("edge", allotment.step)
    alone = params.model_copy(update={"combine": False})
    model, memory = fit_step(cell, count, budget, alone, before, rng)
    kept = before is not None and model.labels is before.labels
    if kept and params.combine:
        inside = _joined(memory.inside, before.inside, known)
        outside = _joined(memory.outside, before.outside, known)
        memory = replace(memory, inside=inside, outside=outside)
        parts = (each.values.astype(np.float32) for each in (inside, outside))
        model = replace(model, **dict(zip(("d_in", "d_out"), parts, strict=True)))
    whole = PSGraphModel(graph.schema, {"node": count}, params, {("edge", 0): model})
    return whole.sample(rng, no_progress), Past(snapshot.nodes, memory)


def _moved(past: Past | None, nodes: np.ndarray) -> tuple[Memory | None, np.ndarray]:
    """The memory in the order of ``nodes``, and which of them it has; newcomers have a label of their own."""
    if past is None:
        return None, np.zeros(len(nodes), dtype=bool)
    place = np.minimum(np.searchsorted(past.nodes, nodes), len(past.nodes) - 1)
    known = past.nodes[place] == nodes
    memory = past.memory
    labels = np.where(known, memory.labels[place], memory.labels.max() + 1)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    parts = {
        name: replace(part, values=np.where(known, part.values[place], 0.0))
        for name, part in (("inside", memory.inside), ("outside", memory.outside))
    }
    return replace(memory, labels=labels, **parts), known


def _joined(now: Estimate, before: Estimate, known: np.ndarray) -> Estimate:
    """Eq. 1 for the nodes of both steps."""
    both = two_steps(now, before)
    return replace(both, values=np.where(known, both.values, now.values))

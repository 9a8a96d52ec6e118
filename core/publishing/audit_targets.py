"""How each audited method runs once. It runs on a canary graph; said is which numbers of its output are
looked at.

A basic mechanism runs through the metered session, as it does inside a generator. A generator is fitted; what
is looked at is its metered output where that is known, and a sampled graph otherwise: a function of the
output, so that it can only tell less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import InvalidInput
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.methods import registry
from core.methods.base import Method, no_progress
from core.privacy.accounting.audited import (
    EDGE,
    GROUP,
    KINDS,
    MECHANISMS,
    NODES,
    AuditSpec,
    canary_steps,
    replaced,
    training_of,
)
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.flips import Flips
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import noise_generator
from core.privacy.reads.people_things import Noisy, PeopleAndThings
from core.privacy.session.private_graph import PrivateCell, PrivateGraph
from core.privacy.units import Unit

BACKGROUND = ((2, 3), (2, 4), (3, 4), (4, 5))
"""Edges that both neighbours have, in every step; away from the canary."""

Once = Callable[[Graph, PrivacyPlan], np.ndarray]


@dataclass(frozen=True)
class AuditTarget:
    """How a method runs once in an audit. ``once(graph, plan)`` is one run under a fresh meter of ``plan``: a
    vector of finite numbers."""

    plan: PrivacyPlan
    control: PrivacyPlan
    graph: Graph
    neighbour: Graph
    once: Once


def target_of(spec: AuditSpec) -> AuditTarget:
    """Prepare what ``spec`` asks for, ready to run. Raises UnknownMethod, InvalidInput."""
    plan, control = PrivacyPlan.from_json(spec.plan), PrivacyPlan.from_json(spec.control)
    graph, neighbour = worlds(spec.graph_schema, plan.unit)
    if spec.method in MECHANISMS:
        params: Any = MECHANISMS[spec.method].Params.model_validate(spec.params)
        once = _RUNNERS[spec.method](params)
    else:
        generator = registry.get(spec.method)
        once = _generated(generator, generator.Params.model_validate(spec.params))
    return AuditTarget(plan, control, graph, neighbour, once)


def worlds(schema: GraphSchema, unit: Unit) -> tuple[Graph, Graph]:
    """Build the canary graph and its neighbour. The latter is without the canary, or with node 0's edges
    replaced."""
    if unit is Unit.NODE:
        one, two = ([(None, 0, other) for other in others] for others in replaced(schema))
        return _world(schema, one, 0), _world(schema, two, 1)
    # Nodes 0 and 1, or thing 0, have no edge of the background.
    canary = (0, 1) if schema.edge_type(EDGE).homogeneous else (0, 0)
    held = [(step, *canary) for step in canary_steps(unit, schema)]
    return _world(schema, held, 0), _world(schema, [], 0)


def _world(schema: GraphSchema, more: Sequence[tuple[int | None, int, int]], group: int) -> Graph:
    """Build the background with ``more`` canary edges, and node 0 of that group."""
    tables = {}
    for relation in schema.edge_types:
        rows = [(step, *pair) for step in schema.steps_of(relation.name) for pair in BACKGROUND]
        own = more if relation.name == EDGE else ()
        step, source, target = zip(*rows, *own, strict=True)
        # The canary carries what no other edge does.
        kinds = np.repeat([0, 1], [len(rows), len(own)])
        values = EdgeValues({each.name: kinds for each in relation.attributes})
        tables[relation.name] = EdgeTable(
            np.array(source),
            np.array(target),
            np.array(step) if relation.temporal else None,
            values if relation.attributes else None,
        )
    nodes = {}
    for kind in schema.node_types:
        names = [KINDS[place % 2 if place else group] for place in range(NODES)]
        columns = {each.name: pa.array(names) for each in kind.attributes}
        nodes[kind.name] = NodeTable(NODES, None, columns)
    return Graph.build(schema, nodes, tables)


def _each_cell(read: Callable[[PrivateCell, Allotment], tuple[list[float], float]]) -> Once:
    """Collect the numbers of every cell, one cell after another, and last the sum of each one's evidence of
    the canary.
    """

    def once(graph: Graph, plan: PrivacyPlan) -> np.ndarray:
        private = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
        found = [read(private.cell(a.edge_type, a.step), a) for a in plan.allotments]
        # The sum comes last: what single numbers hardly tell all of them together may.
        values = [value for part, _ in found for value in part]
        return np.array([*values, sum(evidence for _, evidence in found)], dtype=np.float64)

    return once


def _laplace(params: Any) -> Once:
    """Clip the evidence: beyond the two true values Laplace noise tells no more than at them."""

    def read(cell: PrivateCell, allotment: Allotment) -> tuple[list[float], float]:
        nano = pure_nano_epsilon(allotment.event) or 0
        seen = _seen(cell.laplace(params.query, nano_epsilon=nano, purpose="audit"), params.query)
        return seen, sum(min(max(value, 0.0), 1.0) for value in seen)

    return _each_cell(read)


def _gaussian(params: Any) -> Once:
    def read(cell: PrivateCell, allotment: Allotment) -> tuple[list[float], float]:
        sigma: Any = allotment.event
        values = cell.gaussian(params.query, noise_multiplier=sigma.noise_multiplier, purpose="audit")
        seen = _seen(values, params.query)
        return seen, sum(seen)

    return _each_cell(read)


def _seen(values: np.ndarray, query: str) -> list[float]:
    """Pick the numbers that the canary moves from 0 to 1: the edge count above the background's, or its
    degrees.
    """
    if query == "edge_count":
        return [float(values[0]) - len(BACKGROUND)]
    return [float(value) for value in values[:2]]


def _response(params: Any) -> Once:
    def read(cell: PrivateCell, allotment: Allotment) -> tuple[list[float], float]:
        nano = pure_nano_epsilon(allotment.event) or 0
        flips = None
        if params.form == "balanced":
            # About the number of edges that both neighbours have, as if it had been paid for.
            flips = Flips.balanced(nano, len(BACKGROUND), cell.shape.slots)
        source, target = cell.randomised_response(nano_epsilon=nano, purpose="audit", flips=flips)
        canary = float(((source == 0) & (target == 1)).any())
        return [canary, float(len(source))], canary

    return _each_cell(read)


def _training(params: Any) -> Once:
    """Train on a canary edge of unit gradient, and none of the others; project every iterate on it.

    Besides the projections: their likelihood ratio under the planned noise and under half of it.
    """

    def once(graph: Graph, plan: PrivacyPlan) -> np.ndarray:
        training = training_of(plan.allotments[0].event)
        moves = canary_path(graph, plan)
        return _evidence(moves, float(training.rate), float(training.noise_multiplier))

    return once


def canary_path(graph: Graph, plan: PrivacyPlan) -> np.ndarray:
    """Compute the training's steps along the canary's gradient. It is how far each step moves along it;
    float64 (steps,)."""
    import torch

    from core.learning.devices import device

    module = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64, device=device())
    # The weight begins at 0, so that it is the sum of what the steps have moved.
    with torch.no_grad():
        module.weight.zero_()
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder())).dp_sgd(
        training_of(plan.allotments[0].event),
        cells=[(a.edge_type, a.step) for a in plan.allotments],
        module=module,
        optimiser=torch.optim.SGD(module.parameters(), lr=1.0),
        clip=1.0,
        # By 1: each step moves by the noisy sum itself.
        divisor=1.0,
        purpose="audit",
    )
    path = [0.0]
    while session.remaining:
        session.step(_rise, _canary_gradients)
        path.append(float(module.weight[0, 0].detach()))
    return np.diff(path)


def _rise(call: Callable[[Any], Any], direction: Any) -> Any:
    return -call(direction).sum()


def _canary_gradients(edges: Any) -> tuple[Any]:
    import torch

    directions = np.zeros((len(edges), 2))
    # Unit gradients along the first coordinate for the canary, and none for all others.
    directions[(edges.source == 0) & (edges.target == 1), 0] = 1.0
    return (torch.from_numpy(directions),)


def _evidence(moves: np.ndarray, rate: float, sigma: float) -> np.ndarray:
    ratios = [
        # The log likelihood ratio of a sampled Gaussian: log(1 - rate + rate e^((2 x - 1) / (2 s^2))).
        np.log1p(rate * np.expm1(np.clip((2 * moves - 1) / (2 * s * s), -500, 500))).sum() if rate < 1
        else moves.sum()
        for s in (sigma, 2 * sigma, sigma / 2)
    ]  # fmt: skip
    return np.array([moves.sum(), moves.max(), *ratios])


def _generated(generator: Method, params: Any) -> Once:
    """Fit once, and read the metered output or a drawn graph."""
    read = _METERED.get(generator.name)

    def once(graph: Graph, plan: PrivacyPlan) -> np.ndarray:
        if generator.name in _TOLD:
            return noisy_answers(generator, params, graph, plan)
        private = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
        look = read or (_drawn_persons if plan.unit is Unit.NODE else _drawn)
        return look(generator.fit(private, plan, params, no_progress))

    return once


class _Listening(PrivateGraph):
    """A session that keeps what the reads of persons and things answered."""

    def people_and_things(self) -> PeopleAndThings:
        self.heard: list[np.ndarray] = []
        return _Heard(self._graph, self._meter, self.heard)


class _Heard(PeopleAndThings):
    def __init__(self, graph: Graph, meter: Meter, heard: list[np.ndarray]) -> None:
        super().__init__(graph, meter)
        self._heard = heard

    def _noisy(self, *asked: Any) -> tuple[Noisy, int]:
        found = super()._noisy(*asked)
        # In deviations of their noise: answers of all reads are then on one scale.
        self._heard.append(found[0].values / found[0].deviation)
        return found


def noisy_answers(generator: Method, params: Any, graph: Graph, plan: PrivacyPlan) -> np.ndarray:
    """Fit once, and return all noisy answers. They are those that the fit was given, in deviations of their
    noise."""
    session = _Listening(graph, Meter(plan, MemoryRecorder()))
    generator.fit(session, plan, params, no_progress)
    return np.concatenate(session.heard)


def _drawn_persons(model: Any) -> np.ndarray:
    """Count a drawn graph's edges and degrees. Those of the protected side, whose nodes may be drawn without
    their names, are sorted; of a relation between two types, the other side's are kept by node.
    """
    graph = model.sample(noise_generator(), no_progress)
    table, relation = graph.edges[EDGE], graph.schema.edge_type(EDGE)
    source, target = (np.bincount(side, minlength=NODES) for side in (table.source, table.target))
    # Sorted where nodes come without their names: which place the canary's end has is chance.
    degrees = np.sort(source + target) if relation.homogeneous else np.append(np.sort(source), target)
    return np.array([len(table.source), *degrees, *_carried(graph)], dtype=np.float64)


def _drawn(model: Any) -> np.ndarray:
    """Count, step by step of a drawn graph, its edges, the canary, and the degrees of the canary's ends."""
    graph = model.sample(noise_generator(), no_progress)
    values: list[float] = []
    for cell in graph.cells():
        if cell.edge_type.name != EDGE:
            continue
        other = 1 if cell.edge_type.homogeneous else 0
        canary = (cell.source == 0) & (cell.target == other)
        ends = ((cell.source == 0).sum(), (cell.target == other).sum())
        values += [float(cell.count), float(canary.any()), *map(float, ends)]
    return np.array([*values, *_carried(graph)])


def _carried(graph: Graph) -> list[float]:
    """Count the edges of each value, those of each pair of groups, and the nodes of each group."""
    table, relation = graph.edges[EDGE], graph.schema.edge_type(EDGE)
    found: list[np.ndarray] = []
    if table.values is not None:
        found += [np.bincount(codes, minlength=len(KINDS)) for codes in table.values.columns.values()]
    groups = [_groups(graph, end) for end in (relation.source, relation.target)]
    if all(len(each) for each in groups):
        pairs = [groups[0][table.source], groups[1][table.target]]
        mixed = np.sort(pairs, axis=0) if relation.homogeneous else np.array(pairs)
        found.append(np.bincount(mixed[0] * len(KINDS) + mixed[1], minlength=len(KINDS) ** 2))
        found.append(np.bincount(groups[0], minlength=len(KINDS)))
    return np.concatenate(found).astype(np.float64).tolist() if found else []


def _groups(graph: Graph, kind: str) -> np.ndarray:
    """Return the group of every node, as a place in KINDS; nothing where nodes carry none."""
    column = graph.nodes[kind].attributes.get(GROUP)
    return np.array([] if column is None else [KINDS.index(str(each)) for each in column], np.int64)


def _psgraph(model: Any) -> np.ndarray:
    """Read the noisy count above the background's and the noisy degrees of the canary's ends, step by step.

    Clipped to 0..1, between which the canary moves them: what lies further out tells no more about it.
    """
    cells = [[m.edges - len(BACKGROUND), *(m.d_in + m.d_out)[:2]] for m in model.cells.values()]
    values = np.clip(np.rint(np.concatenate(cells)), 0, 1)
    return np.append(values, values.sum())


def _projection(model: Any) -> np.ndarray:
    """Read how many edges the fitted law has, how many nodes have any, and how many triangles were seen.

    With directions or time how many edges and mutual pairs there are, and the steps' shares. What a drawn
    graph hides by its own chance; without triangles, a number below all others stands for them.
    """
    (columns,) = model.cells.values()
    law, nobody = columns["mass"] @ columns["grid"], columns["mass"][columns["grid"] == 0].sum()
    if "total" in columns:
        return np.array([law, 1 - nobody, *columns["total"], *columns["mutual"], *columns["steps"]])
    seen = columns["triangles"]
    return np.array([law, 1 - nobody, *columns["inside"], *(seen if len(seen) else [0.0])])


_RUNNERS: Mapping[str, Callable[[Any], Once]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "randomised_response": _response,
    "dp_sgd": _training,
}
_METERED: Mapping[str, Callable[[Any], np.ndarray]] = {"projection": _projection, "psgraph": _psgraph}
"""Generators whose fitted model shows what was paid for; the others are audited by what they draw."""
_TOLD = frozenset({"profiles"})
"""Generators whose model hides what was paid for in ranks and smooth laws: what a fit was told is read."""

if set(_RUNNERS) != set(MECHANISMS):
    raise InvalidInput("every mechanism that can be asked for can be run", field="method")

"""Audits of whole generators: every number that the meter lets out, on two neighbouring graphs.

A fitted model, and each graph drawn from it, is a function of these numbers, of public facts and of
independent randomness, so it can only tell less. The graphs have two nodes, with or without their edge.
"""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit


def static_graph(nodes: int, pairs) -> Graph:
    """A static graph of one undirected relation over ``nodes`` nodes."""
    ends = np.asarray(list(pairs), dtype=np.int64).reshape(-1, 2)
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def fit_static(generator, params, graph: Graph, epsilon: float):
    """The fitted model under unit edge, and the meter that saw it."""
    facts = PublicFacts(graph.schema, Unit.EDGE, None, int(epsilon * 1e9), 0, ("edge",))
    plan = generator.plan(params, facts)
    meter = Meter(plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    assert guarantee_of(plan, meter.transcript, 0).epsilon <= epsilon
    return model, meter


def measured(
    generator,
    params,
    epsilon: float,
    runs: int,
    confidence: float,
    pair: tuple[Graph, Graph] | None = None,
) -> float:
    """A lower bound on the epsilon of everything that a fit is told.

    ``pair``: two neighbours of one relation ``edge`` other than two nodes with and without their edge.
    """
    told: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    true = mechanisms.discrete_laplace

    def listened(values, l1_sensitivity, nano_epsilon, **options):
        told.append(true(values, l1_sensitivity, nano_epsilon, **options))
        weights.append(np.full(len(values), nano_epsilon / l1_sensitivity))
        return told[-1]

    def run(graph: Graph) -> np.ndarray:
        told.clear()
        weights.clear()
        fit_static(generator, params, graph, epsilon)
        # An edge moves a number from 0 to 1; what lies beyond tells no more about it.
        bits = np.clip(np.concatenate(told), 0, 1)
        # Where it moves all of them, this sum is what tells most: each bit by its log ratio.
        return np.array([bits @ np.concatenate(weights) / 1e9, *bits])

    pair = pair or (static_graph(2, [(0, 1)]), static_graph(2, []))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "discrete_laplace", listened)
        return audit_epsilon(repeated(run), *pair, runs=runs, confidence=confidence).lower_bound

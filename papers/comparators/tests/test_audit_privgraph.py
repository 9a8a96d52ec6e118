"""PrivGraph end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

Audited output: the noisy degrees and counts that a fitted model holds. A drawn graph is a function of the
model and of independent randomness, so it can only tell less. The shares of the partition are set low,
because its noisy super-graph is used and dropped, and what is never put out cannot be audited here (its
mechanisms have audits of their own). A copy that adds half the noise, with the same plan and transcript, must
be caught.
"""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.comparators.privgraph import GENERATOR, PrivGraphParams
from tests.support.auditing import SOUND, caught

EPSILON = 2.0
PARAMS = PrivGraphParams(initialise_share=0.01, adjust_share=0.01, super_node_size=1)


def graph_of(edges: int) -> Graph:
    """Two nodes with or without their edge."""
    schema = GraphSchema(node_types=(NodeType(count=2),), edge_types=(EdgeType(),))
    table = EdgeTable(np.zeros(edges, dtype=np.int64), np.ones(edges, dtype=np.int64))
    return Graph.build(schema, {"node": NodeTable(2)}, {"edge": table})


def fitted(graph: Graph) -> np.ndarray:
    """The noisy degrees of one fitted model and its count between communities, clipped to 0..1."""
    plan = GENERATOR.plan(
        PARAMS, PublicFacts(graph.schema, Unit.EDGE, None, int(EPSILON * 1e9), 0, ("edge",))
    )
    meter = Meter(plan, MemoryRecorder())
    model = GENERATOR.fit(PrivateGraph(graph, meter), plan, PARAMS, no_progress)
    assert guarantee_of(plan, meter.transcript, 0).epsilon <= EPSILON
    cell = model.cells["edge", None]
    # An edge moves each of these numbers from 0 to 1; what lies beyond tells no more about it.
    return np.clip(np.rint([*cell["inside"], cell["edges"].sum()]), 0, 1)


def measured(runs: int, confidence: float = SOUND) -> float:
    neighbours = graph_of(1), graph_of(0)
    return audit_epsilon(repeated(fitted), *neighbours, runs=runs, confidence=confidence).lower_bound


def test_one_snapshot():
    assert measured(200) <= EPSILON


def test_one_snapshot_with_half_the_noise_is_caught(half_noise):
    """Its true epsilon is nearly 4."""
    assert caught(measured, EPSILON, 600)


@pytest.mark.slow
def test_many_runs():
    assert 0.5 < measured(6_000) <= EPSILON

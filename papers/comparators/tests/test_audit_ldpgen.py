"""LDPGen end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

Audited output: all reports, as the mechanism hands them out, in the least favourable case: one group, so that
no report is dropped. Both ends of an edge report it, and the unit edge pays for both; the audit would catch a
program that spends epsilon on each user's vector, which is the mistake that the local model invites. A copy
that adds half the noise, with the same plan and transcript, must be caught too.
"""

from functools import partial

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
from papers.comparators.ldpgen import GENERATOR, LDPGenParams, reports
from tests.support.auditing import SOUND, caught

EPSILON = 2.0
PARAMS = LDPGenParams.varied(initial_groups=1, groups=1)


def graph_of(edges: int) -> Graph:
    """Two nodes with or without their edge."""
    schema = GraphSchema(node_types=(NodeType(count=2),), edge_types=(EdgeType(),))
    table = EdgeTable(np.zeros(edges, dtype=np.int64), np.ones(edges, dtype=np.int64))
    return Graph.build(schema, {"node": NodeTable(2)}, {"edge": table})


@pytest.fixture
def fitted(monkeypatch):
    """All reports of one run: two nodes, two reports; clipped to 0..1 and counted."""
    seen = []
    true = reports.report

    def noted(*arguments):
        seen.append(true(*arguments))
        return seen[-1]

    monkeypatch.setattr(reports, "report", noted)

    def run(graph: Graph) -> np.ndarray:
        seen.clear()
        facts = PublicFacts(graph.schema, Unit.EDGE, None, int(EPSILON * 1e9), 0, ("edge",))
        plan = GENERATOR.plan(PARAMS, facts)
        meter = Meter(plan, MemoryRecorder())
        GENERATOR.fit(PrivateGraph(graph, meter), plan, PARAMS, no_progress)
        assert guarantee_of(plan, meter.transcript, 0).epsilon <= EPSILON
        # An edge moves each of these numbers from 0 to 1; what lies beyond tells no more about it.
        bits = np.clip(np.concatenate(seen).ravel(), 0, 1)
        assert len(bits) == 4
        return np.array([bits.sum(), *bits])

    return run


def measured(fitted, runs: int, confidence: float = SOUND) -> float:
    neighbours = graph_of(1), graph_of(0)
    return audit_epsilon(repeated(fitted), *neighbours, runs=runs, confidence=confidence).lower_bound


def test_one_snapshot(fitted):
    assert measured(fitted, 250) <= EPSILON


def test_noise_for_one_end_alone_is_caught(fitted, half_noise):
    """Half the scale is that of one user's vector alone. Its true epsilon is 4."""
    assert caught(partial(measured, fitted), EPSILON, 1_500)


@pytest.mark.slow
def test_many_runs(fitted):
    assert 0.5 < measured(fitted, 6_000) <= EPSILON

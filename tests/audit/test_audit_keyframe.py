"""keyframe over one window of two ticks on neighbouring streams: the measured epsilon stays under epsilon.

The neighbours differ in one edge at both ticks. Audited output: every noisy number that the stored state
gives away (edge counts, tail counters, the key frame's degrees, what stayed), worked out of the filters as an
attacker would. A drawn graph is a function of the state and of independent randomness, so it can only tell
less. The shape of the degree curve is held fixed: it is fitted to audited numbers, in nearly all of the time.
A copy that adds half the noise, with the same plan and transcript, must be caught.
"""

from collections.abc import Callable

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts
from core.methods.keyframe import GENERATOR, KeyframeParams
from core.methods.keyframe import tail as tail_curve
from core.methods.keyframe.budget import divide, granted_to
from core.methods.keyframe.counts import EdgeCount
from core.methods.keyframe.step import fit_step
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import bounding, caught, in_both_forms

EPSILON = 2.0
# The classes' counts of two nodes tell what the degrees tell: they are left almost nothing.
EVEN = KeyframeParams(count_share=0.4, tail_share=0.2, cells_share=0.01, kept_share=0.1, few_nodes=False)
COUNTS = KeyframeParams(count_share=0.9, tail_share=0.04, cells_share=0.01, kept_share=0, few_nodes=False)
MOSTLY_COUNTS = KeyframeParams(
    count_share=0.97, tail_share=0.005, cells_share=0.005, kept_share=0, few_nodes=False
)
KEPT = KeyframeParams(count_share=0.04, tail_share=0.04, cells_share=0.01, kept_share=0.85, few_nodes=False)
FEW = KeyframeParams(count_share=0.4, tail_share=0.2, cells_share=0.01, kept_share=0.1)  # no tail counters
EDGE_COUNTS = [0, 2]  # their places in the audited output
FRAME = KeyframeParams(count_share=0.04, tail_share=0.04, cells_share=0.01, few_nodes=False)


@pytest.fixture(autouse=True)
def one_curve(monkeypatch):
    monkeypatch.setattr(tail_curve, "_fitted", lambda *_: np.zeros(3))
    monkeypatch.setattr(mechanisms, "OPENDP_VALUES", -1)  # the compiled kernels: faster, audited elsewhere


@pytest.fixture
def half_noise(monkeypatch):
    """Every draw has half the scale that the transcript says."""
    true = mechanisms.discrete_laplace

    def broken(values, l1_sensitivity, nano_epsilon, **options):
        return true(values, l1_sensitivity, 2 * nano_epsilon, **options)

    monkeypatch.setattr(mechanisms, "discrete_laplace", broken)


def stream_of(edges: int) -> Graph:
    """Two nodes with or without their edge, at both ticks."""
    schema = GraphSchema(
        node_types=(NodeType(count=2),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=2)
    )
    rows = 2 * edges
    table = EdgeTable(np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64), np.arange(rows))
    return Graph.build(schema, {"node": NodeTable(2)}, {"edge": table})


def published(graph: Graph, params: KeyframeParams) -> np.ndarray:
    """True where a noisy number of the window is at least 1: what an edge moves from 0 to 1."""
    plan = GENERATOR.plan(
        params, PublicFacts(graph.schema, Unit.W_EVENT, 2, int(EPSILON * 1e9), 0, ("edge",))
    )
    meter = Meter(plan, MemoryRecorder())
    session, rng = PrivateGraph(graph, meter), noise_generator()
    budgets = [divide(params, granted) for granted in granted_to(plan).values()]
    _, first = fit_step(session, ("edge", 0), budgets[0], None, 0, rng)
    _, second = fit_step(session, ("edge", 1), budgets[1], first, 1, rng)
    assert guarantee_of(plan, meter.transcript, 0).epsilon <= EPSILON
    half = np.array([0.5])
    scales = [1e9 / each.count for each in budgets]
    between = EdgeCount.start(0.5, scales[0], 1), first.count.step(0.5, scales[1], 1, 1)
    counts = [
        [nothing(one) < nothing(at)] for one, at in zip((first.count, second.count), between, strict=True)
    ]
    # With a slot alone there is at most an edge: the counters never grow.
    tails: list[np.ndarray] = [np.empty(0), np.empty(0)]
    if budgets[1].tail:
        grown = second.tail.level > first.tail.step(half, 2 * (2e9 / budgets[1].tail) ** 2, 1).level
        tails = [first.tail.level[0] >= 1, grown[0]]
    degrees = first.nodes.score * max(first.edges, 1.0) > 0.5
    # Of what stayed, its sign: the share's divisor is positive, whatever it is.
    stays = [(second.stays.edges.value or 0) > 0]
    told = [counts[0], tails[0], counts[1], tails[1], degrees, stays]
    return np.concatenate(told).astype(float)


def nothing(count: EdgeCount) -> float:
    """The chance of 0 edges under the slowest drift: it falls as the noisy number rises from 0 to 1."""
    return float(count.weight[0, 0])


def measured(params: KeyframeParams, part=slice(None)) -> Callable[..., float]:
    return bounding(lambda graph: published(graph, params)[part], stream_of(1), stream_of(0))


@pytest.mark.parametrize("params", [COUNTS, FRAME, KEPT, FEW], ids=["counts", "frame", "kept", "few"])
def test_one_window(params):
    assert measured(params)(150) <= EPSILON


@in_both_forms
def test_one_window_with_half_the_noise_is_caught(half_noise, part):
    """Its true epsilon is 4; nearly all of it is in the edge counts of the two ticks together."""
    assert caught(measured(MOSTLY_COUNTS, EDGE_COUNTS), EPSILON, 600, part)


@pytest.mark.slow
@pytest.mark.parametrize(
    "params", [COUNTS, FRAME, EVEN, KEPT, FEW], ids=["counts", "frame", "even", "kept", "few"]
)
def test_many_runs(params):
    assert 0.2 < measured(params)(4_000) <= EPSILON

"""PSGraph end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

Audited output: the noisy count and the noisy degrees that a fitted model holds. A drawn graph is a
function of the model and of independent randomness, so it can only tell less. The shares of the partition are
set low, because its noisy super-graph is used and dropped, and what is never put out cannot be audited here
(its mechanisms have audits of their own). A copy that adds half the noise, with the same plan and transcript,
must be caught.
"""

import dataclasses
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.psgraph import GENERATOR
from papers.psgraph.budget import PSGraphParams, divide
from papers.psgraph.step import fit_step
from tests.support.auditing import SOUND, caught

EPSILON = 2.0
PARAMS = PSGraphParams.varied(
    partition="super_graph",
    degrees="norm_sub",
    count_share=0.5,
    count_cap=1,
    initialise_share=0.01,
    adjust_share=0.01,
    super_node_size=1,
)


def graph_of(edges: int, steps: int | None = None) -> Graph:
    """Two nodes with or without their edge; in every step of a stream."""
    time = None if steps is None else TimeGrid(count=steps)
    edge = EdgeType(temporal=steps is not None)
    schema = GraphSchema(node_types=(NodeType(count=2),), edge_types=(edge,), time=time)
    rows = edges * (steps or 1)
    step = None if steps is None else np.arange(rows)
    table = EdgeTable(np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64), step)
    return Graph.build(schema, {"node": NodeTable(2)}, {"edge": table})


def fitted(graph: Graph) -> np.ndarray:
    """The noisy count and degrees of one fitted model, step by step, clipped to 0..1."""
    temporal = graph.schema.temporal
    unit, window = (Unit.W_EVENT, graph.schema.steps) if temporal else (Unit.EDGE, None)
    facts = PublicFacts(graph.schema, unit, window, int(EPSILON * 1e9), 0, ("edge",))
    plan = GENERATOR.plan(PARAMS, facts)
    meter = Meter(plan, MemoryRecorder())
    model = GENERATOR.fit(PrivateGraph(graph, meter), plan, PARAMS, no_progress)
    assert guarantee_of(plan, meter.transcript, 0).epsilon <= EPSILON
    cells = [[m.edges, *(m.d_in + m.d_out)] for m in model.cells.values()]
    # An edge moves each of these numbers from 0 to 1; what lies beyond tells no more about it.
    return np.clip(np.rint(np.concatenate(cells)), 0, 1)


def streamed(graph: Graph) -> np.ndarray:
    """What two ticks of a live stream keep, with default options: noisy counts, and degrees as carried on."""
    params = PSGraphParams.varied(count_share=0.5, count_cap=1)
    facts = PublicFacts(graph.schema, Unit.W_EVENT, 2, int(EPSILON * 1e9), 0, ("edge",))
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        state: Path | None = None
        for tick in range(2):
            plan = GENERATOR.plan(params, dataclasses.replace(facts, tick=tick))
            meter = Meter(plan, MemoryRecorder())
            _, carried = GENERATOR.step(PrivateGraph(graph, meter), plan, params, state, no_progress)
            assert guarantee_of(plan, meter.transcript, 0).epsilon <= EPSILON / 2
            state = Path(folder) / str(tick)
            carried.save(state)
            memory = carried.relations["edge"]
            # With all past steps combined, the second tick's own degrees are what is new in the mean.
            found += [memory.edges, *memory.inside.values]
    return np.clip(np.rint(found), 0, 1)


def measured(steps: int | None, runs: int, confidence: float = SOUND) -> float:
    neighbours = graph_of(1, steps), graph_of(0, steps)
    return audit_epsilon(repeated(fitted), *neighbours, runs=runs, confidence=confidence).lower_bound


def test_one_snapshot():
    assert measured(None, 600) <= EPSILON


def test_one_snapshot_with_half_the_noise_is_caught(half_noise):
    """Its true epsilon is 4."""
    assert caught(partial(measured, None), EPSILON, 1_200)


def measured_window(runs: int, confidence: float = SOUND) -> float:
    neighbours = graph_of(1, 1), graph_of(0, 1)
    return audit_epsilon(repeated(streamed), *neighbours, runs=runs, confidence=confidence).lower_bound


def test_a_window_of_a_live_stream():
    assert measured_window(200) <= EPSILON


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_window_of_a_live_stream_with_half_the_noise_is_caught(half_noise):
    """Its true epsilon is 4."""
    assert caught(measured_window, EPSILON, 3_000)


TAILED = PSGraphParams.varied(count_share=0.5, count_cap=1, partition="single", tail_share=0.5)


def pairs_and(edges: int) -> Graph:
    """Forty pairs of nodes, which make a step buy tail counts, and two nodes more, linked or not."""
    schema = GraphSchema(node_types=(NodeType(count=82),), edge_types=(EdgeType(),))
    ends = 2 * np.arange(40 + edges)
    return Graph.build(schema, {"node": NodeTable(82)}, {"edge": EdgeTable(ends, ends + 1)})


def tailed(graph: Graph) -> np.ndarray:
    """The noisy count, the noisy degrees of the two nodes and the first noisy tail count, clipped."""
    facts = PublicFacts(graph.schema, Unit.EDGE, None, int(EPSILON * 1e9), 0, ("edge",))
    plan = GENERATOR.plan(TAILED, facts)
    meter = Meter(plan, MemoryRecorder())
    cell = PrivateGraph(graph, meter).cell("edge", None)
    budget = divide(TAILED, int(EPSILON * 1e9))
    model, memory = fit_step(cell, 82, budget, TAILED, None, public_generator(1))
    assert guarantee_of(plan, meter.transcript, 0).epsilon <= EPSILON
    assert memory.tails is not None or model.edges < 30  # what the count may do once in ten thousand runs
    tails = 80 if memory.tails is None else memory.tails.values[0]
    # An edge moves these from 40 to 41, from 0 to 1 each, and from 80 to 82.
    return np.clip(np.rint([model.edges - 40, *memory.inside.values[80:], (tails - 80) / 2]), 0, 1)


def measured_tails(runs: int, confidence: float = SOUND) -> float:
    return audit_epsilon(
        repeated(tailed), pairs_and(1), pairs_and(0), runs=runs, confidence=confidence
    ).lower_bound


@pytest.mark.slow
def test_a_step_that_buys_tails():
    assert 0 < measured_tails(4_000) <= EPSILON


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_step_that_buys_tails_with_half_the_noise_is_caught(half_noise):
    """Its true epsilon is 4."""
    assert caught(measured_tails, EPSILON, 4_000)


@pytest.mark.slow
def test_many_runs():
    assert 0.5 < measured(None, 6_000) <= EPSILON


@pytest.mark.slow
def test_a_window_of_two_steps():
    """The neighbours differ in both steps; the second keeps or renews the partition by the noisy counts."""
    assert 0 < measured(2, 4_000) <= EPSILON

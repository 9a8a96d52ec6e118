"""keyframe with few nodes: what is planned, the law that key frames tell, and streams it is better on."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.methods.keyframe import GENERATOR, KeyframeParams, few
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO = 10**9
TAILS, COUNT = "keyframe counters", "keyframe edge count"


def planned(counts, window=5, epsilon=1.0, **params):
    kinds = tuple(NodeType(name=f"kind{at}", count=count) for at, count in enumerate(counts))
    relations = tuple(
        EdgeType(name=f"among_{each.name}", source=each.name, target=each.name, temporal=True)
        for each in kinds
    )
    schema = GraphSchema(node_types=kinds, edge_types=relations, time=TimeGrid(count=10))
    names = tuple(each.name for each in relations)
    facts = PublicFacts(schema, Unit.W_EVENT, window, int(epsilon * NANO), 0, names)
    return GENERATOR.plan(KeyframeParams(**params), facts)


# Five standard deviations of a tail counter at epsilon 1 and w = 5 are 282 nodes.
@pytest.mark.parametrize(("counts", "window", "epsilon", "params", "counted"), [
    ([280], 5, 1.0, {}, COUNT),
    ([285], 5, 1.0, {}, TAILS),
    ([565], 10, 1.0, {}, COUNT),
    ([280], 5, 1.1, {}, TAILS),
    ([280], 5, 1.0, {"few_nodes": False}, TAILS),
    ([280, 100], 5, 1.0, {}, COUNT),
    ([280, 300], 5, 1.0, {}, TAILS),
    ([280, None], 5, 1.0, {}, TAILS),
    ([1_999], 10, 0.01, {}, COUNT),
    ([2_001], 10, 0.01, {}, TAILS),
])  # fmt: skip
def test_public_facts_alone_say_whether_nodes_are_few(counts, window, epsilon, params, counted):
    plan = planned(counts, window, epsilon, **params)
    assert {each.purpose for each in plan.allotments} & {TAILS, COUNT} == {counted}
    assert 0.999 * epsilon * NANO < plan.cost().nano_epsilon <= int(epsilon * NANO)


@pytest.mark.parametrize("mean", [0.02, 0.5, 3.0, 40.0])
def test_a_law_is_one_and_has_its_mean(mean):
    found = few.laws(mean, 300)
    assert found.shape[0] == few.LAWS
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    means = found @ np.arange(found.shape[1])
    steady = few.SHAPES.repeat(len(few.NONE), axis=0).ravel() >= 2
    sparse = few.NONE.repeat(few.SHAPES.size, axis=1).ravel() > 0.5
    np.testing.assert_allclose(means[steady & ~sparse], mean, rtol=0.3 if mean < 1 else 0.15)


def test_frames_tell_who_is_absent_and_how_degrees_are_spread():
    """A third have no edge, the others' degrees are gamma of shape 4 and mean 18; noise of scale 4."""
    rng = np.random.default_rng(1)
    true = np.where(np.arange(240) < 80, 0, np.rint(rng.gamma(4, 4.5, 240)))
    evidence = np.zeros(few.LAWS)
    for _ in range(3):
        evidence = few.seen(evidence, true + rng.laplace(0, 4, 240), 4.0, float(true.mean()), 5)
    found = few.ranked(evidence, float(true.mean()), 240)
    assert np.count_nonzero(found == 0) == pytest.approx(80, abs=20)
    np.testing.assert_allclose(found[[10, 60, 100]], np.sort(true)[::-1][[10, 60, 100]], rtol=0.25)
    fuller = few.ranked(evidence, 2 * float(true.mean()), 240)
    assert fuller.mean() == pytest.approx(2 * true.mean(), rel=0.1)


def test_evidence_is_the_likelihood_of_what_was_measured():
    measured, scale, mean = np.array([-1.3, 0.2, 5.5, 11.0]), 3.0, 2.5
    laws = few.laws(mean, len(measured))
    noise = np.exp(-np.abs(measured[:, None] - np.arange(laws.shape[1])) / scale)
    expected = np.log(noise @ laws.T).sum(axis=0)
    before = np.linspace(-3, 0, few.LAWS)
    found = few.seen(before, measured, scale, mean, 2)
    np.testing.assert_allclose(found - found[0], (w := before * few.FORGETTING**2 + expected) - w[0])
    np.testing.assert_array_equal(few.seen(before, measured, scale, 0.0, 2), before)
    assert not few.ranked(before, 0.0, 7).any()


def contacts(nodes: int, steps: int) -> Graph:
    """A third of the nodes are absent; the others meet often, in pairs that are drawn anew at each step."""
    rng = np.random.default_rng(2)
    rows, columns = np.triu_indices(nodes, 1)
    weight = np.where(np.arange(nodes) % 3 == 0, 0.0, rng.gamma(4, 1.0, nodes))
    chance = weight[rows] * weight[columns]
    chance *= 6 * nodes / chance.sum()
    there = [np.flatnonzero(rng.random(len(rows)) < chance) for _ in range(steps)]
    at, step = np.concatenate(there), np.repeat(np.arange(steps), [len(each) for each in there])
    schema = GraphSchema(
        node_types=(NodeType(count=nodes),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=steps)
    )
    table = EdgeTable(rows[at], columns[at], step)
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": table})


def histograms(graph: Graph, nodes: int) -> np.ndarray:
    """How many nodes have each degree, by step."""
    found = []
    for step in range(graph.schema.steps):
        cell = graph.cell("edge", step)
        degrees = np.bincount(np.concatenate([cell.source, cell.target]), minlength=nodes)
        found.append(np.bincount(degrees, minlength=nodes))
    return np.array(found)


def test_degrees_of_few_nodes_come_closer():
    nodes = 240
    graph = contacts(nodes, 10)
    true, far = histograms(graph, nodes), {}
    for known in (True, False):
        params = KeyframeParams(few_nodes=known)
        facts = PublicFacts(graph.schema, Unit.W_EVENT, 5, NANO, 0, ("edge",))
        plan = GENERATOR.plan(params, facts)
        runs = []
        for run in range(3):
            private = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
            model = GENERATOR.fit(private, plan, params, no_progress)
            asked = {each.query for each in private._meter.measurements}
            assert ("tail_counts" in asked) != known
            drawn = histograms(model.sample(public_generator(run), no_progress), nodes)
            runs.append(np.abs(drawn - true).sum(axis=1).mean() / (2 * nodes))
        far[known] = np.mean(runs)
    assert far[True] < far[False]
    assert far[True] < 0.3

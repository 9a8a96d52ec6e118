"""The steps of a stream: when a partition is kept, what is combined, what the transcript shows."""

import dataclasses

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.psgraph import GENERATOR
from papers.psgraph.budget import PSGraphParams
from papers.psgraph.state import load_state
from tests.support.heeded import heeded

NODES = 60
NANO = 10**9


def stream(sizes: list[int], relations=("edge",)) -> Graph:
    """Snapshots of the first ``size`` node pairs, the same in every relation."""
    kinds = tuple(EdgeType(name=name, temporal=True) for name in relations)
    schema = GraphSchema(
        node_types=(NodeType(count=NODES),), edge_types=kinds, time=TimeGrid(count=len(sizes))
    )
    every = np.random.default_rng(2).permutation(np.stack(np.triu_indices(NODES, 1), axis=1))
    ends = np.concatenate([every[:size] for size in sizes])
    table = EdgeTable(ends[:, 0], ends[:, 1], np.repeat(np.arange(len(sizes)), sizes))
    return Graph.build(schema, {"node": NodeTable(NODES)}, dict.fromkeys(relations, table))


def fit(graph, unit=Unit.EVENT, window=None, epsilon=50, **params):
    names = tuple(relation.name for relation in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, unit, window, epsilon * NANO, 0, names)
    chosen, plan = heeded(GENERATOR, facts, **({"partition": "super_graph", "super_node_size": 5} | params))
    meter = Meter(plan, MemoryRecorder())
    model = GENERATOR.fit(PrivateGraph(graph, meter), plan, chosen, no_progress)
    return model, meter


def partitioned_steps(meter) -> list[int]:
    return [entry.step for entry in meter.transcript if entry.purpose == "partition: adjustment"]


# At epsilon 50 and a cap of 5 the noisy counts are off by a fraction of an edge: the branches are certain.
CERTAIN = {"count_cap": 5.0}


def test_a_stable_stream_keeps_its_partition():
    model, meter = fit(stream([400, 410, 420]), **CERTAIN)
    assert partitioned_steps(meter) == [0]
    labels = [cell.labels for cell in model.cells.values()]
    assert labels[0] is labels[1] is labels[2]


def test_slow_drift_is_measured_from_the_last_partition():
    """Steps of 40 edges stay below the 60 nodes; two of them together do not."""
    _, meter = fit(stream([400, 440, 480, 520, 560]), **CERTAIN)
    assert partitioned_steps(meter) == [0, 2, 4]


def test_slow_drift_goes_unnoticed_from_step_to_step():
    """The paper's rule: each step is compared with the one before."""
    sizes = [400, 440, 480, 520, 600]
    _, meter = fit(stream(sizes), trigger="previous_step", **CERTAIN)
    assert partitioned_steps(meter) == [0, 4]


def purposes(meter, step) -> set[str]:
    return {entry.purpose for entry in meter.transcript if entry.step == step}


def test_a_partition_is_bought_once_the_graph_is_dense_enough():
    """Single degrees at epsilon 1 have noise of about ten: mean degree 2 says nothing, 40 does.

    A count at .3 is off by a few edges, far from the 60 that would buy another partition.
    """
    _, meter = fit(stream([60, 60, 1_200, 1_200]), epsilon=1, partition="auto", count_cap=1.0)
    assert purposes(meter, 0) == purposes(meter, 1) == {"edge count", "degrees"}
    assert {"partition: order of the nodes", "partition: labels"} <= purposes(meter, 2)
    assert "degrees inside communities" in purposes(meter, 3)
    assert "partition: labels" not in purposes(meter, 3)


def test_one_community_is_never_made_anew():
    model, meter = fit(stream([100, 1_000]), partition="single", **CERTAIN)
    assert purposes(meter, 1) == {"edge count", "degrees", "degree tails"}
    assert not any(cell.labels.any() for cell in model.cells.values())


def test_past_degrees_are_rescaled_to_the_present_number_of_edges():
    """Huge past weight: the second step repeats the first one's degrees, times the growth."""
    model, _ = fit(
        stream([200, 600]),
        epsilon=900,
        partition="single",
        degrees="norm_sub",
        past_weight=1e6,
        count_cap=9,
    )
    first, second = (cell.d_in for cell in model.cells.values())
    alone, _ = fit(stream([200, 600]), epsilon=900, partition="single", degrees="norm_sub", combine=False)
    assert first.sum() == pytest.approx(400, abs=3)
    assert np.corrcoef(first, second)[0, 1] > np.corrcoef(first, alone.cells["edge", 1].d_in)[0, 1] + 0.05
    assert second.sum() == pytest.approx(1_200, rel=0.02)


def test_every_step_partitions_anew_when_told_so():
    _, meter = fit(stream([400, 400, 400]), reuse_partition=False, **CERTAIN)
    assert partitioned_steps(meter) == [0, 1, 2]


def test_relations_run_apart():
    model, meter = fit(stream([300, 300], relations=("calls", "mails")), **CERTAIN)
    assert partitioned_steps(meter) == [0, 0]
    assert model.cells["calls", 0].labels is not model.cells["mails", 0].labels
    sampled = model.sample(public_generator(1), no_progress)
    assert {name: table.count for name, table in sampled.edges.items()} == pytest.approx(
        {"calls": 600, "mails": 600}, abs=12
    )


def test_every_step_spends_its_share_exactly():
    """Both branches cost epsilon / w: what a step saves on its partition goes to the perturbation."""
    _, meter = fit(stream([400, 400, 900]), unit=Unit.W_EVENT, window=2, **CERTAIN)
    spent = dict.fromkeys(range(3), 0)
    for entry in meter.transcript:
        if entry.group is None:
            event = entry.event
            spent[entry.step] += getattr(event, "nano_epsilon", None) or event.branches[0].nano_epsilon
    assert partitioned_steps(meter) == [0, 2]
    assert spent == dict.fromkeys(range(3), 25 * NANO)


@pytest.mark.parametrize("combination", ["all_past", "two_steps"])
def test_combination_lowers_the_error_of_degrees(combination):
    """Constant stream, one community: later degrees are means of several noisy ones."""
    graph = stream([500] * 6)
    last = graph.cell("edge", 5)
    true = np.bincount(np.concatenate([last.source, last.target]), minlength=NODES)
    shared = {"partition": "single", "degrees": "norm_sub", "combination": combination}
    errors = {True: 0.0, False: 0.0}
    for combined in errors:
        for _ in range(10):
            cell = fit(graph, epsilon=1, combine=combined, **shared)[0].cells["edge", 5]
            errors[combined] += np.abs(cell.d_in + cell.d_out - true).mean()
    assert errors[True] < 0.9 * errors[False]


def test_tail_counts_are_combined_over_the_steps_and_carried_on(tmp_path):
    """What a state keeps of them comes back; two steps of the same graph tell with half the variance."""
    graph = stream([500] * 2)
    kinds = {"partition": "single", "count_cap": 5.0}
    _, meter = fit(graph, epsilon=50, **kinds)
    assert [entry.step for entry in meter.transcript if entry.purpose == "degree tails"] == [0, 1]
    facts = PublicFacts(stream([500]).schema, Unit.W_EVENT, 2, 100 * NANO, 0, ("edge",))
    state, variances = None, []
    for tick in range(2):
        chosen, plan = heeded(GENERATOR, dataclasses.replace(facts, tick=tick), **kinds)
        private = PrivateGraph(stream([500]), Meter(plan, MemoryRecorder()))
        _, carried = GENERATOR.step(private, plan, chosen, state, no_progress)
        state = tmp_path / str(tick)
        carried.save(state)
        tails, again = carried.relations["edge"].tails, load_state(state).relations["edge"].tails
        np.testing.assert_array_equal(again.values, tails.values)
        assert (again.variance, again.weight) == (tails.variance, tails.weight)
        assert abs(tails.values[0] - NODES) < 5  # every node has an edge
        variances.append(tails.variance)
    assert variances[1] == pytest.approx(variances[0] / 2, rel=0.05)


@pytest.mark.parametrize("totals", ["noisy_count", "as_published"])
def test_drawn_edges_meet_the_noisy_count(totals):
    model, _ = fit(stream([600, 200]), totals=totals, **CERTAIN)
    sampled = model.sample(public_generator(3), no_progress)
    for step, size in enumerate((600, 200)):
        assert sampled.cell("edge", step).count == pytest.approx(size, abs=8)


def test_without_noise_to_speak_of_communities_come_back():
    """Two planted halves at a very high epsilon: labels, block totals and degrees are recovered."""
    rng = np.random.default_rng(0)
    ends = np.stack(np.triu_indices(NODES, 1), axis=1)
    same = (ends[:, 0] < 30) == (ends[:, 1] < 30)
    ends = ends[rng.random(len(ends)) < np.where(same, 0.5, 0.02)]
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),))
    graph = Graph.build(schema, {"node": NodeTable(NODES)}, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})
    params = PSGraphParams.varied(
        partition="super_graph", degrees="norm_sub", super_node_size=1, initialise_share=0.4, adjust_share=0.3
    )
    plan = GENERATOR.plan(params, PublicFacts(schema, Unit.EDGE, None, 500 * NANO, 0, ("edge",)))
    model = GENERATOR.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    cell = model.cells["edge", None]
    labels = cell.labels
    assert len(set(zip(labels, np.arange(NODES) < 30, strict=True))) == len(set(labels)) == 2
    true = np.bincount(ends.ravel(), minlength=NODES)
    assert np.abs(cell.d_in + cell.d_out - true).mean() < 0.5
    assert cell.between.edges.sum() == pytest.approx((labels[ends[:, 0]] != labels[ends[:, 1]]).sum(), abs=2)

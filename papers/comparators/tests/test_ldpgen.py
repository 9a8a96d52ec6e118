"""LDPGen: what each report costs, what comes back without noise, and that rows are noised one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods._shared.degrees.counts import integers
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.comparators.ldpgen import GENERATOR, LDPGenParams
from papers.comparators.ldpgen.reports import group, totals

NANO = 10**9
NODES = 90


def static(ends: np.ndarray, nodes: int = NODES) -> Graph:
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def all_pairs(nodes: int) -> np.ndarray:
    return np.stack(np.triu_indices(nodes, 1), axis=1)


def planted() -> np.ndarray:
    """Three equal communities, dense inside."""
    ends = all_pairs(NODES)
    same = ends[:, 0] % 3 == ends[:, 1] % 3
    return ends[np.random.default_rng(8).random(len(ends)) < np.where(same, 0.6, 0.1)]


def fit(graph, epsilon=1_000, unit=Unit.EDGE, **params):
    chosen = LDPGenParams.varied(**params)
    plan = GENERATOR.plan(chosen, PublicFacts(graph.schema, unit, None, int(epsilon * NANO), 0, ("edge",)))
    meter = Meter(plan, MemoryRecorder())
    return GENERATOR.fit(PrivateGraph(graph, meter), plan, chosen, no_progress), meter


def ends_of(model, seed=1) -> np.ndarray:
    table = model.sample(public_generator(seed), no_progress).edges["edge"]
    return np.stack([table.source, table.target], axis=1)


def true_vectors(ends, labels, count) -> np.ndarray:
    found = np.zeros((len(labels), count))
    np.add.at(found, (ends[:, 0], labels[ends[:, 1]]), 1)
    np.add.at(found, (ends[:, 1], labels[ends[:, 0]]), 1)
    return found


@pytest.mark.parametrize("reports", [2, 3, 8])
def test_reports_share_epsilon_equally(reports):
    _, meter = fit(static(planted()), epsilon=1, reports=reports)
    spent = [entry.event.nano_epsilon for entry in meter.transcript]
    assert [entry.purpose for entry in meter.transcript] == [f"report {i + 1}" for i in range(reports)]
    assert sum(spent) == NANO
    assert max(spent) - min(spent) <= reports


def test_every_entry_has_noise_of_its_own():
    """Two ends, two reports: an edge moves two entries by 1, so each report's scale is 2 / epsilon_i."""
    from papers.comparators.ldpgen.reports import report

    nodes = 6_000
    graph = static(np.empty((0, 2), dtype=np.int64), nodes)
    plan = GENERATOR.plan(LDPGenParams(), PublicFacts(graph.schema, Unit.EDGE, None, NANO, 0, ("edge",)))
    cell = PrivateGraph(graph, Meter(plan, MemoryRecorder())).cell("edge", None)
    noise = report(cell, np.arange(nodes) % 3, NANO, "noise alone")
    assert noise.shape == (nodes, 3)
    # Standard errors are 0.0075 of the mean and 0.013 of a correlation.
    assert np.abs(noise).mean() == pytest.approx(2 / np.sinh(1 / 2) / 2, rel=0.1)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.1
    assert abs(np.corrcoef(noise[::2].ravel(), noise[1::2].ravel())[0, 1]) < 0.1


def test_without_noise_vectors_and_totals_come_back():
    ends = planted()
    model, _ = fit(static(ends), groups=3)
    columns = model.cells["edge", None]
    labels = columns["labels"]
    count = int(labels.max()) + 1
    truth = true_vectors(ends, labels, count)
    np.testing.assert_allclose(columns["weights"].reshape(NODES, count), truth, atol=0.1)
    a, b = np.sort(labels[ends], axis=1).T
    matrix = np.bincount(a * count + b, minlength=count**2).reshape(count, count)
    np.testing.assert_allclose(columns["edges"], matrix[np.triu_indices(count)], atol=0.1)


def test_later_reports_find_planted_communities():
    """Groups of groups: vectors towards groups that are not random tell communities apart."""
    ends = planted()
    model, _ = fit(static(ends), reports=6, initial_groups=9, groups=3)
    labels = model.cells["edge", None]["labels"]
    pairs = set(zip(labels, np.arange(NODES) % 3, strict=True))
    assert len(pairs) == len(set(labels)) == 3


def test_drawn_vectors_follow_the_reported_ones():
    ends = planted()
    model, _ = fit(static(ends), groups=3)
    columns = model.cells["edge", None]
    labels = columns["labels"]
    count = int(labels.max()) + 1
    runs = 60
    drawn = sum(true_vectors(ends_of(model, seed), labels, count) for seed in range(runs)) / runs
    truth = true_vectors(ends, labels, count)
    assert np.corrcoef(drawn.ravel(), truth.ravel())[0, 1] > 0.9
    for column in range(count):
        sums = [np.bincount(labels, weights=v[:, column], minlength=count) for v in (drawn, truth)]
        np.testing.assert_allclose(*sums, atol=2.5)


def test_totals_weigh_both_ends_by_precision():
    """Noise of unit variance per entry: the mean beats either group's own sum."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], [20, 380])
    found = []
    for _ in range(300):
        vectors = rng.normal(10, 1, size=(400, 2))
        vectors[labels == 0, 1] += 180  # 3 800 edges between the groups, seen from either side
        found.append(totals(vectors, labels)[1])
    assert np.mean(found) == pytest.approx(3_800, abs=3)
    assert np.std(found) < 1.25 * np.sqrt(20 * 380 / 400)


@pytest.mark.parametrize("nodes", [1, 2, 12])
@pytest.mark.parametrize("full", [False, True])
def test_empty_and_complete_graphs_come_back(nodes, full):
    ends = all_pairs(nodes) if full else np.empty((0, 2), dtype=np.int64)
    model, _ = fit(static(ends, nodes), groups=3)
    assert len(ends_of(model)) == len(ends)


def test_isolated_nodes_stay_isolated_without_noise():
    ends = all_pairs(20)
    model, _ = fit(static(ends))
    sampled = model.sample(public_generator(2), no_progress)
    assert sampled.nodes["node"].count == NODES
    assert set(np.unique(ends_of(model, 2))) == set(range(20))


def test_groups_are_bounded_by_what_differs():
    rng = public_generator(3)
    assert len(np.unique(group(np.zeros((50, 4), dtype=np.int64), 8, rng))) == 1
    points = np.repeat([[0, 0], [9, 9], [0, 99]], 10, axis=0)
    labels = group(points, 8, rng)
    assert sorted(np.bincount(labels)) == [10, 10, 10]
    assert len(set(zip(labels, np.repeat(np.arange(3), 10), strict=True))) == 3


def test_one_group_is_a_chung_lu_graph():
    """No grouping at all: ends follow the noisy degrees alone."""
    ends = planted()
    model, _ = fit(static(ends), initial_groups=1, groups=1)
    degree = np.bincount(ends.ravel(), minlength=NODES)
    drawn = sum(np.bincount(ends_of(model, seed).ravel(), minlength=NODES) for seed in range(40))
    assert drawn.sum() == 40 * degree.sum()
    assert stats.spearmanr(drawn, degree).statistic > 0.8


def test_a_pair_pays_in_every_step():
    schema = GraphSchema(
        node_types=(NodeType(count=NODES),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=4)
    )
    params = LDPGenParams()
    for unit, share in ((Unit.PAIR, NANO // 4), (Unit.EVENT, NANO)):
        plan = GENERATOR.plan(params, PublicFacts(schema, unit, None, NANO, 0, ("edge",)))
        assert [allotment.event.nano_epsilon for allotment in plan.allotments] == [share] * 4
        assert plan.cost().nano_epsilon == NANO


@pytest.mark.parametrize(
    "wrong", [{"reports": 1}, {"reports": 9}, {"groups": 0}, {"initial_groups": 257}, {"unknown": 1}]
)
def test_parameters_out_of_bounds_are_refused(wrong):
    with pytest.raises(ValidationError):
        LDPGenParams(**wrong)


def test_an_epsilon_too_small_to_divide_is_refused():
    schema = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(),))
    with pytest.raises(errors.NotAccepted, match="too small"):
        GENERATOR.plan(LDPGenParams(), PublicFacts(schema, Unit.EDGE, None, 999, 0, ("edge",)))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 50) | st.just(0.0), max_size=12), st.integers(0, 2**32))
def test_whole_totals_of_blocks(mass, seed):
    """A fractional sum whose last blocks are empty: no count is negative, and nothing comes from nothing."""
    mass = np.array(mass)
    found = integers(mass, np.random.default_rng(seed))
    assert (found >= 0).all()
    assert found.sum() == np.rint(np.cumsum(mass)[-1:]).sum()
    assert (found[mass == 0] == 0).all()

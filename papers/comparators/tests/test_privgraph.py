"""PrivGraph: its thirds, what comes back without noise, and where edges between communities end."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods._shared.frame.plan import divide
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.comparators.privgraph import GENERATOR, PrivGraphParams

NANO = 10**9
COMMUNITIES, SIZE = 5, 24
NODES = COMMUNITIES * SIZE


def static(ends: np.ndarray, nodes: int = NODES) -> Graph:
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def all_pairs(nodes: int) -> np.ndarray:
    return np.stack(np.triu_indices(nodes, 1), axis=1)


def planted(between: float = 0.05) -> np.ndarray:
    """Five equal communities: half of the pairs inside, few and evenly spread ones between."""
    ends = all_pairs(NODES)
    same = ends[:, 0] // SIZE == ends[:, 1] // SIZE
    return ends[np.random.default_rng(4).random(len(ends)) < np.where(same, 0.5, between)]


def fit(graph, epsilon=900, unit=Unit.EDGE, window=None, **params):
    chosen = PrivGraphParams.varied(**{"super_node_size": 1, **params})
    plan = GENERATOR.plan(chosen, PublicFacts(graph.schema, unit, window, int(epsilon * NANO), 0, ("edge",)))
    meter = Meter(plan, MemoryRecorder())
    return GENERATOR.fit(PrivateGraph(graph, meter), plan, chosen, no_progress), meter


def ends_of(model, seed=1) -> np.ndarray:
    table = model.sample(public_generator(seed), no_progress).edges["edge"]
    return np.stack([table.source, table.target], axis=1)


def outer_ends(ends: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return ends[labels[ends[:, 0]] != labels[ends[:, 1]]]


def fit_as_planted(ends: np.ndarray):
    """A fit without noise that found the planted communities: one of a thousand puts two of them together."""
    for _ in range(5):
        model, _ = fit(static(ends))
        labels = model.cells["edge", None]["labels"]
        if len(set(zip(labels, np.arange(NODES) // SIZE, strict=True))) == len(set(labels)) == COMMUNITIES:
            break
    return model


@pytest.fixture(scope="module")
def certain():
    """The planted graph at an epsilon where noise is nothing: communities come back as planted."""
    ends = planted()
    return ends, fit_as_planted(ends)


@pytest.mark.parametrize("total", [1_000, 12_345_677, NANO, 50 * NANO])
@pytest.mark.parametrize("shares", [{}, {"initialise_share": 0.01, "adjust_share": 0.98}])
def test_shares_add_up_to_the_total(total, shares):
    params = PrivGraphParams(**shares)
    parts = divide(total, params.initialise_share, params.adjust_share)
    assert sum(parts) == total
    assert min(parts) >= 1


def test_the_transcript_spends_thirds():
    _, meter = fit(static(planted()), epsilon=3)
    spent = {
        entry.purpose: getattr(entry.event, "nano_epsilon", None) or entry.event.branches[0].nano_epsilon
        for entry in meter.transcript
        if entry.group is None
    }
    assert len(spent) == 3
    assert sum(spent.values()) == 3 * NANO
    assert all(abs(nano - NANO) <= 3 for nano in spent.values())


def test_planted_communities_and_their_counts_come_back(certain):
    ends, model = certain
    cell = model.cells["edge", None]
    labels = cell["labels"]
    truth = np.arange(NODES) // SIZE
    assert len(set(zip(labels, truth, strict=True))) == len(set(labels)) == COMMUNITIES
    same = labels[ends[:, 0]] == labels[ends[:, 1]]
    np.testing.assert_allclose(cell["inside"], np.bincount(ends[same].ravel(), minlength=NODES), atol=0.1)
    assert cell["edges"].sum() == pytest.approx((~same).sum(), abs=0.1)
    assert cell["inside"].sum() / 2 == pytest.approx(same.sum(), abs=0.1)


def test_every_pair_of_communities_receives_its_own_edges(certain):
    ends, model = certain
    labels = model.cells["edge", None]["labels"]

    def matrix(some):
        a, b = np.sort(labels[some], axis=1).T
        return np.bincount(a * COMMUNITIES + b, minlength=COMMUNITIES**2)

    drawn = matrix(outer_ends(ends_of(model), labels))
    # Systematic rounding leaves a count within one of its expectation.
    np.testing.assert_allclose(drawn, matrix(outer_ends(ends, labels)), atol=1)


def test_no_community_attracts_the_edges_between(certain):
    """The published program ends every edge between communities in the last one."""
    _, model = certain
    labels = model.cells["edge", None]["labels"]
    outer = outer_ends(ends_of(model), labels)
    assert len(outer) > 200
    for community in range(COMMUNITIES):
        touched = (labels[outer] == community).any(axis=1).mean()
        assert touched == pytest.approx(2 / COMMUNITIES, abs=0.12)


def test_ends_between_communities_are_uniform():
    """A hub between communities is not kept: the paper reads no degree outside the community."""
    ends = planted(between=0.0)
    spokes = np.stack([np.zeros(60, dtype=np.int64), SIZE + np.arange(60)], axis=1)
    model, _ = fit(static(np.concatenate([ends, spokes])))
    labels = model.cells["edge", None]["labels"]
    hub_side = labels == labels[0]
    count = np.zeros(NODES)
    for seed in range(40):
        count += np.bincount(outer_ends(ends_of(model, seed), labels).ravel(), minlength=NODES)
    assert count[hub_side].sum() > 1_000
    assert stats.chisquare(count[hub_side]).pvalue > 1e-7


def test_degrees_inside_communities_are_followed(certain):
    ends, model = certain
    labels = model.cells["edge", None]["labels"]
    same = labels[ends[:, 0]] == labels[ends[:, 1]]
    true = np.bincount(ends[same].ravel(), minlength=NODES)
    runs = 60
    drawn = np.zeros(NODES)
    for seed in range(runs):
        sampled = ends_of(model, seed)
        drawn += np.bincount(sampled[labels[sampled[:, 0]] == labels[sampled[:, 1]]].ravel(), minlength=NODES)
    assert np.corrcoef(drawn, true)[0, 1] > 0.9
    assert drawn.sum() / runs == pytest.approx(true.sum(), abs=12)


@pytest.mark.parametrize("nodes", [1, 2, 30])
@pytest.mark.parametrize("full", [False, True])
def test_empty_and_complete_graphs_come_back(nodes, full):
    ends = all_pairs(nodes) if full else np.empty((0, 2), dtype=np.int64)
    model, _ = fit(static(ends, nodes), super_node_size=4)
    assert len(ends_of(model)) == len(ends)


def test_isolated_nodes_stay_possible():
    """The universe is declared: a node needs no edge to be there, before or after."""
    ends = all_pairs(NODES)[:30]
    model, _ = fit(static(ends))
    sampled = model.sample(public_generator(2), no_progress)
    assert sampled.nodes["node"].count == NODES
    assert len(np.unique(ends_of(model, 2))) < NODES


def test_snapshots_are_released_anew():
    """Nothing is carried over: every step partitions and spends its share of the window."""
    ends = planted()
    schema = GraphSchema(
        node_types=(NodeType(count=NODES),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=3)
    )
    table = EdgeTable(np.tile(ends[:, 0], 3), np.tile(ends[:, 1], 3), np.repeat(np.arange(3), len(ends)))
    graph = Graph.build(schema, {"node": NodeTable(NODES)}, {"edge": table})
    model, meter = fit(graph, epsilon=4, unit=Unit.W_EVENT, window=2)
    steps = [entry.step for entry in meter.transcript if entry.purpose == "partition: adjustment"]
    assert steps == [0, 1, 2]
    labels = [model.cells["edge", step]["labels"] for step in range(3)]
    assert any((labels[0] != other).any() for other in labels[1:])
    assert meter.plan.cost().per_step == (2 * NANO,) * 3


def test_super_nodes_stay_bounded():
    """The number of noisy cells is a public constant's, however many nodes there are."""
    model, _ = fit(static(planted()), epsilon=1, super_node_size=1, max_super_nodes=3)
    assert model.cells["edge", None]["labels"].max() < 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"initialise_share": 0.6, "adjust_share": 0.4},
        {"initialise_share": 0},
        {"adjust_share": float("nan")},
        {"super_node_size": 0},
        {"unknown": 1},
    ],
)
def test_parameters_out_of_bounds_are_refused(wrong):
    with pytest.raises(ValidationError):
        PrivGraphParams(**wrong)


def test_an_epsilon_too_small_to_divide_is_refused():
    schema = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(),))
    with pytest.raises(errors.NotAccepted, match="too small"):
        GENERATOR.plan(PrivGraphParams(), PublicFacts(schema, Unit.EDGE, None, 999, 0, ("edge",)))

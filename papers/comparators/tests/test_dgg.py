"""DGG: budget, targets that stay with their nodes, affinity blocks, and graphs at the limits."""

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods._shared.frame.plan import divide
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.entropy import public_generator
from core.privacy.units import Unit
from papers.comparators.dgg import GENERATOR, DGGParams
from papers.comparators.dgg.draw import affinity_blocks, draw
from tests.support.metered_outputs import fit_static, static_graph

HUGE = 900.0


def sampled(graph, params=None, epsilon=HUGE):
    model, _ = fit_static(GENERATOR, params or DGGParams(), graph, epsilon)
    table = model.sample(public_generator(3), no_progress).edges["edge"]
    return nx.Graph([*zip(table.source.tolist(), table.target.tolist(), strict=True)]), table


def degrees(table, nodes):
    return np.bincount(np.concatenate([table.source, table.target]), minlength=nodes)


def test_the_budget_is_spent_to_the_last_nano():
    graph = static_graph(20, [(0, 1), (1, 2)])
    _, meter = fit_static(GENERATOR, DGGParams(count_share=0.3), graph, 1.5)
    spent = {entry.purpose: pure_nano_epsilon(entry.event) for entry in meter.transcript}
    assert spent == {"edge count": 450_000_000, "degrees": 1_050_000_000}


@pytest.mark.parametrize("total", [1_000, 1_001, 10**9 + 7])
@pytest.mark.parametrize("shares", [(0.05,), (0.3, 0.3), (1e-9, 0.9)])
def test_shares_sum_to_the_whole(total, shares):
    parts = divide(total, *shares)
    assert sum(parts) == total
    assert min(parts) >= 1


def test_degrees_stay_with_their_own_nodes():
    """The published program sorts the targets and indexes them with the old node numbers."""
    graph = nx.barabasi_albert_graph(400, 4, seed=5)
    renamed = nx.relabel_nodes(graph, dict(enumerate(np.random.default_rng(1).permutation(400).tolist())))
    _, table = sampled(static_graph(400, renamed.edges()))
    wanted = np.array([renamed.degree(node) for node in range(400)])
    np.testing.assert_array_equal(degrees(table, 400), wanted)


def test_the_noise_of_degrees_is_that_of_sensitivity_two():
    """Mean absolute noise of a discrete Laplace of scale 2/epsilon; 1/epsilon was published."""
    from core.privacy.accounting.meter import MemoryRecorder, Meter
    from core.privacy.session.private_graph import PrivateGraph

    graph = static_graph(4_000, [])
    facts = PublicFacts(graph.schema, Unit.EDGE, None, 10**9, 0, ("edge",))
    meter = Meter(GENERATOR.plan(DGGParams(), facts), MemoryRecorder())
    noisy = (
        PrivateGraph(graph, meter)
        .cell("edge", None)
        .laplace("degrees", nano_epsilon=950_000_000, purpose="degrees")
    )
    scale = 2 / 0.95
    assert abs(np.abs(noisy).mean() / scale - 1) < 0.12


def test_affinity_blocks_hold_like_degrees():
    target = np.array([0, 1, 1, 2, 2, 2, 3, 5, 5, 9])
    order, starts = affinity_blocks(target, np.random.default_rng(2))
    assert sorted(order.tolist()) == [3, 4, 5, 6, 7, 8, 9]
    assert starts.tolist() == [0, 3]  # three nodes from degree 2 on, then four from degree 3 on
    assert (np.diff(target[order]) >= 0).all()


def test_clustering_follows_its_parameter():
    columns = {"degree": np.full(600, 8.0)}
    found = []
    for clustering in (0.0, 0.3, 0.9):
        keys = draw(columns, 600, DGGParams(clustering=clustering), public_generator(1))
        assert len(keys) == 2_400
        graph = nx.Graph([*zip(*(part.tolist() for part in np.divmod(keys, 600)), strict=True)])
        found.append(nx.average_clustering(graph))
    assert found[0] < 0.05 < found[1] < found[2]
    assert found[2] > 0.6


@pytest.mark.parametrize(
    "graph",
    [nx.empty_graph(1), nx.empty_graph(2), nx.empty_graph(30), nx.complete_graph(30), nx.path_graph(2)],
    ids=["one", "two", "empty", "complete", "pair"],
)
def test_graphs_at_the_limits_come_back(graph):
    count = graph.number_of_nodes()
    _, table = sampled(static_graph(count, graph.edges()), DGGParams(clustering=0.0))
    np.testing.assert_array_equal(degrees(table, count), [graph.degree(node) for node in range(count)])


def test_nodes_without_edges_stay_possible():
    """The universe is public: a node is there whether or not it has an edge."""
    _, table = sampled(static_graph(50, nx.complete_graph(10).edges()))
    assert (degrees(table, 50)[10:] == 0).all()


def test_cells_share_epsilon_by_unit():
    schema = GraphSchema(
        node_types=(NodeType(count=9),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=4)
    )
    for unit, window, each in ((Unit.EVENT, None, 12), (Unit.W_EVENT, 3, 4), (Unit.PAIR, None, 3)):
        facts = PublicFacts(schema, unit, window, 12 * 10**8, 0, ("edge",))
        plan = GENERATOR.plan(DGGParams(), facts)
        assert [pure_nano_epsilon(a.event) for a in plan.allotments] == [each * 10**8] * 4
        assert plan.cost().nano_epsilon == 12 * 10**8


@pytest.mark.parametrize("wrong", [{"count_share": 0}, {"count_share": 0.6}, {"clustering": 1.1}])
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        DGGParams.model_validate(wrong)

"""degree_triangle: budget, degrees and triangles that are met, shrinkage, and graphs at the limits."""

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods._shared.triangles.draw import draw, triangle_aim
from core.methods.base import PublicFacts, no_progress
from core.methods.degree_triangle import GENERATOR, DegreeTriangleParams
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.entropy import public_generator
from core.privacy.units import Unit
from tests.support.metered_outputs import fit_static, static_graph

HUGE = 900.0


def sampled(graph, params=None, epsilon=HUGE):
    model, _ = fit_static(GENERATOR, params or DegreeTriangleParams(), graph, epsilon)
    table = model.sample(public_generator(3), no_progress).edges["edge"]
    count = graph.nodes["node"].count
    drawn = nx.empty_graph(count)
    drawn.add_edges_from(zip(table.source.tolist(), table.target.tolist(), strict=True))
    return drawn


def total_triangles(graph):
    return sum(nx.triangles(graph).values()) // 3


def test_the_budget_is_spent_to_the_last_nano():
    graph = static_graph(20, [(0, 1), (1, 2), (0, 2)])
    params = DegreeTriangleParams(count_share=0.2, tail_share=0.1, triangle_share=0.3, product_share=0.1)
    _, meter = fit_static(GENERATOR, params, graph, 1.5)
    spent = {entry.purpose: pure_nano_epsilon(entry.event) for entry in meter.transcript}
    assert spent == {
        "edge count": 300_000_000,
        "degrees": 450_000_000,
        "degree tails": 150_000_000,
        "triangles": 450_000_000,
        "degree products over edges": 150_000_000,
    }


def test_what_has_no_share_is_not_read():
    graph = static_graph(20, [(0, 1), (1, 2)])
    params = DegreeTriangleParams(tail_share=0, triangle_share=0, product_share=0)
    _, meter = fit_static(GENERATOR, params, graph, 1.0)
    assert [entry.purpose for entry in meter.transcript] == ["edge count", "degrees"]
    assert sum(pure_nano_epsilon(entry.event) for entry in meter.transcript) == 10**9


def test_without_noise_degrees_triangles_and_assortativity_come_back():
    truth = nx.powerlaw_cluster_graph(500, 5, 0.7, seed=2)
    drawn = sampled(static_graph(500, truth.edges()))
    assert dict(drawn.degree()) == {v: truth.degree(v) for v in range(500)}
    assert abs(total_triangles(drawn) / total_triangles(truth) - 1) < 0.02
    free = sampled(static_graph(500, truth.edges()), DegreeTriangleParams(product_share=0))
    wanted = nx.degree_assortativity_coefficient(truth)
    assert abs(nx.degree_assortativity_coefficient(drawn) - wanted) < 0.03
    assert abs(nx.degree_assortativity_coefficient(drawn) - wanted) < abs(
        nx.degree_assortativity_coefficient(free) - wanted
    )


def test_tail_counts_mend_the_degrees_of_a_sparse_graph():
    """Most nodes have an edge or two: noise of their degrees alone is wider than the law."""
    wanted = np.concatenate([np.repeat([1, 2, 3, 8], [1_500, 700, 300, 150]), np.arange(20, 120, 4)])
    truth = nx.Graph(nx.configuration_model([*wanted.tolist(), int(wanted.sum()) % 2], seed=4))
    truth.remove_edges_from(list(nx.selfloop_edges(truth)))
    degrees = np.sort([degree for _, degree in truth.degree()])
    graph, off = static_graph(len(degrees), truth.edges()), {}
    for tail_share in (0.0, 0.15):
        params = DegreeTriangleParams(tail_share=tail_share, triangle_share=0, product_share=0)
        drawn = np.array([degree for _, degree in sampled(graph, params, epsilon=0.6).degree()])
        counts = [np.bincount(np.minimum(each, 30), minlength=31) for each in (drawn, degrees)]
        off[tail_share] = abs(counts[0] - counts[1]).sum() / 2 / len(degrees)
    assert off[0.15] < 0.12 < off[0.0]


def test_a_triangle_free_graph_stays_nearly_so():
    truth = nx.random_regular_graph(4, 300, seed=3)
    drawn = sampled(static_graph(300, truth.edges()))
    assert dict(drawn.degree()) == dict.fromkeys(range(300), 4)
    assert abs(total_triangles(drawn) - total_triangles(truth)) <= 2


def test_nothing_told_leaves_the_guess():
    degrees = np.full(10, 4.0)
    assert triangle_aim(None, 1, degrees, 0.25) == pytest.approx(0.25 * 60 / 3)
    assert triangle_aim(13, 900 * 10**9, degrees, 0.25) == pytest.approx(13, abs=0.01)
    assert triangle_aim(10**6, 1, degrees, 0.25) <= 20  # every path closed
    assert triangle_aim(-500, 10**9, degrees, 0.25) == 0
    told = triangle_aim(15, 10**9, degrees, 0.25)
    assert 5 < told < 15


def test_the_guess_sets_the_triangles():
    columns = {"degrees": np.full(400, 8.0), "covariance": np.empty(0)}
    paths = 400 * 28
    for transitivity in (0.05, 0.3):
        columns["triangles"] = np.array([transitivity * paths / 3])
        keys = draw(columns, 400, DegreeTriangleParams(), public_generator(1))
        graph = nx.Graph([*zip(*(part.tolist() for part in np.divmod(keys, 400)), strict=True)])
        assert len(keys) == 1_600
        assert nx.transitivity(graph) == pytest.approx(transitivity, abs=0.02)


@pytest.mark.parametrize(
    "graph",
    [nx.empty_graph(1), nx.empty_graph(2), nx.empty_graph(30), nx.complete_graph(30), nx.path_graph(2)],
    ids=["one", "two", "empty", "complete", "pair"],
)
def test_graphs_at_the_limits_come_back(graph):
    drawn = sampled(static_graph(graph.number_of_nodes(), graph.edges()))
    assert dict(drawn.degree()) == dict(graph.degree())


@pytest.mark.parametrize("epsilon", [0.0001, 0.05])
@pytest.mark.parametrize("graph", [nx.empty_graph(1), nx.empty_graph(9), nx.complete_graph(9)])
def test_much_noise_still_gives_a_simple_graph(graph, epsilon):
    drawn = sampled(static_graph(graph.number_of_nodes(), graph.edges()), epsilon=epsilon)
    assert nx.number_of_selfloops(drawn) == 0
    assert drawn.number_of_nodes() == graph.number_of_nodes()


def test_nodes_without_edges_stay_possible():
    drawn = sampled(static_graph(50, nx.complete_graph(10).edges()))
    assert all(drawn.degree(v) == 0 for v in range(10, 50))


def test_cells_share_epsilon_by_unit():
    schema = GraphSchema(
        node_types=(NodeType(count=9),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=4)
    )
    for unit, window, each in ((Unit.EVENT, None, 12), (Unit.W_EVENT, 3, 4), (Unit.PAIR, None, 3)):
        facts = PublicFacts(schema, unit, window, 12 * 10**8, 0, ("edge",))
        plan = GENERATOR.plan(DegreeTriangleParams(), facts)
        assert [pure_nano_epsilon(a.event) for a in plan.allotments] == [each * 10**8] * 4
        assert plan.cost().nano_epsilon == 12 * 10**8


@pytest.mark.parametrize(
    "wrong",
    [
        {"count_share": 0},
        {"count_share": 0.7, "triangle_share": 0.3},
        {"count_share": 0.2, "triangle_share": 0.3, "tail_share": 0.5},
        {"transitivity": 1.1},
        {"unknown": 1},
    ],
)
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        DegreeTriangleParams.model_validate(wrong)

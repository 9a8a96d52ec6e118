"""dK-1 and dK-2: budget, what stays hidden, and graphs that come back where there is next to no noise."""

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from core.methods.base import no_progress
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from papers.comparators.dp_dk import GENERATOR, DKParams
from papers.comparators.dp_dk.draw import _ascending, degree_class, thresholds
from tests.support.metered_outputs import fit_static, static_graph

HUGE = 900.0
PURPOSES = {
    1: {"edge count": 200_000_000, "sorted degrees": 1_800_000_000},
    2: {"edge count": 200_000_000, "edges between degree classes": 400_000_000, "degrees": 1_400_000_000},
}


def sampled(graph: nx.Graph, order: int) -> nx.Graph:
    count = graph.number_of_nodes()
    model, _ = fit_static(GENERATOR, DKParams(order=order), static_graph(count, graph.edges()), HUGE)
    table = model.sample(public_generator(3), no_progress).edges["edge"]
    drawn = nx.empty_graph(count)
    drawn.add_edges_from(zip(table.source.tolist(), table.target.tolist(), strict=True))
    assert drawn.number_of_edges() == len(table.source)
    return drawn


def degrees(graph: nx.Graph) -> np.ndarray:
    return np.array([graph.degree(node) for node in range(graph.number_of_nodes())])


@pytest.mark.parametrize("order", PURPOSES)
def test_the_budget_is_spent_to_the_last_nano(order):
    params = DKParams(order=order, count_share=0.1, **({"matrix_share": 0.2} if order == 2 else {}))
    _, meter = fit_static(GENERATOR, params, static_graph(20, [(0, 1), (1, 2)]), 2.0)
    assert {e.purpose: pure_nano_epsilon(e.event) for e in meter.transcript} == PURPOSES[order]


def test_order_one_keeps_the_degree_sequence():
    graph = nx.barabasi_albert_graph(500, 5, seed=5)
    drawn, true = (np.sort(degrees(g)) for g in (sampled(graph, 1), graph))
    assert drawn.sum() == true.sum()
    # Steps of the sequence are interpolated; nothing else moves.
    assert np.abs(drawn - true).mean() < 0.5
    assert np.abs(drawn - true).max() <= 2


def test_order_two_keeps_each_node_s_degree_and_the_class_totals():
    graph = nx.barabasi_albert_graph(500, 5, seed=5)
    drawn = sampled(graph, 2)
    np.testing.assert_array_equal(degrees(drawn), degrees(graph))
    labels = degree_class(degrees(graph), thresholds(500, DKParams().class_ratio))

    def totals(each: nx.Graph) -> np.ndarray:
        low, high = np.sort(labels[np.array(each.edges())], axis=1).T
        return np.bincount(low * 50 + high, minlength=2_500)

    np.testing.assert_array_equal(totals(drawn), totals(graph))
    assert nx.degree_assortativity_coefficient(drawn) == pytest.approx(
        nx.degree_assortativity_coefficient(graph), abs=0.03
    )


@pytest.mark.parametrize("order", PURPOSES)
def test_the_largest_degree_is_not_given_away(order, monkeypatch):
    """The published program returns one number for each degree up to the largest one of the data."""
    lengths = []
    true = mechanisms.discrete_laplace

    def listened(values, *rest, **options):
        lengths[-1].append(len(values))
        return true(values, *rest, **options)

    monkeypatch.setattr(mechanisms, "discrete_laplace", listened)
    for graph in (nx.empty_graph(40), nx.star_graph(39), nx.complete_graph(40)):
        lengths.append([])
        fit_static(GENERATOR, DKParams(order=order), static_graph(40, graph.edges()), 1.0)
    assert lengths[0] == lengths[1] == lengths[2]


@pytest.mark.parametrize("order", PURPOSES)
@pytest.mark.parametrize(
    "graph",
    [nx.empty_graph(1), nx.empty_graph(2), nx.empty_graph(30), nx.complete_graph(30), nx.path_graph(2)],
    ids=["one", "two", "empty", "complete", "pair"],
)
def test_graphs_at_the_limits_come_back(graph, order):
    np.testing.assert_array_equal(degrees(sampled(graph, order)), degrees(graph))


@pytest.mark.parametrize("order", PURPOSES)
def test_nodes_without_edges_stay_possible(order):
    graph = nx.complete_graph(10)
    graph.add_nodes_from(range(10, 50))
    drawn = np.sort(degrees(sampled(graph, order)))
    # Order 1 interpolates the one step of this sequence.
    assert (drawn[: 40 if order == 2 else 15] == 0).all()


def test_empty_cells_of_a_noisy_graph_add_no_edges():
    """The published program cuts negative counts of empty degrees at zero: 2 to 9 times too many edges."""
    graph = nx.barabasi_albert_graph(800, 3, seed=2)
    for order in (1, 2):
        model, _ = fit_static(GENERATOR, DKParams(order=order), static_graph(800, graph.edges()), 1.0)
        found = len(model.sample(public_generator(1), no_progress).edges["edge"].source)
        # The count has noise of scale 20; matching may leave an end or two.
        assert abs(found - graph.number_of_edges()) < 450


def test_thresholds_are_public_and_reach_the_last_degree():
    assert thresholds(1, 1.5).tolist() == []
    assert thresholds(12, 2.0).tolist() == [1, 2, 4, 8]
    assert thresholds(8, 1.1).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert degree_class(np.array([-5, 0, 1, 3, 4, 400]), np.array([1, 2, 4, 8])).tolist() == [
        0,
        0,
        1,
        2,
        3,
        4,
    ]


def test_the_fit_ascends_and_is_closer_to_the_truth():
    rng = np.random.default_rng(4)
    true = np.sort(rng.geometric(0.05, 3_000))
    noisy = true + np.rint(rng.laplace(scale=4, size=3_000)).astype(np.int64)
    fitted = _ascending(noisy)
    assert (np.diff(fitted) >= 0).all()
    assert np.abs(fitted - true).mean() < np.abs(np.sort(noisy) - true).mean() * 0.7


@pytest.mark.parametrize("wrong", [{"order": 3}, {"order": 0}, {"count_share": 0}, {"matrix_share": 0.5}])
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        DKParams.model_validate(wrong)

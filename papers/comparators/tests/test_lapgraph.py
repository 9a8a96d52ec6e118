"""LapGraph: what it pays, what it keeps, and how often a true edge may be among it."""

import numpy as np
import pytest
from pydantic import ValidationError

from core.privacy.units import Unit
from papers.comparators.lapgraph import GENERATOR, LapGraphParams
from tests.support.generating import NANO, drawn, fit, graph_of, kept_log_ratio, random_pairs, rows_of


@pytest.mark.parametrize("options", [{}, {"steps": 2}, {"directed": True}, {"other": 9}])
def test_without_noise_the_graph_comes_back(options):
    graph = graph_of(random_pairs(9, 0.3), 9, **options)
    np.testing.assert_array_equal(rows_of(drawn(GENERATOR, graph, 900)), rows_of(graph))


def test_without_noise_a_sparse_graph_comes_back():
    """Large enough that only slots above a threshold are drawn."""
    graph = graph_of(random_pairs(300, 0.01), 300)
    np.testing.assert_array_equal(rows_of(drawn(GENERATOR, graph, 900)), rows_of(graph))


def test_the_count_and_the_cells_sum_to_epsilon():
    _, meter = fit(GENERATOR, graph_of(random_pairs(40, 0.1), 40), 1.0, count_share=0.25)
    costs = [(entry.purpose, entry.event.nano_epsilon) for entry in meter.transcript]
    assert costs == [("edge count", NANO // 4), ("largest noisy cells", NANO - NANO // 4)]


@pytest.mark.parametrize(
    ("unit", "window", "parts"), [(Unit.EVENT, None, 1), (Unit.W_EVENT, 2, 2), (Unit.PAIR, None, 4)]
)
def test_a_stream_divides_epsilon_by_its_unit(unit, window, parts):
    graph = graph_of(random_pairs(20, 0.2), 20, steps=4)
    _, meter = fit(GENERATOR, graph, 1.0, unit=unit, window=window)
    for step in range(4):
        paid = [entry.event.nano_epsilon for entry in meter.transcript if entry.step == step]
        assert sum(paid) == NANO // parts


@pytest.mark.parametrize("nodes", [40, 200])
def test_the_number_of_edges_is_the_noisy_count(nodes):
    graph = graph_of(random_pairs(nodes, 0.05), nodes)
    counts = [drawn(GENERATOR, graph, 20, count_share=0.5).edges["edge"].count for _ in range(20)]
    # The noise has scale 1/10: one more or less is already rare.
    assert np.abs(np.array(counts) - graph.edges["edge"].count).max() <= 3


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_a_true_edge_is_kept_no_more_often_than_epsilon_allows(epsilon):
    graph = graph_of(random_pairs(300, 0.03), 300)
    ratio, error = kept_log_ratio(GENERATOR, graph, epsilon, 10)
    assert ratio <= epsilon + 6 * error
    assert ratio >= 0.85 * epsilon - 6 * error


def test_one_node_has_no_edge():
    assert len(rows_of(drawn(GENERATOR, graph_of([], 1), 1.0))) == 0


def test_an_empty_graph_stays_nearly_empty():
    counts = [len(rows_of(drawn(GENERATOR, graph_of([], 200), 2.0))) for _ in range(10)]
    assert max(counts) < 300


def test_a_complete_graph_stays_complete():
    assert len(rows_of(drawn(GENERATOR, graph_of(random_pairs(100, 1.0), 100), 2.0))) > 4700


def test_nodes_without_edges_may_gain_some():
    seen = set()
    for _ in range(60):
        seen.update(np.unique(rows_of(drawn(GENERATOR, graph_of([(0, 1)], 40), 0.5))).tolist())
    assert len(seen) > 30


@pytest.mark.parametrize("wrong", [{"count_share": 0}, {"count_share": 0.6}, {"keep": 1}])
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        LapGraphParams(**wrong)

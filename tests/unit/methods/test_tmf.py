"""TmF: its threshold, its budget, and the published program's flaws, which must not come back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.methods.tmf import GENERATOR, TmFParams, threshold_flips
from core.privacy.mechanisms.randomised_response import WORD, Flips
from core.privacy.units import Unit
from tests.support.generating import NANO, drawn, fit, graph_of, kept_log_ratio, random_pairs, rows_of


def laplace_tail(x: float, epsilon: float) -> float:
    """P(noise of scale 1/epsilon > x)."""
    tail = math.exp(-epsilon * abs(x)) / 2
    return tail if x >= 0 else 1 - tail


def threshold(edges: int, slots: int, epsilon: float) -> float:
    """Where as many noisy cells as edges are expected to pass, by bisection: no formula."""
    low, high = -200.0, 200.0
    for _ in range(200):
        middle = (low + high) / 2
        passing = edges * laplace_tail(middle - 1, epsilon) + (slots - edges) * laplace_tail(middle, epsilon)
        low, high = (middle, high) if passing > edges else (low, middle)
    return low


# Both branches, their border, and more than half of the pairs.
CASES = [
    (88_234, 8_154_741, 0.5),
    (88_234, 8_154_741, 4.4),
    (88_234, 8_154_741, 4.6),
    (1_000, 10_000, 1.0),
    (1_000, 10_000, 3.0),
    (4_999, 10_000, 0.1),
    (5_000, 10_000, 2.0),
    (9_000, 10_000, 1.0),
    (9_000, 10_000, 6.0),
    (1, 10_000, 9.0),
]


@pytest.mark.parametrize(("edges", "slots", "epsilon"), CASES)
def test_cells_pass_as_they_would_with_laplace_noise(edges, slots, epsilon):
    flips = threshold_flips(int(epsilon * NANO), edges, slots)
    at = threshold(edges, slots, epsilon)
    assert flips.add / WORD == pytest.approx(laplace_tail(at, epsilon), rel=1e-6)
    assert 1 - flips.drop / WORD == pytest.approx(laplace_tail(at - 1, epsilon), rel=1e-6)


@pytest.mark.parametrize(("edges", "slots", "epsilon"), CASES)
def test_as_many_cells_pass_as_there_are_edges(edges, slots, epsilon):
    """With the two formulas in each other's branch, 4.9 times as many would on Facebook at epsilon 0.5."""
    flips = threshold_flips(int(epsilon * NANO), edges, slots)
    passing = edges * (1 - flips.drop / WORD) + (slots - edges) * flips.add / WORD
    assert passing == pytest.approx(edges, rel=1e-9)


@given(st.integers(1, 60 * NANO), st.integers(-3, 10**9), st.integers(0, 10**9))
def test_the_probabilities_never_cost_more_than_stated(nano, edges, slots):
    assert threshold_flips(nano, edges, slots).nano_epsilon <= nano


def test_below_the_border_it_is_the_balanced_form():
    assert threshold_flips(NANO, 88_234, 8_154_741) == Flips.balanced(NANO, 88_234, 8_154_741)


@pytest.mark.parametrize("options", [{}, {"steps": 2}, {"directed": True}, {"other": 9}])
def test_without_noise_the_graph_comes_back(options):
    graph = graph_of(random_pairs(9, 0.3), 9, **options)
    np.testing.assert_array_equal(rows_of(drawn(GENERATOR, graph, 900)), rows_of(graph))


def test_the_count_and_the_cells_sum_to_epsilon():
    _, meter = fit(GENERATOR, graph_of(random_pairs(40, 0.1), 40), 1.0, count_share=0.5)
    costs = {entry.purpose: entry.event.nano_epsilon for entry in meter.transcript}
    assert costs["edge count"] == NANO // 2
    assert 0.49 * NANO < costs["cells above threshold"] <= NANO // 2


def test_a_pair_linked_both_ways_pays_for_both():
    graph = graph_of(random_pairs(20, 0.2), 20, steps=1, directed=True)
    _, meter = fit(GENERATOR, graph, 2.0, unit=Unit.PAIR)
    assert sum(entry.event.nano_epsilon for entry in meter.transcript) <= 2 * NANO


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_a_true_edge_is_kept_no_more_often_than_epsilon_allows(epsilon):
    """The published program reached ln ratios of 2.2 to 3.8 at epsilon 1."""
    graph = graph_of(random_pairs(300, 0.03), 300)
    ratio, error = kept_log_ratio(GENERATOR, graph, epsilon, 10)
    assert ratio <= epsilon + 6 * error
    assert ratio >= 0.85 * epsilon - 6 * error


def test_the_number_of_edges_is_never_filled_up():
    """Were it always the noisy count, it would vary by that noise alone: here by less than one edge."""
    graph = graph_of(random_pairs(300, 0.03), 300)
    counts = [drawn(GENERATOR, graph, 20.0, count_share=0.5).edges["edge"].count for _ in range(5)]
    assert abs(np.mean(counts) - graph.edges["edge"].count) < 60
    noisy = [drawn(GENERATOR, graph, 3.0, count_share=0.5).edges["edge"].count for _ in range(20)]
    # Binomial passes spread by about sqrt(m) = 37; the count's own noise by 1.
    assert np.std(noisy) > 8


def test_one_node_has_no_edge():
    assert len(rows_of(drawn(GENERATOR, graph_of([], 1), 1.0))) == 0


def test_an_empty_graph_stays_nearly_empty():
    counts = [len(rows_of(drawn(GENERATOR, graph_of([], 200), 2.0))) for _ in range(10)]
    assert max(counts) < 300


def test_a_complete_graph_stays_complete():
    """The complement is filtered: a handful of pairs are missing."""
    graph = graph_of(random_pairs(100, 1.0), 100)
    assert len(rows_of(drawn(GENERATOR, graph, 2.0))) > 4700


def test_nodes_without_edges_may_gain_some():
    seen = set()
    for _ in range(60):
        seen.update(np.unique(rows_of(drawn(GENERATOR, graph_of([(0, 1)], 40), 0.5))).tolist())
    assert len(seen) > 30


@pytest.mark.parametrize("wrong", [{"count_share": 0}, {"count_share": 0.6}, {"threshold": 1}])
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        TmFParams(**wrong)

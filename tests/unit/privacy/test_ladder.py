"""The ladder's sampler against its law; the two metered operations; what they refuse."""

import math

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chisquare

from core.errors import InvalidInput, NotAccepted, PlanExceeded
from core.graphs.schema import EdgeType
from core.privacy.accounting.events import NANO, pure_nano_epsilon
from core.privacy.mechanisms.ladder import cap_of, climbed, ladder, reach, reached
from core.privacy.mechanisms.product_sum import unit_of
from tests.support.groups import in_part
from tests.unit.privacy.test_private_graph import HUGE, PAIRS, N, static

DRAWS = 15_000


def weight(offset, first, cap, epsilon):
    rung = 0
    while reach(first, cap, rung) < abs(offset):
        rung += 1
    return math.exp(-epsilon / 2 * rung)


@in_part(
    ("most_common", "nodes", "epsilon"),
    [
        (0, 2, 1.0),  # nothing to grow: a cap of 1
        (0, 5, 1.0),
        (2, 5, 0.7),
        (3, 5, 0.7),  # at the cap
        (1, 60, 0.4),  # growth is drawn as a whole
        (4, 200, 3.0),  # growth is drawn in blocks of one rung
        (0, 500, 0.9),  # blocks of three rungs
        (0, 400, 12.0),
    ],
    3,
)
def test_the_draws_follow_the_law(most_common, nodes, epsilon):
    rng = np.random.default_rng(20260101)
    cap, nano = cap_of(nodes), int(epsilon * NANO)
    drawn = np.array([ladder(50, most_common, nodes, nano, rng=rng) - 50 for _ in range(DRAWS)])
    span = 1 + int(reach(most_common, cap, math.ceil(80 / epsilon)))
    values = np.arange(-span, span + 1)
    law = np.array([weight(x, most_common, cap, epsilon) for x in range(span + 1)])
    law = np.concatenate([law[:0:-1], law])
    law *= DRAWS / law.sum()
    edges = np.flatnonzero(law >= 8)
    low, high = values[edges[0]], values[edges[-1]]
    seen = np.bincount(np.clip(drawn, low, high) - low, minlength=high - low + 1)
    expected = law[edges[0] : edges[-1] + 1].copy()
    expected[0] += law[: edges[0]].sum()
    expected[-1] += law[edges[-1] + 1 :].sum()
    if len(expected) == 1:
        assert seen.tolist() == [DRAWS]
    else:
        assert chisquare(seen, expected * DRAWS / expected.sum()).pvalue > 1e-5


@in_part(
    ("first", "step", "growth", "epsilon"),
    [
        (1, 3, None, 2.0),
        (0, 2, None, 1.0),  # nothing on the first rung
        (7, 5, None, 0.6),  # growth is drawn in blocks
        (4, 1, None, 8.0),
        (4, 3, 2, 0.8),
        (4, 3, 40, 0.8),
        (2, 5, 0, 1.0),  # no growth
    ],
    2,
)
def test_wider_steps_follow_their_law(first, step, growth, epsilon):
    rng, nano = np.random.default_rng(20260101), int(epsilon * NANO)
    drawn = np.array([climbed(-9, first, step, growth, nano, rng=rng) + 9 for _ in range(DRAWS)])
    rungs = math.ceil(60 / epsilon)
    sizes = [1] + [
        2 * (reached(first, step, growth, t) - reached(first, step, growth, t - 1)) for t in range(1, rungs)
    ]
    law = np.array(sizes) * np.exp(-epsilon / 2 * np.arange(rungs))
    law *= DRAWS / law.sum()
    ends = np.array([reached(first, step, growth, t) for t in range(rungs)])
    seen = np.bincount(np.searchsorted(ends, np.abs(drawn)), minlength=rungs)[:rungs]
    last = int(np.flatnonzero(law >= 8)[-1])
    kept = law[: last + 1] > 0
    seen, law = (np.append(v[: last + 1][kept], v[last + 1 :].sum()) for v in (seen, law))
    assert chisquare(seen, law * seen.sum() / law.sum()).pvalue > 1e-5
    # Inside a rung every integer is as likely, on both sides.
    inside = np.abs(drawn[(drawn != 0) & (np.abs(drawn) <= ends[min(3, last)])])
    assert abs((drawn > 0).sum() - (drawn < 0).sum()) < 6 * math.sqrt(DRAWS)
    third = ends[2] if first else ends[3]
    low = ends[1] if first else ends[2]
    values = np.bincount(inside[(inside > low) & (inside <= third)] - low - 1, minlength=third - low)
    assert chisquare(values).pvalue > 1e-5


def test_what_is_too_wide_is_refused():
    for first, step in ((-1, 1), (2**51, 1), (1, 0), (1, 2**17)):
        with pytest.raises(InvalidInput):
            climbed(0, first, step, None, NANO)


def test_clustering_is_told_and_paid_for():
    graph = static(HUGE)
    found = graph.cell("edge", None).clustering_sum(damping=4, nano_epsilon=HUGE // 2, purpose="clustering")
    truth = nx.Graph(PAIRS)
    exact = sum(count / math.comb(max(truth.degree(v), 4), 2) for v, count in nx.triangles(truth).items())
    assert found == pytest.approx(exact, abs=0.01)
    (entry,) = graph._meter.transcript
    assert (entry.purpose, entry.event.mechanism) == ("clustering", "ladder/clustering")
    assert pure_nano_epsilon(entry.event) == HUGE // 2


def test_tiny_and_large_arguments_are_drawn_too():
    for first, step, nano in ((1, 1, 1), (2**50, 2**16, 1), (0, 2**16, 5 * NANO), (2**50, 2**16, NANO)):
        assert -(2**62) <= climbed(10, first, step, None, nano) <= 2**62
    for most_common, nodes, nano in ((1, 3, 1), (0, 2**31, 5 * NANO), (2**31 - 2, 2**31, 1), (7, 10**6, 1)):
        assert -(2**62) <= ladder(10, most_common, nodes, nano) <= 2**62


def test_triangles_are_told_and_paid_for():
    graph = static(HUGE)
    cell = graph.cell("edge", None)
    assert cell.triangle_count(nano_epsilon=HUGE // 2, purpose="triangles") == 1
    (entry,) = graph._meter.transcript
    assert (entry.purpose, entry.event.mechanism) == ("triangles", "ladder/triangles")
    assert pure_nano_epsilon(entry.event) == HUGE // 2


def test_degree_products_are_told_and_paid_for():
    graph = static(HUGE)
    truth = nx.Graph(PAIRS)
    degrees = np.array([truth.degree(v) if v in truth else 0 for v in range(N)])
    found = graph.cell("edge", None).degree_product_sum(
        noisy_degrees=degrees, nano_epsilon=HUGE, purpose="products"
    )
    assert found == sum(degrees[u] * degrees[v] for u, v in PAIRS)
    (entry,) = graph._meter.transcript
    assert entry.event.mechanism == "discrete_laplace/degree_product_sum"


def test_a_coarse_grid_stays_near_the_sum():
    noisy = np.array([40_000, 30_000, 20_000, 10_000, 5, 4])
    found = (
        static(HUGE)
        .cell("edge", None)
        .degree_product_sum(noisy_degrees=noisy, nano_epsilon=HUGE, purpose="products")
    )
    exact = sum(int(noisy[u]) * int(noisy[v]) for u, v in PAIRS)
    assert unit_of(noisy) > 1
    # 900 is the epsilon; the noise has one part in 900 of the largest term.
    assert abs(found - exact) < 40_000 * 30_000 / 900 * 40 + unit_of(noisy)


def test_nothing_is_read_beyond_the_plan():
    cell = static(NANO).cell("edge", None)
    with pytest.raises(PlanExceeded):
        cell.triangle_count(nano_epsilon=NANO + 1, purpose="triangles")
    with pytest.raises(PlanExceeded):
        static(NANO).cell("edge", None).clustering_sum(damping=8, nano_epsilon=NANO + 1, purpose="clustering")
    with pytest.raises(PlanExceeded):
        static(NANO).cell("edge", None).degree_product_sum(
            noisy_degrees=np.zeros(N, dtype=np.int64), nano_epsilon=NANO + 1, purpose="products"
        )


@pytest.mark.parametrize("relation", [EdgeType(directed=True), EdgeType(source="a", target="b")])
def test_other_relations_are_refused_before_anything_is_paid(relation):
    graph = static(NANO, relation)
    cell = graph.cell("edge", None)
    with pytest.raises(NotAccepted):
        cell.triangle_count(nano_epsilon=1, purpose="triangles")
    with pytest.raises(NotAccepted):
        cell.degree_product_sum(noisy_degrees=np.zeros(N, dtype=np.int64), nano_epsilon=1, purpose="p")
    assert not graph._meter.transcript


@pytest.mark.parametrize("wrong", [np.zeros(N - 1, dtype=np.int64), np.zeros(N), np.zeros((N, 1), dtype=int)])
def test_noisy_degrees_are_one_integer_a_node(wrong):
    graph = static(NANO)
    with pytest.raises(InvalidInput):
        graph.cell("edge", None).degree_product_sum(noisy_degrees=wrong, nano_epsilon=1, purpose="p")
    assert not graph._meter.transcript

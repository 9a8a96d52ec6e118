"""The largest noisy slots: the same law with and without the matrix, the metered session, the bounds."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from core.errors import InvalidInput, NotAccepted, PlanExceeded
from core.graphs.schema import EdgeType
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import largest_slots
from core.privacy.mechanisms.largest_slots import RESOLUTION, check_keep, largest, threshold_for
from core.privacy.mechanisms.randomised_response import WORD
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.generating import graph_of, random_pairs, rows_of
from tests.support.groups import in_part

NODES, KEEP = 40, 20  # 780 slots for 160 candidates: only those above a threshold are drawn
UNDIRECTED = Shape(EdgeType(), NODES, NODES)
SHAPES = [
    Shape(EdgeType(), 8, 8),
    UNDIRECTED,
    Shape(EdgeType(directed=True), 6, 6),
    Shape(EdgeType(directed=True), 30, 30),
    Shape(EdgeType(source="a", target="b"), 4, 5),
    Shape(EdgeType(source="a", target="b"), 40, 20),
]


def edges_of(shape: Shape, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    s, t = np.divmod(np.arange(shape.source_count * shape.target_count), shape.target_count)
    if shape.edge_type.homogeneous:
        proper = s < t if shape.undirected else s != t
        s, t = s[proper], t[proper]
    chosen = np.sort(np.random.default_rng(seed).choice(len(s), count, replace=False))
    return s[chosen], t[chosen]


def matrix_law(edges: int, slots: int, keep: int, epsilon: float, runs: int) -> np.ndarray:
    """How many true edges are kept where every slot is drawn: continuous Laplace noise, no thresholds."""
    rng = np.random.default_rng(1)
    noisy = rng.laplace(scale=1 / epsilon, size=(runs, slots)) + (np.arange(slots) < edges)
    return (np.argpartition(-noisy, keep - 1, axis=1)[:, :keep] < edges).sum(axis=1)


def kept(source, target, shape, keep, epsilon, rng) -> int:
    found = largest(source, target, shape, keep, int(epsilon * NANO), rng=rng)
    true = set(zip(source.tolist(), target.tolist(), strict=True))
    return sum(pair in true for pair in zip(found[0].tolist(), found[1].tolist(), strict=True))


@in_part("epsilon", [0.5, 2.0, 6.0], 1)
@pytest.mark.parametrize("edges", [3, pytest.param(25, marks=pytest.mark.audits)])
def test_as_many_true_edges_are_kept_as_with_the_whole_matrix(edges, epsilon):
    """Both above a present edge's value (small epsilon) and below it (large), where order matters."""
    rng = np.random.default_rng(5)
    source, target = edges_of(UNDIRECTED, edges)
    ours = [kept(source, target, UNDIRECTED, KEEP, epsilon, rng) for _ in range(1_500)]
    theirs = matrix_law(edges, 780, KEEP, epsilon, 1_500)
    table = np.stack([np.bincount(counts, minlength=KEEP + 1) for counts in (ours, theirs)])
    common = table.sum(axis=0) >= 20
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert table.shape[1] == 1 or chi2_contingency(table).pvalue > 1e-5


def test_absent_slots_are_kept_evenly():
    rng = np.random.default_rng(2)
    source, target = edges_of(UNDIRECTED, 5)
    seen = np.zeros(NODES * NODES, dtype=int)
    for _ in range(1_000):
        s, t = largest(source, target, UNDIRECTED, KEEP, NANO, rng=rng)
        seen[s * NODES + t] += 1
    every = np.stack(np.triu_indices(NODES, 1))
    absent = np.setdiff1d(every[0] * NODES + every[1], source * NODES + target)
    assert chisquare(seen[absent]).pvalue > 1e-5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keep", [0, 1, 7])
def test_that_many_distinct_slots_come_out_in_order(shape, keep):
    source, target = edges_of(shape, 5)
    s, t = largest(source, target, shape, keep, NANO)
    keys = s * shape.target_count + t
    assert len(keys) == keep
    assert (np.diff(keys) > 0).all()
    assert ((s >= 0) & (s < shape.source_count) & (t >= 0) & (t < shape.target_count)).all()
    if shape.edge_type.homogeneous:
        assert (s < t).all() if shape.undirected else (s != t).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_the_edges_come_out(shape):
    source, target = edges_of(shape, 9)
    s, t = largest(source, target, shape, 9, 900 * NANO)
    np.testing.assert_array_equal(s, source)
    np.testing.assert_array_equal(t, target)


@pytest.mark.parametrize("nano", [2, 10**6, NANO, 20 * NANO, 1000 * NANO])
@pytest.mark.parametrize(("nodes", "candidates"), [(60, 200), (10**6, 10**7), (2 * 10**8, 150)])
def test_the_threshold_lets_the_candidates_pass(nano, nodes, candidates):
    shape = Shape(EdgeType(), nodes, nodes)
    threshold, q, _ = threshold_for(shape, Fraction(RESOLUTION * NANO, nano - 1), candidates)
    slots = nodes * (nodes - 1) // 2
    assert threshold >= 1
    assert q / WORD >= candidates / slots
    assert q / WORD == pytest.approx(candidates / slots, rel=2e-3)
    step = (nano - 1) / (RESOLUTION * NANO)
    tail = math.exp(-step * threshold) / (1 + math.exp(-step))
    assert q / WORD == pytest.approx(tail, rel=1e-4)


@pytest.mark.parametrize("nano", [2, 1_000, NANO, 900 * NANO])
@pytest.mark.parametrize("nodes", [60, 10**6, 2 * 10**8, 2**31])
def test_an_absent_slot_passes_with_its_exact_probability(nano, nodes):
    """To 2^-63 of it, or the rounding alone would tell an absent edge from a present one at small epsilon."""
    scale = Fraction(RESOLUTION * NANO, nano - 1)
    threshold, add, drop = threshold_for(Shape(EdgeType(), nodes, nodes), scale, 150)
    with localcontext(prec=60):
        step = (-Decimal(scale.denominator) / scale.numerator).exp()
        exact = step**threshold / (1 + step)
        used = Decimal(add) / WORD * (1 - Decimal(drop) / WORD)
        assert 0 <= used / exact - 1 <= Decimal(2) ** -63


def test_what_rounding_adds_to_the_threshold_s_coin_is_dropped_again(monkeypatch):
    """A coin of three times q, two thirds of which are taken back: as many candidates as before."""
    threshold, add, _ = threshold_for(UNDIRECTED, Fraction(RESOLUTION), 160)
    monkeypatch.setattr(largest_slots, "threshold_for", lambda *_: (threshold, 3 * add, WORD * 2 // 3))
    nothing, rng = np.empty(0, dtype=np.int64), np.random.default_rng(8)
    found = [
        len(largest_slots._passing(nothing, UNDIRECTED, Fraction(RESOLUTION), 160, rng)[0])
        for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(780 * add / WORD, abs=5 * math.sqrt(160 / 400))


def test_the_geometric_draws_follow_their_law():
    drawn = largest_slots._geometric(np.random.default_rng(3), 50_000, 5, 2)
    ratio = math.exp(-2 / 5)
    seen = np.bincount(np.minimum(drawn, 12), minlength=13)
    expected = (1 - ratio) * ratio ** np.arange(13)
    expected[12] = ratio**12
    assert chisquare(seen, expected * 50_000).pvalue > 1e-5


def session(graph, nano, unit=Unit.EDGE):
    step = 0 if graph.schema.temporal else None
    allotment = Allotment("edge", step, Pure(nano, "laplace"), "test")
    plan = PrivacyPlan("test", unit, None, graph.schema.steps, (allotment,))
    meter = Meter(plan, MemoryRecorder())
    return PrivateGraph(graph, meter).cell("edge", step), meter


def test_the_session_pays_before_it_reads():
    graph = graph_of(random_pairs(10, 0.3), 10)
    cell, meter = session(graph, NANO)
    s, t = cell.largest_slots(keep=4, nano_epsilon=NANO, purpose="test")
    assert len(s) == len(t) == 4
    assert [entry.event.nano_epsilon for entry in meter.transcript] == [NANO]
    with pytest.raises(PlanExceeded):
        cell.largest_slots(keep=4, nano_epsilon=NANO, purpose="test")


def test_a_pair_linked_both_ways_gets_twice_the_noise(monkeypatch):
    graph = graph_of(random_pairs(10, 0.3), 10, steps=1, directed=True)
    asked = []
    monkeypatch.setattr(largest_slots, "largest", lambda *arguments: asked.append(arguments[-1]))
    cell, _ = session(graph, NANO, Unit.PAIR)
    cell.largest_slots(keep=4, nano_epsilon=NANO, purpose="test")
    assert asked == [NANO // 2]


def test_it_is_not_offered_inside_a_parallel_group():
    graph = graph_of(random_pairs(10, 0.3), 10)
    cell, _ = session(graph, NANO)
    with (
        cell.parallel(nano_epsilon=NANO, labels=np.zeros(10, dtype=np.int64)) as (inside, _),
        pytest.raises(NotAccepted),
    ):
        inside.largest_slots(keep=1, nano_epsilon=NANO, purpose="test")


@pytest.mark.parametrize(("keep", "nano"), [(-1, NANO), (781, NANO), (1.0, NANO), (2, 1), (2, 0)])
def test_arguments_out_of_bounds_are_refused_unpaid(keep, nano):
    with pytest.raises(InvalidInput):
        check_keep(UNDIRECTED, keep, nano)
    cell, meter = session(graph_of(random_pairs(NODES, 0.1), NODES), NANO)
    with pytest.raises(InvalidInput):
        cell.largest_slots(keep=keep, nano_epsilon=nano, purpose="test")
    assert not meter.transcript


def test_the_canonical_cell_is_what_it_takes():
    """The keys of a cell are sorted, which the search for true edges relies on."""
    rows = rows_of(graph_of(random_pairs(12, 0.5), 12))
    assert (np.diff(rows[:, 0] * 12 + rows[:, 1]) > 0).all()

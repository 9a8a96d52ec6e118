"""Randomised response: the law of every slot, the epsilon of the probabilities, the metered session."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from core.errors import InvalidInput, MeterClosed, NotAccepted, PlanExceeded
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms.randomised_response import (
    WORD,
    Flips,
    _Binomial,
    _hits,
    _ranks,
    _slots,
    check_size,
    flip,
)
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.groups import examples, in_part

SHAPES = [
    Shape(EdgeType(), 7, 7),
    Shape(EdgeType(directed=True), 5, 5),
    Shape(EdgeType(source="a", target="b"), 4, 6),
]


def seeded(seed=0):
    return np.random.default_rng(seed)


def exponential_from_below(x):
    """A fraction below e^x: the first terms of its series, each rounded down to 2^-300."""
    scale = 2**300
    term, total, k = scale, scale, 0
    while term:
        k += 1
        term = term * x.numerator // (x.denominator * k)
        total += term
    return Fraction(total, scale)


def exact_ratio(flips):
    """e^epsilon of the probabilities, exactly."""
    return max(Fraction(WORD - flips.drop, flips.add), Fraction(WORD - flips.add, flips.drop))


@given(st.integers(1, 60 * NANO))
def test_symmetric_probabilities_never_cost_more_than_stated(nano):
    flips = Flips.symmetric(nano)
    assert flips.add == flips.drop
    assert flips.nano_epsilon <= nano
    if 1000 <= nano <= 20 * NANO:
        assert flips.nano_epsilon >= nano - 1
    assert exact_ratio(flips) <= exponential_from_below(Fraction(flips.nano_epsilon, NANO))


@given(st.integers(1, 40 * NANO), st.integers(-5, 10**9), st.integers(1, 10**9))
def test_balanced_probabilities_never_cost_more_than_stated(nano, edges, slots):
    flips = Flips.balanced(nano, edges, slots)
    assert flips.nano_epsilon <= nano
    assert flips.add + flips.drop <= WORD
    held = min(max(edges, 1), slots)
    if 2 * held < slots and nano < 10 * NANO and nano > 10**6:
        appear, vanish = (slots - held) * flips.add, held * flips.drop
        assert appear == pytest.approx(vanish, rel=1e-6)


@pytest.mark.parametrize(
    ("add", "drop"), [(0, 1), (1, 0), (WORD, 1), (2**63, 2**63 + 1), (1.5, 1), (True, 1)]
)
def test_flips_outside_the_bounds_are_refused(add, drop):
    with pytest.raises(InvalidInput):
        Flips(add, drop)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_slot_has_one_place_and_no_loop(shape):
    count = shape.slots
    source, target = _slots(np.arange(count), shape)
    assert (_ranks(source, target, shape) == np.arange(count)).all()
    pairs = set(zip(source.tolist(), target.tolist(), strict=True))
    assert len(pairs) == count
    if shape.edge_type.homogeneous:
        assert (source != target).all()
    if shape.undirected:
        assert (source < target).all()


@given(st.integers(2, 200_000_000), st.data())
@settings(max_examples=examples(200))
def test_places_are_exact_in_the_largest_universe(n, data):
    shape = Shape(EdgeType(), n, n)
    rank = data.draw(st.integers(0, shape.slots - 1))
    source, target = _slots(np.array([rank]), shape)
    assert 0 <= source[0] < target[0] < n
    assert int(target[0]) * (int(target[0]) - 1) // 2 + int(source[0]) == rank


@pytest.mark.parametrize(("size", "p"), [(1, 0.7), (2, 0.5), (8, 0.1), (1024, 1 / 1500), (2**40, 2.0**-40)])
def test_block_numbers_are_binomial(size, p):
    threshold = int(p * WORD)
    values = _Binomial(size, threshold).draw(seeded(), 100_000)
    expected = binom.pmf(np.arange(6), size, threshold / WORD)
    seen = np.bincount(np.minimum(values, 6), minlength=7)
    law = np.append(expected, max(0.0, 1 - expected.sum())) * len(values)
    kept = law > 5
    assert (seen[~kept] <= 60).all()
    assert chisquare(seen[kept], law[kept] * seen[kept].sum() / law[kept].sum()).pvalue > 1e-6


def test_a_word_that_64_bits_do_not_decide_is_decided_by_more():
    law = _Binomial(4, WORD // 5)

    class Words:
        """The first threshold's own word, and a tail just above or below the rest of it."""

        def __init__(self, tail):
            self.tail = tail

        def integers(self, low, high, size, dtype):
            return np.full(size, law._coarse[0], dtype=np.uint64)

        def bytes(self, count):
            return self.tail.to_bytes(count, "big")

    rest = law._fine[0] % 2**960
    assert law.draw(Words(rest - 1), 1).tolist() == [0]
    assert law.draw(Words(rest), 1).tolist() == [1]


@pytest.mark.parametrize("threshold", [WORD // 2, WORD // 3, WORD // 50, WORD * 9 // 10])
def test_hits_are_distinct_and_uniform(threshold):
    slots, rounds = 37, 4_000
    rng = seeded(1)
    counts = np.zeros(slots)
    for _ in range(rounds):
        found = _hits(rng, slots, threshold)
        assert len(np.unique(found)) == len(found)
        counts[found] += 1
    p = threshold / WORD
    assert chisquare(counts, np.full(slots, counts.mean())).pvalue > 1e-6
    assert counts.sum() == pytest.approx(slots * rounds * p, abs=6 * np.sqrt(slots * rounds * p * (1 - p)))


@in_part("shape", SHAPES, 1)
def test_every_slot_flips_by_its_own_coin(shape):
    """Against the definition: present slots stay with 1 - p_drop, absent ones appear with p_add."""
    count, rounds = shape.slots, 6_000
    present = np.arange(count) % 3 == 0
    source, target = _slots(np.flatnonzero(present), shape)
    order = np.lexsort((target, source))
    flips, rng = Flips(WORD // 4, WORD // 10), seeded(2)
    seen = np.zeros(count)
    both = 0
    for _ in range(rounds):
        s, t = flip(source[order], target[order], shape, flips, rng=rng)
        keys = s * shape.target_count + t
        assert (np.diff(keys) > 0).all()
        ranks = _ranks(s, t, shape)
        seen[ranks] += 1
        both += {0, 1} <= set(ranks.tolist())
    expected = np.where(present, 0.9, 0.25) * rounds
    spread = np.sqrt(np.where(present, 0.09, 0.1875) * rounds)
    assert (np.abs(seen - expected) < 5.5 * spread).all()
    assert both / rounds == pytest.approx(0.9 * 0.25, abs=0.03)  # a present and an absent slot, independently


def test_an_empty_and_a_full_cell():
    shape = SHAPES[0]
    flips = Flips.symmetric(NANO)
    nothing = np.empty(0, dtype=np.int64)
    s, t = flip(nothing, nothing, shape, flips)
    assert len(s) == len(t) <= shape.slots
    source, target = _slots(np.arange(shape.slots), shape)
    s, _ = flip(source, target, shape, flips)
    assert len(s) <= shape.slots


def test_too_many_additions_are_refused_before_anything_is_read():
    with pytest.raises(InvalidInput, match="would appear"):
        check_size(Shape(EdgeType(), 200_000, 200_000), Flips.symmetric(NANO))


def session(event, *, unit=Unit.EDGE, directed=False):
    temporal = unit.temporal
    schema = GraphSchema(
        node_types=(NodeType(count=6),),
        edge_types=(EdgeType(directed=directed, temporal=temporal),),
        time=TimeGrid(count=2) if temporal else None,
    )
    step = np.zeros(2, dtype=np.int64) if temporal else None
    graph = Graph.build(
        schema, {"node": NodeTable(6)}, {"edge": EdgeTable(np.array([0, 1]), np.array([1, 2]), step)}
    )
    steps = schema.steps_of("edge")
    plan = PrivacyPlan("t", unit, None, schema.steps, tuple(Allotment("edge", s, event, "x") for s in steps))
    meter = Meter(plan, MemoryRecorder())
    return PrivateGraph(graph, meter), meter, steps[0]


def test_the_session_charges_the_actual_epsilon_first():
    private, meter, step = session(Pure(50 * NANO, "any"))
    source, target = private.cell("edge", step).randomised_response(
        nano_epsilon=50 * NANO, purpose="evidence"
    )
    assert (source.tolist(), target.tolist()) == ([0, 1], [1, 2])  # 15 coins of about e^-44
    (entry,) = meter.transcript
    assert entry.event == Pure(Flips.symmetric(50 * NANO).nano_epsilon, "randomised_response")
    assert entry.event.nano_epsilon < 50 * NANO  # 64 bits hold no smaller probability


def test_an_overrun_reads_nothing():
    private, _, step = session(Pure(NANO, "any"))
    with pytest.raises(PlanExceeded):
        private.cell("edge", step).randomised_response(nano_epsilon=2 * NANO, purpose="p")
    with pytest.raises(MeterClosed):
        private.cell("edge", step).randomised_response(nano_epsilon=NANO, purpose="p")


def test_a_pair_that_may_be_linked_both_ways_pays_for_both_slots():
    private, meter, step = session(Pure(2 * NANO, "any"), unit=Unit.PAIR, directed=True)
    private.cell("edge", step).randomised_response(nano_epsilon=2 * NANO, purpose="p")
    assert meter.transcript[0].event.nano_epsilon == 2 * Flips.symmetric(NANO).nano_epsilon
    with pytest.raises(InvalidInput, match="cost more"):
        private.cell("edge", step).randomised_response(
            nano_epsilon=NANO, purpose="p", flips=Flips.symmetric(NANO)
        )


def test_not_inside_a_parallel_group():
    private, _, step = session(Pure(NANO, "any"))
    labels = np.array([0, 0, 0, 1, 1, 1])
    with (
        private.cell("edge", step).parallel(nano_epsilon=NANO, labels=labels) as (inside, _),
        pytest.raises(NotAccepted),
    ):
        inside.randomised_response(nano_epsilon=NANO, purpose="p")

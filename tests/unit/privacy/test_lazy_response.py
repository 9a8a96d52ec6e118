"""Lazy randomised response: the law of its answers, its messages, the metered session."""

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from core.errors import InvalidInput, MeterClosed, NotAccepted, PlanExceeded
from core.graphs.schema import EdgeType
from core.privacy import entropy
from core.privacy.accounting.events import LAZY_RESPONSE, NANO, Pure
from core.privacy.accounting.guarantee import COMPUTATIONAL, guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import lazy_response
from core.privacy.mechanisms.lazy_response import beginning, bits, respond
from core.privacy.mechanisms.randomised_response import WORD, Flips, _slots
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.generating import graph_of, random_pairs
from tests.support.whole_siphash import hashed

SHAPES = [
    Shape(EdgeType(), 60, 60),
    Shape(EdgeType(directed=True), 45, 45),
    Shape(EdgeType(source="a", target="b"), 30, 60),
]
FLIPS = Flips.symmetric(NANO)


def answers(shape, ranks, response):
    source, target = _slots(ranks, shape)
    return bits(response.edge, response.prf_key, response.flips, source, target, shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_slot_is_flipped_by_its_own_coin(shape):
    """Over fresh keys: the number of flips of a slot, and of a pair of slots together, is binomial."""
    ranks, rounds = np.arange(shape.slots), 200
    present = ranks % 5 == 0
    source, target = _slots(ranks[present], shape)
    flips = np.zeros(len(ranks))
    both = 0
    for _ in range(rounds):
        found = answers(shape, ranks, respond(source, target, shape, 3, FLIPS, 0)) ^ present
        flips += found
        both += (found[1:] & found[:-1]).sum()
    p = FLIPS.add / WORD
    edges = binom.ppf([0.1, 0.25, 0.5, 0.75, 0.9], rounds, p)
    law = np.diff(np.concatenate([[0.0], binom.cdf(edges, rounds, p), [1.0]])) * len(ranks)
    seen = np.bincount(np.searchsorted(edges, flips), minlength=6)
    assert chisquare(seen, law).pvalue > 1e-6
    pairs = (len(ranks) - 1) * rounds
    assert both / pairs == pytest.approx(p * p, abs=6 * np.sqrt(p * p / pairs))


def test_a_key_answers_the_same_however_often_it_is_asked():
    shape = SHAPES[0]
    response = respond(np.array([0, 3]), np.array([1, 9]), shape, None, FLIPS, 0)
    first = answers(shape, np.arange(shape.slots), response)
    backwards = answers(shape, np.arange(shape.slots)[::-1], response)[::-1]
    assert (first == backwards).all()
    again = respond(np.array([0, 3]), np.array([1, 9]), shape, None, FLIPS, 0)
    assert (answers(shape, np.arange(shape.slots), again) != first).any()


def test_a_slot_s_coin_is_the_function_of_its_message(monkeypatch):
    key = bytes(range(16))

    class Known:
        def bytes(self, count):
            return key[:count]

    monkeypatch.setattr(entropy, "noise_generator", Known)
    shape = Shape(EdgeType(name="likes", source="a", target="b"), 2**28, 2**27)
    nothing = np.empty(0, dtype=np.int64)
    response = respond(nothing, nothing, shape, 6, FLIPS, 0)
    source, target = np.array([0, 5, 2**28 - 1]), np.array([7, 0, 2**27 - 1])
    found = bits(response.edge, response.prf_key, FLIPS, source, target, shape)
    for u, v, answer in zip(source.tolist(), target.tolist(), found, strict=True):
        message = b"likes".ljust(64, b"\0") + (7).to_bytes(8, "little")
        message += v.to_bytes(4, "little") + u.to_bytes(4, "little")
        assert answer == (hashed(key, message) < FLIPS.add)


def test_no_two_cells_share_a_message():
    cells = [("edge", None), ("edge", 0), ("edge", 1), ("edg", 0), ("e", None), ("x" * 63, 2**20)]
    found = [beginning(*cell) for cell in cells]
    assert len(set(found)) == len(cells)
    assert {len(each) for each in found} == {72}
    with pytest.raises(InvalidInput):
        beginning("x" * 65, None)


def test_one_threshold_serves_both_directions():
    with pytest.raises(InvalidInput, match="one probability"):
        respond(np.array([0]), np.array([1]), SHAPES[0], None, Flips(5, 6), 0)


def session(nano, *, unit=Unit.EDGE, directed=False, steps=None):
    graph = graph_of(random_pairs(10, 0.3), 10, steps=steps, directed=directed)
    step = None if steps is None else 0
    plan = PrivacyPlan(
        "t", unit, None, graph.schema.steps, (Allotment("edge", step, Pure(nano, "any"), "x"),)
    )
    meter = Meter(plan, MemoryRecorder())
    return PrivateGraph(graph, meter).cell("edge", step), meter, graph


def test_the_session_charges_first_and_the_report_says_what_is_assumed():
    cell, meter, graph = session(2 * NANO)
    response = cell.lazy_response(nano_epsilon=2 * NANO, purpose="evidence", room=0)
    true = graph.cell("edge", None)
    assert response.edge.tolist() == sorted((true.source * 10 + true.target).tolist())
    assert response.flips == Flips.symmetric(2 * NANO)
    (entry,) = meter.transcript
    assert entry.event == Pure(Flips.symmetric(2 * NANO).nano_epsilon, LAZY_RESPONSE)
    assert guarantee_of(meter.plan, meter.transcript, 0).assurance == (COMPUTATIONAL,)


@pytest.mark.parametrize("edges", [0, 63, 64, 65, 100])
def test_how_many_keys_it_holds_does_not_follow_from_the_true_edges(edges):
    shape = Shape(EdgeType(name="likes", source="a", target="b"), 20, 30)
    source, target = np.divmod(np.arange(edges) * 5, 30)
    response = respond(source, target, shape, None, FLIPS, 100)
    assert len(response.edge) == 100
    assert (np.diff(response.edge) > 0).all()
    assert response.edge[:edges].tolist() == (np.arange(edges) * 5).tolist()
    assert (response.edge[edges:] >= 600).all()  # no slot
    plain = respond(source, target, shape, None, FLIPS, 0)
    ends = _slots(np.arange(600), shape)
    said = [bits(each.edge, response.prf_key, FLIPS, *ends, shape) for each in (response, plain)]
    assert (said[0] == said[1]).all()


def test_the_room_is_more_than_the_edges_but_once_in_2_to_the_64():
    shape = Shape(EdgeType(name="likes", source="a", target="b"), 10**6, 10**6)
    assert lazy_response.room_for(1_000, NANO // 10, 1, shape) - 1_000 == 444  # exp(-44.4) < 2^-64
    assert lazy_response.room_for(1_000, NANO // 10, 2, shape) - 1_000 == 888
    assert lazy_response.room_for(-50, NANO, 1, shape) == 45
    assert lazy_response.room_for(1_000, 1, 1, Shape(EdgeType(source="a", target="b"), 9, 9)) == 81


def test_an_overrun_is_refused_and_reads_nothing():
    cell, _, _ = session(NANO)
    with pytest.raises(PlanExceeded):
        cell.lazy_response(nano_epsilon=2 * NANO, purpose="evidence", room=0)
    with pytest.raises(MeterClosed):
        cell.lazy_response(nano_epsilon=NANO, purpose="evidence", room=0)


def test_a_pair_that_may_be_linked_both_ways_pays_for_both_slots():
    cell, meter, _ = session(2 * NANO, unit=Unit.PAIR, directed=True, steps=1)
    assert cell.lazy_response(nano_epsilon=2 * NANO, purpose="p", room=0).flips == Flips.symmetric(NANO)
    assert meter.transcript[0].event.nano_epsilon == 2 * Flips.symmetric(NANO).nano_epsilon


def test_not_inside_a_parallel_group():
    cell, _, _ = session(NANO)
    with (
        cell.parallel(nano_epsilon=NANO, labels=np.zeros(10, dtype=np.int64)) as (inside, _),
        pytest.raises(NotAccepted),
    ):
        inside.lazy_response(nano_epsilon=NANO, purpose="p", room=0)

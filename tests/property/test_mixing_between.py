"""The read of a relation between two types: its sensitivities by brute force, charges, and noise's law."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from core.errors import InvalidInput, NotAccepted, PlanExceeded
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads.mixing_between import MixingBetween, Side, crossed
from core.privacy.reads.node_values import EDGE_MOVES, ROW_MOVES
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import laplace_divergence
from tests.support.two_types import rated

NANO = 10**9
SLOTS = list(itertools.product(range(2), range(3)))
VALUES = (-1, 0, 1)
USERS = list(itertools.product(VALUES, repeat=2))
ITEMS = [(0, 1, 1), (0, 0, 1), (-1, 0, 1)]
Caps = tuple[int | None, int | None]


def moves(caps: Caps, priority: np.ndarray) -> tuple[int, int, int]:
    """The most that a source's row, a target's, and one edge more move the counts of any tiny graph."""
    ends = np.array(SLOTS).T
    shape = (2, 2)
    known = {}
    every_item = list(itertools.product(VALUES, repeat=3))
    for states in itertools.product((False, True), repeat=len(SLOTS)):
        kept = np.flatnonzero(states)
        own = ends[0][kept], ends[1][kept]
        for users, items in itertools.product(USERS, every_item):
            groups = np.array(users), np.array(items)
            known[states, users, items] = crossed(own, groups, shape, caps, priority[kept])
    found = [0, 0, 0]
    for (states, users, items), before in known.items():
        for place, value in itertools.product(range(2), VALUES):
            after = known[states, (*users[:place], value, *users[place + 1 :]), items]
            found[0] = max(found[0], int(np.abs(after - before).sum()))
        for place, value in itertools.product(range(3), VALUES):
            after = known[states, users, (*items[:place], value, *items[place + 1 :])]
            found[1] = max(found[1], int(np.abs(after - before).sum()))
        for place in np.flatnonzero(np.logical_not(states)):
            more = tuple(state or each == place for each, state in enumerate(states))
            found[2] = max(found[2], int(np.abs(known[more, users, items] - before).sum()))
    return found[0], found[1], found[2]


@pytest.mark.slow
@pytest.mark.parametrize("caps", [(1, 1), (2, 1), (1, 2), (2, None), (None, 1)])
def test_no_neighbour_moves_the_counts_by_more_than_is_claimed_and_some_by_as_much(caps: Caps):
    orders = [np.arange(6), np.arange(6)[::-1], np.array([3, 0, 4, 1, 5, 2])]
    of_user, of_item, edge = np.max([moves(caps, each) for each in orders], axis=0)
    assert of_user == ROW_MOVES * (caps[0] or 3)  # without a cap as many as there are items
    assert of_item == ROW_MOVES * (caps[1] or 2)
    assert edge <= EDGE_MOVES - caps.count(None)
    assert caps != (1, 1) or edge == EDGE_MOVES


def test_an_edge_displaces_one_at_either_end_and_a_row_moves_what_its_sides_cap_lets_count():
    # The new edge from 0 to 0 comes first: it counts, and those to item 1 and from user 1 do not any more.
    ends, priority = (np.array([0, 0, 1]), np.array([0, 1, 0])), np.array([0, 1, 2])
    groups = np.array([0, 1]), np.array([0, 1])
    after = crossed(ends, groups, (2, 2), (1, 1), priority)
    fewer = ends[0][1:], ends[1][1:]
    before = crossed(fewer, groups, (2, 2), (1, 1), priority[1:])
    assert np.abs(after - before).sum() == 3
    star = np.zeros(3, np.int64), np.arange(3)
    items = np.array([0, 1, 1])
    ones, others = (crossed(star, (np.array([own]), items), (2, 2), (2, 1), priority) for own in (0, 1))
    assert np.abs(ones - others).sum() == 4
    # A cap of items alone leaves a user with all of its edges.
    loose = [crossed(star, (np.array([own]), items), (2, 2), (None, 1), priority) for own in (0, 1)]
    assert np.abs(loose[0] - loose[1]).sum() == 6


def test_a_node_without_a_value_counts_nowhere_but_takes_its_place():
    ends = np.array([0, 0]), np.array([0, 1])
    groups = np.array([0]), np.array([-1, 1])
    assert crossed(ends, groups, (2, 2), (1, 1), np.array([0, 1])).sum() == 0
    assert crossed(ends, groups, (2, 2), (1, 1), np.array([1, 0])).tolist() == [[0, 1], [0, 0]]


def opened(unit: Unit = Unit.EDGE, steps: int = 0, granted: int = 10 * NANO) -> tuple[MixingBetween, Meter]:
    of = rated([(0, 0), (0, 1), (1, 1), (1, 2)], (0, 1), (0, 1, -1), steps=steps)
    cells = [("rated", step) for step in (range(steps) if steps else [None])]
    cells += [(rows_of(kind), None) for kind in ("user", "item")]
    plan = tuple(Allotment(name, step, Pure(granted, "test"), "test") for name, step in cells)
    window = 2 if unit is Unit.W_EVENT else None
    meter = Meter(PrivacyPlan("test", unit, window, max(1, steps), plan), MemoryRecorder())
    return PrivateGraph(of, meter).mixing_between("rated"), meter


def side(named: str, **changes: Any) -> Side:
    return Side(named, np.arange(2), cap=2, nano_epsilon=NANO)._replace(**changes)


def test_every_cell_pays_what_the_noise_costs_it_before_anything_is_read():
    reads, meter = opened()
    asked = side("country", cap=4), side("topic", cap=1)
    found = reads.read(*asked, edge_nano_epsilon=NANO, purpose="test")
    assert found.shape == (2, 2)
    # Users' rows ask for most noise, of scale 8 / epsilon: the others pay for no more than that.
    spent = {entry.edge_type: entry.event.nano_epsilon for entry in meter.transcript}
    assert spent == {"rated": 3 * NANO // 8, "rows:user": NANO, "rows:item": NANO // 4}
    (kept,) = meter.measurements
    assert kept.scale == 8
    assert {name: own["cap"] for name, own in kept.arguments["ends"].items()} == {"source": 4, "target": 1}
    one, meter = opened()
    alone = one.read(None, side("topic", cap=1), edge_nano_epsilon=NANO, purpose="test")
    assert alone.shape == (1, 2)
    assert {entry.edge_type for entry in meter.transcript} == {"rated", "rows:item"}
    poor, _ = opened(granted=NANO - 1)
    with pytest.raises(PlanExceeded):
        poor.read(*asked, edge_nano_epsilon=NANO, purpose="test")


def test_the_noise_is_discrete_laplace_of_the_kept_scale():
    reads, meter = opened(granted=1000 * NANO)
    told = np.array(
        [
            reads.read(side("country"), side("topic"), edge_nano_epsilon=NANO, purpose="test")
            for _ in range(300)
        ]
    )
    exact = crossed(
        (np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])),
        (np.array([0, 1]), np.array([0, 1, -1])),
        (2, 2),
        (2, 2),
        np.arange(4),
    )
    scale = float(next(iter(meter.measurements)).scale)
    rate = np.exp(-1 / scale)
    off = (told - exact).ravel()
    # At most 2 edges of anybody, of which none is left out here: the counts are always the same.
    edges = np.arange(-8, 9)
    law = (1 - rate) / (1 + rate) * rate ** np.abs(edges)
    seen = np.array([(off == each).sum() for each in edges])
    rest = len(off) - seen.sum()
    expected = np.append(law, 1 - law.sum()) * len(off)
    assert stats.chisquare(np.append(seen, rest), expected).pvalue > 1e-3


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.W_EVENT, Unit.PAIR])
def test_every_step_is_charged_or_of_a_pair_the_first_for_all(unit: Unit, monkeypatch: pytest.MonkeyPatch):
    noise = []

    def seen(values: np.ndarray, moved: int, nano_epsilon: int) -> np.ndarray:
        noise.append((values.copy(), Fraction(moved, nano_epsilon)))
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)
    reads, meter = opened(unit, steps=3)
    reads.read(side("country", cap=9), side("topic", cap=9), edge_nano_epsilon=NANO // 9, purpose="test")
    ((exact, scale),) = noise
    assert exact.tolist() == [3, 3, 0, 3]
    times = 3 if unit is Unit.PAIR else 1
    spent = {(entry.edge_type, entry.step): entry.event.nano_epsilon for entry in meter.transcript}
    steps = [0] if unit is Unit.PAIR else [0, 1, 2]
    assert set(spent) == {
        *(("rated", step) for step in steps),
        (rows_of("user"), None),
        (rows_of("item"), None),
    }
    for step in steps:
        assert EDGE_MOVES * times / scale <= spent["rated", step] <= NANO // 9
    for kind in ("user", "item"):
        assert ROW_MOVES * 9 / scale <= spent[rows_of(kind), None] <= NANO


@pytest.mark.parametrize("order", [2, 8])
def test_what_a_pair_pays_covers_its_edges_of_all_steps_at_every_order(order: int):
    reads, meter = opened(Unit.PAIR, steps=3)
    reads.read(side("country", cap=1, nano_epsilon=9 * NANO), None, edge_nano_epsilon=NANO, purpose="test")
    (kept,) = meter.measurements
    spent = [Allotment(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript]
    edges = PrivacyPlan("test", Unit.PAIR, None, 3, tuple(e for e in spent if e.edge_type == "rated"))
    told = edges.spend("renyi", [order])[f"rdp/{order}"]
    assert laplace_divergence(EDGE_MOVES * 3, float(kept.scale), order) <= told / NANO


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"attribute": "height"}, "attribute"),
        ({"cap": 0}, "cap"),
        ({"groups": np.array([0, 1, 1])}, "groups"),
        ({"nano_epsilon": 0}, None),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_charged(changes: dict, field: str | None):
    reads, meter = opened()
    with pytest.raises(InvalidInput) as refused:
        reads.read(side("country", **changes), None, edge_nano_epsilon=NANO, purpose="test")
    assert field is None or refused.value.members["field"] == field
    with pytest.raises(InvalidInput):
        reads.read(None, None, edge_nano_epsilon=NANO, purpose="test")
    assert not meter.transcript


def test_it_is_of_protected_relations_between_two_types():
    of = rated([(0, 0)], (0, 1), (0, 1, 0))
    public = of.schema.edge_types[0].model_copy(update={"public": True})
    plan = PrivacyPlan("test", Unit.EDGE, None, 1, (Allotment("rated", None, Pure(1, "test"), "test"),))
    inside = of.schema.edge_types[0].model_copy(update={"target": "user"})
    for relation in (public, inside):
        schema = of.schema.model_copy(update={"edge_types": (relation,)})
        meter = Meter(plan, MemoryRecorder())
        with pytest.raises(NotAccepted):
            MixingBetween(type(of)(schema, of.nodes, of.edges), meter, "rated")

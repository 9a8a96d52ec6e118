"""Protected node attributes of relations between two types: what ``anchored`` reads, keeps, and refuses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import NotAccepted
from core.evaluation.node_values import association_of, compare_node_values
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.methods import registry
from core.methods._shared.node_values.between import caps_for
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import rows_of
from core.privacy.entropy import public_generator
from core.privacy.reads import mixing_between as reading
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.fit_losses import Asked, Losses, loss
from tests.support.two_types import rated

ANCHORED = registry.get("anchored")
USERS, ITEMS = 120, 80


def choosy(steps: int = 0, topics: bool = True) -> Graph:
    """Users of country a rate items of topic x, and b y, mostly; those of b have more to do with it."""
    rng = np.random.default_rng(3)
    users, items = np.arange(USERS) % 3 == 0, np.arange(ITEMS) % 2 == 0
    chance = np.where(users[:, None] == items[None, :], 0.16, 0.02) * np.where(users, 2, 1)[:, None]
    edges = np.argwhere(rng.random((USERS, ITEMS)) < chance)
    return rated(
        [tuple(each) for each in edges], users.astype(int), items.astype(int), steps=steps, topics=topics
    )


def facts(of: Graph, epsilon: float, unit: Unit = Unit.EDGE, window: int | None = None) -> PublicFacts:
    return PublicFacts(of.schema, unit, window, int(epsilon * NANO), 0, ("rated",))


def fit(of: Graph, epsilon: float, unit: Unit = Unit.EDGE, window: int | None = None) -> tuple[Any, Meter]:
    chosen = ANCHORED.Params(node_attribute_share=0.2, evidence="none")
    plan = ANCHORED.plan(chosen, facts(of, epsilon, unit, window))
    meter = Meter(plan, MemoryRecorder())
    return ANCHORED.fit(PrivateGraph(of, meter), plan, chosen, no_progress), meter


def shares(of: Graph) -> np.ndarray:
    """Edges by country of the user and topic of the item."""
    table, found = of.edges["rated"], np.zeros((2, 2))
    names = of.nodes["user"].attributes["country"], of.nodes["item"].attributes["topic"]
    own = [np.array([each in ("b", "y") for each in column.to_pylist()], dtype=int) for column in names]
    np.add.at(found, (own[0][table.source], own[1][table.target]), 1)
    return found / found.sum()


def test_users_of_a_country_rate_what_they_do_and_others_what_others_do(tmp_path: Path):
    of = choosy()
    model, meter = fit(of, 400)
    model.save(tmp_path / "model")
    drawn, again = (
        each.sample(public_generator(3), no_progress) for each in (model, ANCHORED.load(tmp_path / "model"))
    )
    assert drawn.equals(again)
    assert meter.plan.cost().nano_epsilon == 400 * NANO
    # By chance it would be about .35.
    assert np.abs(shares(of) - shares(drawn)).sum() / 2 < 0.06
    first, second = (each["row"] for each in compare_node_values(of, drawn, of.schema.edge_types[0]))
    assert first["scalars"]["node_value_association"]["original"] == pytest.approx(association_of(shares(of)))
    assert first["scalars"]["node_value_association"]["absolute_error"] < 0.12
    assert first["distances"]["node_value_mixing_distance"] < 0.06
    assert second["distances"]["node_value_mixing_distance"] == pytest.approx(
        first["distances"]["node_value_mixing_distance"]
    )
    assert first["distances"]["node_value_degree_distance"] < 0.3


def test_where_one_type_has_values_only_they_go_with_its_degrees_and_no_other_row_pays():
    of = choosy(topics=False)
    model, meter = fit(of, 400)
    assert {entry.edge_type for entry in meter.transcript} == {"rated", rows_of("user")}
    drawn = model.sample(public_generator(3), no_progress)
    assert not drawn.nodes["item"].attributes
    country = np.array(drawn.nodes["user"].attributes["country"].to_pylist())
    degree = np.bincount(drawn.edges["rated"].source, minlength=USERS)
    assert degree[country == "b"].mean() > 1.4 * degree[country == "a"].mean()
    (row,) = compare_node_values(of, drawn, of.schema.edge_types[0])
    assert row["name"] == "country of user"
    assert not row["row"]["scalars"]
    assert row["row"]["distances"]["node_value_mixing_distance"] < 0.06


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.W_EVENT, Unit.PAIR])
def test_in_time_rows_of_both_types_and_all_steps_stay_within_epsilon(unit: Unit):
    of = choosy(steps=3)
    model, meter = fit(of, 300, unit, 2 if unit is Unit.W_EVENT else None)
    assert meter.plan.cost().nano_epsilon <= 300 * NANO
    own = ANCHORED.node_values_plan(meter.plan).cells
    rows = [sum(each.nano_epsilon for each in own[rows_of(kind), None]) for kind in ("user", "item")]
    assert rows[0] == rows[1]
    assert sum(rows) <= (36 if unit is Unit.PAIR else 600) * NANO
    drawn = model.sample(public_generator(3), no_progress)
    assert np.abs(shares(of) - shares(drawn)).sum() / 2 < 0.12


def test_a_type_of_which_no_relation_tells_is_refused_and_others_are_not():
    of = choosy()
    chosen = ANCHORED.Params(node_attribute_share=0.2, evidence="none")
    single = of.schema.edge_types[0].model_copy(update={"functional": True})
    alone = replace(facts(of, 1), schema=of.schema.model_copy(update={"edge_types": (single,)}))
    with pytest.raises(NotAccepted) as refused:
        ANCHORED.plan(chosen, alone)
    assert refused.value.members["field"] == "node_attribute_share"
    beside = (of.schema.edge_types[0], single.model_copy(update={"name": "first"}))
    both = of.schema.model_copy(update={"edge_types": beside})
    plan = ANCHORED.plan(chosen, replace(facts(of, 1), schema=both, edge_types=("rated", "first")))
    own = ANCHORED.node_values_plan(plan)
    assert {each.edge_type for each in own.allotments} == {"rated", rows_of("user"), rows_of("item")}
    knows = EdgeType(name="knows", source="user", target="user")
    inside = of.schema.model_copy(update={"edge_types": (of.schema.edge_types[0], knows)})
    plan = ANCHORED.plan(chosen, replace(facts(of, 1), schema=inside, edge_types=("rated", "knows")))
    own = ANCHORED.node_values_plan(plan)
    assert {"rated", "knows"} <= {each.edge_type for each in own.allotments}


def test_each_side_counts_as_many_edges_as_its_rows_pay_for():
    degrees = np.full(200, 30.0), np.full(100, 60.0)
    (ours, theirs), scale = caps_for(degrees, [NANO, NANO // 2], [2, 2], (3, 10 * NANO), 0.08)
    assert ours is not None
    assert theirs is not None
    assert abs(ours - 2 * theirs) <= 1
    assert scale >= 2 * ours / 1 * (1 - 1e-9)
    (ours, theirs), scale = caps_for(degrees, [None, NANO], [1, 2], (3, NANO // 100), 0.08)
    assert ours is None
    assert theirs == 150  # the noise of the edges' budget allows all of an item's edges, and more
    assert scale == pytest.approx(300)
    nothing = caps_for((np.zeros(3), np.zeros(2)), [NANO, NANO], [2, 2], (3, NANO), 0.08)
    assert nothing[0] == (1, 1)


SLOTS = list(itertools.product(range(2), range(2)))
FIRST = (0, 1), (1, 0)
States = tuple[bool, ...]
STATES = list(itertools.product((False, True), repeat=len(SLOTS)))


def tiny_fit(unit: Unit, states: States, values: Sequence[tuple[int, ...]]) -> None:
    """Under ``pair`` the relation has two steps, and its edges are there at both of them."""
    edges = [slot for slot, state in zip(SLOTS, states, strict=True) if state]
    of = rated(edges, *values, steps=2 if unit is Unit.PAIR else 0)
    chosen = ANCHORED.Params(node_attribute_share=0.5, evidence="none")
    plan = ANCHORED.plan(chosen, facts(of, 1, unit))
    ANCHORED.fit(PrivateGraph(of, Meter(plan, MemoryRecorder())), plan, chosen, no_progress)


def worst_losses(losses: Losses, unit: Unit, states: list[States]) -> tuple[Fraction, Fraction, Fraction]:
    """Of whole fits on every neighbour of ``states``: by an edge or a pair, by a user's row, by an item's."""
    known: dict[tuple[States, Any], Asked] = {}

    def asked(each: States, values: Any = FIRST) -> Any:
        if (each, values) not in known:
            known[each, values] = losses.of(tiny_fit, unit, each, values)
        return known[each, values]

    found = [Fraction(0)] * 3
    for each in states:
        for place in np.flatnonzero(each):
            fewer = tuple(state and slot != place for slot, state in enumerate(each))
            found[0] = max(found[0], loss(asked(each), asked(fewer)))
        for side, node, value in itertools.product(range(2), range(2), (-1, 0, 1)):
            own = (*FIRST[side][:node], value, *FIRST[side][node + 1 :])
            values = (own, FIRST[1]) if side == 0 else (FIRST[0], own)
            found[1 + side] = max(found[1 + side], loss(asked(each), asked(each, values)))
    return found[0], found[1], found[2]


def together(unit: Unit, edge: Fraction, user: Fraction, item: Fraction) -> Fraction:
    """What one epsilon covers: under ``pair`` a pair and a row of either type at once."""
    return edge + user + item if unit is Unit.PAIR else max(edge, user, item)


@pytest.mark.parametrize("unit", [Unit.EDGE, Unit.PAIR])
def test_no_whole_fit_tells_two_neighbours_apart_by_more_than_epsilon(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
):
    edge, user, item = worst_losses(Losses(monkeypatch), unit, [STATES[-1], (True, True, True, False)])
    assert min(user, item) > 0
    assert edge > 0.3 * NANO
    assert together(unit, edge, user, item) <= NANO


@pytest.mark.slow
@pytest.mark.parametrize("unit", [Unit.EDGE, Unit.PAIR])
def test_no_whole_fit_on_any_tiny_graph_does(unit: Unit, monkeypatch: pytest.MonkeyPatch):
    assert together(unit, *worst_losses(Losses(monkeypatch), unit, STATES)) <= NANO


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_is_not_capped_shows_in_the_loss_of_whole_fits(
    side: int, monkeypatch: pytest.MonkeyPatch
):
    losses = Losses(monkeypatch)
    crossed = reading.crossed

    def uncapped(ends: Any, groups: Any, shape: Any, caps: Any, priority: Any) -> np.ndarray:
        return crossed(ends, groups, shape, (None, caps[1]) if side == 0 else (caps[0], None), priority)

    star = [(True, True, False, False), (True, False, True, False)][side]
    charged = worst_losses(losses, Unit.EDGE, [star])[1 + side]
    monkeypatch.setattr(reading, "crossed", uncapped)
    assert worst_losses(losses, Unit.EDGE, [star])[1 + side] > 1.2 * charged

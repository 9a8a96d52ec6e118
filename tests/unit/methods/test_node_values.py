"""The stage that draws protected node attributes with the edges: what it costs, keeps, refuses and moves."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import (
    Attribute,
    EdgeType,
    GraphSchema,
    NodeType,
    TimeGrid,
)
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods import registry
from core.methods._shared.node_values.blocks import joined, order_of, square
from core.methods._shared.node_values.fit import cap_for, dealt, node_classes
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import rows_of
from core.privacy.entropy import public_generator
from core.privacy.reads import node_values as reading
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.fit_losses import Losses, loss
from tests.support.groups import in_part

NANO = 10**9
DCSBM = registry.get("dcsbm")
NODES = 150
PARTY = Attribute(name="party", protection="protected", categories=("left", "right", "none"), label=True)
AGE = Attribute(name="age", kind="number", protection="protected", bounds=(0, 90), cuts=(30, 60))
RATED = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")


def graph(*attributes: Attribute, missing: bool = False, carried: bool = False) -> Graph:
    """Two parties that seldom meet, the right of more edges; the old are on the right. Nobody is of none."""
    relation = EdgeType(name="knows", attributes=(RATED,) if carried else ())
    kind = NodeType(count=NODES, attributes=attributes)
    right = np.arange(NODES) % 3 == 0
    source, target = np.triu_indices(NODES, 1)
    chance = np.where(right[source] & right[target], 0.7, np.where(right[source] == right[target], 0.2, 0.02))
    kept = np.random.default_rng(3).random(len(source)) < chance
    columns: dict[str, Any] = {
        "party": pa.array(np.where(right, "right", "left").tolist()),
        "age": np.where(right, 75.0, 10.0),
    }
    if missing:
        columns = {"party": pa.nulls(NODES, pa.string()), "age": np.full(NODES, np.nan)}
    table = NodeTable(NODES, None, {each.name: columns[each.name] for each in attributes})
    values = EdgeValues({"stars": np.full(kept.sum(), 3, dtype=np.int32)}) if carried else None
    edges = EdgeTable(source[kept], target[kept], None, values)
    return Graph.build(
        GraphSchema(node_types=(kind,), edge_types=(relation,)), {"node": table}, {"knows": edges}
    )


def facts(of: Graph, epsilon: float, **changes: Any) -> PublicFacts:
    return replace(PublicFacts(of.schema, Unit.EDGE, None, int(epsilon * NANO), 0, ("knows",)), **changes)


def fit(of: Graph, epsilon: float, **params: Any) -> tuple[Any, Meter]:
    chosen = DCSBM.Params(**({"node_attribute_share": 0.1} | params))
    plan = DCSBM.plan(chosen, facts(of, epsilon))
    meter = Meter(plan, MemoryRecorder())
    return DCSBM.fit(PrivateGraph(of, meter), plan, chosen, no_progress), meter


def mixing(of: Graph) -> np.ndarray:
    """Edges by party of both ends."""
    party = np.array([PARTY.categories.index(each) for each in of.nodes["node"].attributes["party"].tolist()])
    table, found = of.edges["knows"], np.zeros((3, 3), dtype=int)
    np.add.at(found, (party[table.source], party[table.target]), 1)
    return found + found.T


def test_a_row_costs_what_was_asked_for_and_an_edge_no_more():
    of = graph(PARTY)
    _, meter = fit(of, 2, node_attribute_share=0.25)
    plan = meter.plan
    assert plan.cost().nano_epsilon == 2 * NANO
    own = DCSBM.node_values_plan(plan)
    assert {each.edge_type: each.event.nano_epsilon for each in own.allotments} == {
        rows_of("node"): 2 * NANO,
        "knows": NANO // 2,
    }
    rest = tuple(each for each in plan.allotments if each not in own.allotments)
    assert rest == DCSBM.plan(DCSBM.Params(), facts(of, 1.5)).allotments
    spent: dict[str, int] = {}
    for entry in meter.transcript:
        spent[entry.edge_type] = spent.get(entry.edge_type, 0) + entry.event.nano_epsilon
    assert spent[rows_of("node")] == 2 * NANO
    assert 1.5 * NANO < spent["knows"] <= 2 * NANO
    statement = guarantee_of(plan, meter.transcript, 0).statement
    assert "replaced by any other row while all edges stay: P[S] <= e^2 P'[S]" in statement


def test_without_a_share_nothing_changes():
    of = graph(PARTY)
    assert not DCSBM.carries_nodes(DCSBM.Params())
    model, meter = fit(of, 1, node_attribute_share=0)
    assert [each.purpose for each in meter.plan.allotments] == ["dcsbm step"]
    assert not model.sample(public_generator(1), no_progress).nodes["node"].attributes


def test_with_little_noise_parties_meet_as_they_do_and_go_with_degree():
    of = graph(PARTY)
    drawn = fit(of, 200)[0].sample(public_generator(1), no_progress)
    true, found = (mixing(each) / mixing(each).sum() for each in (of, drawn))
    assert np.abs(true - found).sum() / 2 < 0.06
    parties = drawn.nodes["node"].attributes["party"].to_numpy(zero_copy_only=False)
    assert abs((parties == "right").sum() - NODES / 3) <= 9
    degree = np.bincount(
        np.concatenate([drawn.edges["knows"].source, drawn.edges["knows"].target]), minlength=NODES
    )
    assert degree[parties == "right"].mean() > 1.3 * degree[parties == "left"].mean()


def test_a_further_attribute_goes_with_the_first_and_numbers_lie_inside_their_bounds(tmp_path: Path):
    of = graph(AGE, PARTY)  # the label counts as the first
    model, meter = fit(of, 200)
    model.save(tmp_path / "model")
    drawn, again = (
        each.sample(public_generator(3), no_progress) for each in (model, DCSBM.load(tmp_path / "model"))
    )
    assert drawn.equals(again)
    columns = drawn.nodes["node"].attributes
    age, parties = columns["age"], columns["party"].to_numpy(zero_copy_only=False)
    assert age.dtype == np.float64
    assert ((age >= 0) & (age <= 90)).all()
    assert ((age >= 60) == (parties == "right")).mean() > 0.95
    assert sum(each.purpose == "nodes by age" for each in meter.transcript) == 1


@pytest.mark.parametrize("missing", [False, True])
@in_part("epsilon", [0.001, 1], 1)
def test_every_node_gets_a_declared_value_whatever_the_noise(epsilon: float, missing: bool):
    of = graph(PARTY, AGE, missing=missing)
    drawn = fit(of, epsilon)[0].sample(public_generator(1), no_progress).nodes["node"].attributes
    assert set(drawn["party"].to_pylist()) <= set(PARTY.categories)
    assert ((drawn["age"] >= 0) & (drawn["age"] <= 90)).all()


def test_edges_carry_values_beside():
    of = graph(PARTY, carried=True)
    model, meter = fit(of, 4, attribute_share=0.25)
    drawn = model.sample(public_generator(1), no_progress)
    assert drawn.edges["knows"].values.count == drawn.edges["knows"].count > 0
    assert len(drawn.nodes["node"].attributes["party"]) == NODES
    assert meter.plan.cost().nano_epsilon == 4 * NANO


@pytest.mark.parametrize("where", ["in a stream", "nothing protected", "nothing declared"])
def test_what_is_not_synthesised_is_refused_with_the_field_to_mend(where: str):
    asked = facts(graph(PARTY), 1)
    if where == "in a stream":
        schema = GraphSchema(
            node_types=asked.schema.node_types,
            edge_types=(EdgeType(name="knows", temporal=True),),
            time=TimeGrid(count=1),
        )
        asked = replace(asked, schema=schema, unit=Unit.W_EVENT, window=1, tick=3)
    elif where == "nothing protected":
        asked = facts(graph(PARTY.model_copy(update={"protection": "public"})), 1)
    else:
        asked = facts(graph(PARTY.model_copy(update={"categories": None})), 1)
    with pytest.raises(NotAccepted) as refused:
        DCSBM.plan(DCSBM.Params(node_attribute_share=0.2), asked)
    assert refused.value.members["field"] == "node_attribute_share"


def test_values_are_dealt_by_their_shares_in_each_class():
    classes = np.repeat([0, 1], [100, 60])
    found = dealt(np.array([[0.25, 0.75], [0.5, 0.5]]), classes, public_generator(1))
    assert np.bincount(found[:100]).tolist() == [25, 75]
    assert abs(np.bincount(found[100:])[0] - 30) <= 1


def test_fewer_classes_are_told_apart_where_their_table_would_be_noise():
    degrees, one, five = np.arange(1000.0), np.zeros(1000, np.int64), np.arange(1000) % 5
    assert node_classes(degrees, one, 2, NANO).max() == 3
    assert node_classes(degrees, five, 2, NANO).max() == 19
    assert node_classes(degrees, five, 2, NANO // 8).max() == 4
    assert node_classes(degrees, five, 2, NANO // 20).max() == 1
    assert node_classes(degrees, one, 2, NANO // 1000).max() == 0
    assert node_classes(np.zeros(1000), one, 2, NANO).max() == 0


def test_communities_and_groups_both_meet_as_was_read():
    rng = np.random.default_rng(2)
    communities, groups, degrees = rng.integers(0, 3, 600), rng.integers(0, 2, 600), rng.integers(1, 9, 600)
    blocks, shares = np.array([90.0, 5, 5, 60, 10, 30]), np.array([0.45, 0.1, 0.45])
    labels, found = joined(communities, blocks, groups, shares, degrees)
    assert (labels == 2 * communities + groups).all()
    meet = square(found).reshape(3, 2, 3, 2)
    assert np.allclose(meet.sum(axis=(1, 3)), square(blocks), atol=0.05)
    assert np.allclose(meet.sum(axis=(0, 2)), square(shares * 200), atol=0.05)
    alone, same = joined(np.zeros(600, np.int64), np.array([200.0]), groups, shares, degrees)
    assert (alone == groups).all()
    assert same == pytest.approx(shares * 200)


@pytest.mark.parametrize("groups", [4, "school"])
def test_labels_that_are_read_or_public_stay_beside_values(groups: int | str):
    school = Attribute(name="school", protection="public")
    of = graph(PARTY)
    kind = of.schema.node_types[0].model_copy(update={"attributes": (PARTY, school)})
    column = pa.array([str(node % 5) for node in range(NODES)])
    table = NodeTable(NODES, None, {**of.nodes["node"].attributes, "school": column})
    schema = of.schema.model_copy(update={"node_types": (kind,)})
    model, _ = fit(Graph.build(schema, {"node": table}, of.edges), 100, groups=groups)
    communities = groups if isinstance(groups, int) else 5
    assert order_of(model.structure.cells["knows", None]["blocks"]) == communities * len(PARTY.categories)
    drawn = model.sample(public_generator(1), no_progress)
    true, found = (mixing(each) / mixing(each).sum() for each in (of, drawn))
    assert np.abs(true - found).sum() / 2 < 0.1


def test_a_cap_is_never_so_small_that_edges_decide_the_noise_nor_above_all_degrees():
    degrees = np.random.default_rng(1).zipf(2.0, 2000).clip(1, 300).astype(float)
    assert cap_for(degrees, 3, NANO // 100, NANO) >= 150
    few, many = (cap_for(degrees, 3, NANO, nano) for nano in (NANO // 20, 20 * NANO))
    assert 1 <= few < many <= 300
    assert cap_for(np.zeros(5), 3, NANO, NANO) == 2


TINY = Attribute(name="party", protection="protected", categories=("a", "b"))
PAIRS = list(itertools.combinations(range(4), 2))
READS = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "node_attribute_share": 0.5}
"""What is left asks by ``discrete_laplace`` alone, so that a fit's loss can be added up."""


def tiny_fit(states: tuple[bool, ...], labels: tuple[int, ...]) -> None:
    schema = GraphSchema(
        node_types=(NodeType(count=4, attributes=(TINY,)),), edge_types=(EdgeType(name="knows"),)
    )
    ends = np.array([pair for pair, state in zip(PAIRS, states, strict=True) if state])
    source, target = ends.astype(np.int64).reshape(-1, 2).T
    column = pa.array([("a", "b", None)[each] for each in labels], type=pa.string())
    table = NodeTable(4, None, {"party": column})
    fit(Graph.build(schema, {"node": table}, {"knows": EdgeTable(source, target)}), 1, **READS)


STATES = list(itertools.product((False, True), repeat=len(PAIRS)))


STARS = [each for each in STATES if not any(each[3:])]
PAID_BY_A_ROW = 0.3 * NANO + NANO // 3
"""For the table, and for mixing two thirds of what an edge pays: an edge moves it by 3, a row by 2."""


def worst_losses(
    losses: Losses,
    states: list[tuple[bool, ...]],
    rows: list[tuple[bool, ...]],
    first: tuple[int, ...] = (0, 1, 0, 1),
) -> tuple[Fraction, Fraction]:
    """Of whole fits on all neighbours by an edge among ``states``, and by a row of each of ``rows``."""
    of_edges = {each: losses.of(tiny_fit, each, first) for each in states}
    edge = row = Fraction(0)
    for each, before in of_edges.items():
        for place in np.flatnonzero(np.logical_not(each)):
            more = (*each[:place], True, *each[place + 1 :])
            if more in of_edges:
                edge = max(edge, loss(before, of_edges[more]))
    for each in rows:
        for node, label in itertools.product(range(4), range(3)):
            labels = (*first[:node], label, *first[node + 1 :])
            row = max(row, loss(of_edges[each], losses.of(tiny_fit, each, labels)))
    return edge, row


def test_no_whole_fit_tells_two_neighbours_apart_by_more_than_epsilon(monkeypatch: pytest.MonkeyPatch):
    edge, row = worst_losses(Losses(monkeypatch), STARS, STARS[-1:])
    assert 0.5 * NANO < edge <= NANO
    assert row == pytest.approx(PAID_BY_A_ROW, rel=1e-6)


@pytest.mark.slow
def test_no_whole_fit_on_any_tiny_graph_does(monkeypatch: pytest.MonkeyPatch):
    edge, row = worst_losses(Losses(monkeypatch), STATES, STATES)
    assert edge <= NANO
    assert row == pytest.approx(PAID_BY_A_ROW, rel=1e-6)


def test_an_uncapped_pair_shows_in_the_loss_of_whole_fits(monkeypatch: pytest.MonkeyPatch):
    losses, mixed = Losses(monkeypatch), reading.mixed

    def every(source: np.ndarray, target: np.ndarray, groups: np.ndarray, count: int, *_: Any) -> np.ndarray:
        return mixed(source, target, groups, count, 4, np.arange(len(source)))

    monkeypatch.setattr(reading, "mixed", every)
    assert worst_losses(losses, STARS[-1:], STARS[-1:], (0, 0, 0, 0))[1] > 1.2 * NANO

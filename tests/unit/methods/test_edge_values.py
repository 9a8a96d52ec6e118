"""The stage that gives what edges carry to drawn edges: what it costs, what it keeps, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import DAY_SECONDS, EdgeAttribute
from core.graphs.schema.value_bins import bins_of
from core.methods import registry
from core.methods._shared.values import bins
from core.methods._shared.values.draw import drawn_values
from core.methods._shared.values.fit import paid
from core.methods.base import PublicFacts, never, no_progress
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.groups import in_part

NANO = 10**9
DCSBM, ANCHORED, KEYFRAME = (registry.get(name) for name in ("dcsbm", "anchored", "keyframe"))
CARRYING = [
    name
    for name, each in sorted(registry.generators().items())
    if each.carries is not never and Unit.W_EVENT in each.units
]
NODES = 120
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"), aggregate="max")
AMOUNT = EdgeAttribute(name="amount", kind="number", bounds=(0, 10), aggregate="max")
HOUR = EdgeAttribute(name="hour", kind="time_of_day", aggregate="max")
KINDS = (STARS, SORT, AMOUNT, HOUR)


def graph(
    *attributes: EdgeAttribute, steps: int = 0, sides: bool = False, directed: bool = False, **declared: Any
) -> Graph:
    """Generous and mean nodes by turns, in two communities: what an edge carries is its ends' doing."""
    relation = EdgeType(
        name="rates",
        target="item" if sides else "node",
        directed=directed,
        temporal=steps > 0,
        attributes=attributes,
        **declared,
    )
    kinds = (NodeType(count=NODES), *([NodeType(name="item", count=NODES)] if sides else []))
    time = TimeGrid(count=steps) if steps else None
    schema = GraphSchema(node_types=kinds, edge_types=(relation,), time=time)
    rng = np.random.default_rng(3)
    source, target = np.triu_indices(NODES, 1)
    kept = rng.random(len(source)) < np.where(source % 3 == target % 3, 0.5, 0.1)
    source, target = source[kept], target[kept]
    step = np.repeat(np.arange(max(steps, 1)), len(source))
    source, target = np.tile(source, max(steps, 1)), np.tile(target, max(steps, 1))
    level = np.clip(0.1 + 0.4 * (source % 2) + 0.4 * (target % 2) + 0.1 * rng.random(len(source)), 0, 0.999)
    if steps:
        level = np.where(step == 0, level * 0.3, level)
    columns = {}
    for each in attributes:
        fine = bins_of(each)
        columns[each.name] = fine.values((level * fine.count).astype(np.int64), np.zeros(len(level)))
    table = EdgeTable(source, target, step if steps else None, EdgeValues(columns) if attributes else None)
    return Graph.build(schema, {}, {"rates": table})


def facts(of: Graph, epsilon: float, unit: Unit = Unit.EDGE, **changes: Any) -> PublicFacts:
    return PublicFacts(
        of.schema, unit, changes.pop("window", None), int(epsilon * NANO), 0, ("rates",), **changes
    )


def fit(of: Graph, epsilon: float, share: float, unit: Unit = Unit.EDGE, window: int | None = None) -> Any:
    params = DCSBM.Params(attribute_share=share)
    plan = DCSBM.plan(params, facts(of, epsilon, unit, window=window))
    meter = Meter(plan, MemoryRecorder())
    return DCSBM.fit(PrivateGraph(of, meter), plan, params, no_progress), meter


def tables(of: Graph, epsilon: float, structure: EdgeTable | None = None) -> tuple[Any, Any]:
    """The columns of the first attribute, read at ``epsilon`` by the degrees of the graph itself."""
    relation = of.schema.edge_types[0]
    event = Pure(int(epsilon * NANO), "test")
    cells = of.schema.steps_of("rates")
    unit = Unit.EVENT if relation.temporal else Unit.EDGE
    granted = tuple(Allotment("rates", step, event, "test") for step in cells)
    meter = Meter(PrivacyPlan("test", unit, None, of.schema.steps, granted), MemoryRecorder())
    reads = PrivateGraph(of, meter).edge_values("rates", relation.attributes[0].name)
    return paid(reads, structure or of.edges["rates"].bare(), len(cells), int(epsilon * NANO)), reads


def again(of: Graph, epsilon: float) -> np.ndarray:
    """Values that were read at ``epsilon``, for the same edges."""
    columns, reads = tables(of, epsilon)
    table = of.edges["rates"].bare()
    return drawn_values(columns, table, reads.bins, reads.shape.undirected, public_generator(1))


@pytest.mark.parametrize(
    ("unit", "steps", "window"),
    [(Unit.EDGE, 0, None), (Unit.EVENT, 3, None), (Unit.W_EVENT, 3, 2), (Unit.PAIR, 3, None)],
)
def test_a_plan_costs_what_was_asked_for_and_its_structure_has_what_the_share_leaves(
    unit: Unit, steps: int, window: int | None
):
    of = graph(STARS, SORT, steps=steps)
    model, meter = fit(of, 2, 0.25, unit, window)
    assert 2 * NANO - 1000 <= meter.plan.cost().nano_epsilon <= 2 * NANO
    own = DCSBM.values_plan(meter.plan)
    assert NANO // 2 - 1000 <= own.cost().nano_epsilon <= NANO // 2
    rest = tuple(each for each in meter.plan.allotments if each not in own.allotments)
    alone = DCSBM.plan(DCSBM.Params(), facts(of, 1.5, unit, window=window))
    assert rest == alone.allotments
    spent: dict[Any, int] = {}
    for entry in meter.transcript:
        spent[entry.step] = spent.get(entry.step, 0) + entry.event.nano_epsilon
    granted: dict[Any, int] = {}
    for each in meter.plan.allotments:
        granted[each.step] = granted.get(each.step, 0) + each.event.nano_epsilon
    for step, amount in granted.items():
        assert amount - 2 <= spent[step] <= amount  # halves of an odd number
    sampled = model.sample(public_generator(1), no_progress).edges["rates"]
    assert set(sampled.values.columns) == {"stars", "sort"}
    assert sampled.values.count == sampled.count > 0


@pytest.mark.parametrize("name", CARRYING)
def test_whatever_draws_the_edges_they_carry_values_and_the_job_costs_the_same(name: str, tmp_path: Path):
    of, method = graph(STARS, SORT, steps=2), registry.get(name)
    params, asked = method.Params(attribute_share=0.25), facts(of, 4, Unit.W_EVENT, window=2)
    plan = method.plan(params, asked)
    assert 4 * NANO - 1000 <= plan.cost().nano_epsilon <= 4 * NANO
    own = method.values_plan(plan)
    assert NANO - 1000 <= own.cost().nano_epsilon <= NANO
    rest = tuple(each for each in plan.allotments if each not in own.allotments)
    assert rest == method.plan(method.Params(), replace(asked, nano_epsilon=3 * NANO)).allotments
    model = method.fit(PrivateGraph(of, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    model.save(tmp_path / "model")
    drawn = [
        each.sample(public_generator(3), no_progress) for each in (model, method.load(tmp_path / "model"))
    ]
    assert drawn[0].equals(drawn[1])
    table = drawn[0].edges["rates"]
    assert set(table.values.columns) == {"stars", "sort"}
    assert table.values.count == table.count > 0


@pytest.mark.parametrize("form", [{"directed": True}, {"sides": True}], ids=["directed", "sides"])
def test_a_method_for_relations_of_every_form_takes_the_stage(form: dict[str, bool], tmp_path: Path):
    of = graph(STARS, SORT, steps=2, **form)
    params = ANCHORED.Params(attribute_share=0.25)
    asked = facts(of, 4, Unit.EVENT)
    plan = ANCHORED.plan(params, asked)
    assert plan.cost().nano_epsilon <= 4 * NANO
    meter = Meter(plan, MemoryRecorder())
    model = ANCHORED.fit(PrivateGraph(of, meter), plan, params, no_progress)
    model.save(tmp_path / "model")
    drawn = [
        each.sample(public_generator(3), no_progress) for each in (model, ANCHORED.load(tmp_path / "model"))
    ]
    assert drawn[0].equals(drawn[1])
    table = drawn[0].edges["rates"]
    assert table.values.count == table.count > 0
    alone = ANCHORED.plan(ANCHORED.Params(), replace(asked, nano_epsilon=3 * NANO))
    nodes = {kind.name: NODES for kind in of.schema.node_types}
    told = [
        ANCHORED.true_shares(params, each, of.schema, nodes) for each in (plan, alone)
    ]  # of the same evidence
    assert told[0] == told[1]


@pytest.mark.parametrize(("unit", "window"), [(Unit.W_EVENT, 2), (Unit.EVENT, None), (Unit.PAIR, None)])
def test_a_method_of_key_frames_takes_the_stage_for_a_finished_grid(unit: Unit, window: int | None):
    of = graph(STARS, steps=5)
    params = KEYFRAME.Params(attribute_share=0.25)
    plan = KEYFRAME.plan(params, facts(of, 4, unit, window=window))
    assert 4 * NANO - 100 <= plan.cost().nano_epsilon <= 4 * NANO
    meter = Meter(plan, MemoryRecorder())
    model = KEYFRAME.fit(PrivateGraph(of, meter), plan, params, no_progress)
    table = model.sample(public_generator(3), no_progress).edges["rates"]
    assert table.values.count == table.count > 0
    alone = KEYFRAME.plan(KEYFRAME.Params(), facts(of, 3, unit, window=window))
    assert plan.allotments[: len(alone.allotments)] == alone.allotments


def test_without_a_share_nothing_changes():
    of = graph(STARS)
    params = DCSBM.Params()
    assert not DCSBM.carries(params)
    model, meter = fit(of, 1, 0)
    assert [each.purpose for each in meter.plan.allotments] == ["dcsbm step"]
    assert model.sample(public_generator(1), no_progress).edges["rates"].values is None


def test_a_share_for_edges_that_carry_nothing_is_refused_with_the_field_to_mend():
    asked = facts(graph(), 1)
    with pytest.raises(NotAccepted) as refused:
        DCSBM.plan(DCSBM.Params(attribute_share=0.2), asked)
    assert refused.value.members["field"] == "attribute_share"


@in_part("epsilon", [0.01, 1], 1)
@pytest.mark.parametrize("attribute", KINDS, ids=lambda each: each.name)
def test_every_value_lies_where_its_attribute_declares(attribute: EdgeAttribute, epsilon: float):
    of = graph(attribute)
    model, _ = fit(of, epsilon, 0.5)
    column = model.sample(public_generator(1), no_progress).edges["rates"].values.columns[attribute.name]
    low, high = attribute.range
    assert column.dtype == of.edges["rates"].values.columns[attribute.name].dtype
    assert ((column >= low) & (column <= high)).all()


@pytest.mark.parametrize(
    "form", [{}, {"directed": True}, {"sides": True}], ids=["undirected", "directed", "sides"]
)
@pytest.mark.parametrize("attribute", KINDS, ids=lambda each: each.name)
def test_with_little_noise_values_and_what_nodes_give_are_kept(
    attribute: EdgeAttribute, form: dict[str, bool]
):
    of = graph(attribute, **form)
    table = of.edges["rates"]
    true, drawn = table.values.columns[attribute.name], again(of, 400)
    fine = bins_of(attribute)
    counts = [np.bincount(fine.places(each), minlength=fine.count) for each in (true, drawn)]
    assert np.abs(counts[0] - counts[1]).sum() / 2 < 0.06 * len(true)
    degree = np.maximum(np.bincount(table.target, minlength=NODES), 1)
    means = [np.bincount(table.target, weights=each, minlength=NODES) / degree for each in (true, drawn)]
    busy = degree > 10
    assert np.corrcoef(means[0][busy], means[1][busy])[0, 1] > 0.9


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("attribute", [STARS, SORT], ids=lambda each: each.name)
def test_of_many_nodes_fewer_bins_are_told_apart_and_frequencies_stay(
    attribute: EdgeAttribute, most: int, monkeypatch: pytest.MonkeyPatch
):
    """Of values without an order, that is: of others a node has one sum, whatever the bins."""
    monkeypatch.setattr(bins, "MOST_ENTRIES", most * NODES)
    monkeypatch.setattr(bins, "MOST_BINS", most if attribute.numeric else 24)
    of = graph(attribute)
    columns, _ = tables(of, 400)
    assert columns["bins"].max() < most
    true, drawn = of.edges["rates"].values.columns[attribute.name], again(of, 400)
    fine = bins_of(attribute)
    counts = [np.bincount(fine.places(each), minlength=fine.count) for each in (true, drawn)]
    assert np.abs(counts[0] - counts[1]).sum() / 2 < 0.06 * len(true)


def test_of_many_nodes_values_with_an_order_keep_their_bins(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bins, "MOST_ENTRIES", NODES)
    assert tables(graph(STARS), 400)[0]["bins"].tolist() == [0, 1, 2, 3, 4]


def test_with_time_each_period_has_its_own_values():
    of = graph(STARS, steps=3)
    table, drawn = of.edges["rates"], again(of, 400)
    true = table.values.columns["stars"]
    for step in range(3):
        here = table.step == step
        assert abs(true[here].mean() - drawn[here].mean()) < 0.1
    assert drawn[table.step == 0].mean() < drawn[table.step == 1].mean() - 1


def test_an_empty_relation_is_read_and_drawn():
    full = graph(STARS)
    none = np.empty(0, dtype=np.int64)
    empty = Graph.build(full.schema, {}, {"rates": EdgeTable(none, none)})
    columns, reads = tables(empty, 1)
    assert len(drawn_values(columns, EdgeTable(none, none), reads.bins, True, public_generator(1))) == 0
    table = full.edges["rates"].bare()
    column = drawn_values(columns, table, reads.bins, True, public_generator(1))
    assert len(column) == table.count
    assert 1 <= column.min() <= column.max() <= 5
    model, _ = fit(empty, 1, 0.5)
    model.sample(public_generator(1), no_progress)


def test_a_relation_to_things_of_which_there_are_none_is_read_and_drawn():
    full, none = graph(STARS, SORT, sides=True), np.empty(0, dtype=np.int64)
    held = {name: column[:0] for name, column in full.edges["rates"].values.columns.items()}
    kinds = (NodeType(), NodeType(name="item"))
    schema = GraphSchema(node_types=kinds, edge_types=full.schema.edge_types)
    empty = EdgeTable(none, none, None, EdgeValues(held))
    of = Graph.build(schema, {"node": NodeTable(NODES), "item": NodeTable(0)}, {"rates": empty})
    method = registry.get("lapgraph")
    params = method.Params(attribute_share=0.25)
    plan = method.plan(params, facts(of, 1))
    model = method.fit(PrivateGraph(of, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    assert model.sample(public_generator(1), no_progress).edges["rates"].values.count == 0


def test_a_model_is_kept_whole(tmp_path: Path):
    model, _ = fit(graph(STARS, HOUR, steps=2), 1, 0.5, Unit.EVENT)
    model.save(tmp_path / "model")
    back = DCSBM.load(tmp_path / "model")
    drawn = [each.sample(public_generator(7), no_progress) for each in (model, back)]
    assert drawn[0].equals(drawn[1])
    bare = model.structure.sample(public_generator(7), no_progress).edges["rates"]
    assert np.array_equal(drawn[0].edges["rates"].source, bare.source)  # values come to edges as they are


def test_bins_divide_what_is_declared():
    assert [bins_of(each).count for each in (STARS, SORT, HOUR)] == [5, 3, 24]
    wide = EdgeAttribute(name="n", kind="integer", bounds=(-1000, 2**31 - 2), aggregate="sum")
    fine = bins_of(wide)
    assert (fine.count, fine.starts[0], fine.end) == (64, -1000, 2**31 - 1)
    cut = bins_of(AMOUNT.model_copy(update={"cuts": (0.5, 2.0)}))
    assert cut.places(np.array([0, 0.49, 0.5, 1.9, 2, 10])).tolist() == [0, 0, 1, 1, 2, 2]
    one = bins_of(AMOUNT.model_copy(update={"bounds": (3, 3)}))
    assert one.values(one.places(np.array([3.0])), np.array([0.9])).tolist() == [3.0]
    for each in (*KINDS, wide):
        found = bins_of(each)
        places = np.arange(found.count)
        for share in (0.0, 0.5, 0.999999):
            values = found.values(places, np.full(found.count, share))
            assert np.array_equal(found.places(values), places)
    assert bins_of(HOUR).end == DAY_SECONDS

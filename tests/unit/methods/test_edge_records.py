"""Relations that keep each record: what their tables cost, what is drawn, and whole fits on neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.views.records import each_alone, records_per_edge
from core.methods import registry
from core.methods._shared.frame.plan import plan_of
from core.methods._shared.values import fit as fitting
from core.methods._shared.values.draw import drawn_numbers, with_total
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import Pure
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit, edges_of_unit
from core.publishing.checks import check_protects
from tests.support.fit_losses import Asked, Losses, loss

NANO = 10**9
NODES, CAP = 100, 6
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5))
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"))
UNITS = ((Unit.EDGE, 0, None), (Unit.EVENT, 3, None), (Unit.W_EVENT, 3, 2), (Unit.PAIR, 3, None))


def schema_of(nodes: int, steps: int, cap: int, *attributes: EdgeAttribute, **declared: Any) -> GraphSchema:
    relation = EdgeType(
        name="pays",
        temporal=steps > 0,
        attributes=attributes,
        multiplicity="each",
        records_per_slot=cap,
        **declared,
    )
    time = TimeGrid(count=steps) if steps else None
    return GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(relation,), time=time)


def paying(steps: int = 0) -> Graph:
    """Nodes of the first half pay often and give many stars, the others once and few."""
    rng = np.random.default_rng(5)
    source, target = np.triu_indices(NODES, 1)
    kept = rng.random(len(source)) < 0.25
    times = max(steps, 1)
    source, target = np.tile(source[kept], times), np.tile(target[kept], times)
    step = np.repeat(np.arange(times), int(kept.sum()))
    often = (source < NODES // 2).astype(int) + (target < NODES // 2)
    edge = np.repeat(np.arange(len(source)), 1 + often * rng.integers(0, 3, len(source)))
    stars = np.clip(1 + 2 * often[edge] + rng.integers(0, 2, len(edge)), 1, 5)
    values = EdgeValues({"stars": stars, "sort": stars % 3}, edge)
    table = EdgeTable(source, target, step if steps else None, values)
    return Graph.build(schema_of(NODES, steps, CAP, STARS, SORT), {}, {"pays": table})


def fitted(name: str, of: Graph, epsilon: float, share: float, unit: Unit, window: int | None) -> Any:
    method = registry.get(name)
    params = method.Params(attribute_share=share)
    facts = PublicFacts(of.schema, unit, window, int(epsilon * NANO), 0, ("pays",))
    plan = method.plan(params, facts)
    meter = Meter(plan, MemoryRecorder())
    return method.fit(PrivateGraph(of, meter), plan, params, no_progress), meter, method


@pytest.mark.parametrize(("unit", "steps", "window"), UNITS)
def test_records_are_paid_for_drawn_and_kept_under_every_unit(
    unit: Unit, steps: int, window: int | None, tmp_path: Path
):
    model, meter, method = fitted("dcsbm", paying(steps), 4, 0.5, unit, window)
    own = method.values_plan(meter.plan)
    assert 2 * NANO - 1000 <= own.cost().nano_epsilon <= 2 * NANO
    asked = {each.query for each in meter.measurements if each.query.startswith(("value", "record"))}
    assert {"value_histogram", "record_histogram", "values_by_classes", "records_by_classes"} <= asked
    model.save(tmp_path / "model")
    drawn = [m.sample(public_generator(3), no_progress) for m in (model, method.load(tmp_path / "model"))]
    assert drawn[0].equals(drawn[1])
    table = drawn[0].edges["pays"]
    counts = records_per_edge(table)
    assert 1 <= counts.min() < counts.max() <= CAP
    assert set(table.values.columns) == {"stars", "sort"}
    assert table.values.count == counts.sum()


def test_with_little_noise_how_many_records_and_what_they_carry_is_kept():
    of = paying()
    model, _, _ = fitted("anchored", of, 800, 0.5, Unit.EDGE, None)
    drawn = model.sample(public_generator(3), no_progress)
    tables = [each.edges["pays"] for each in (of, drawn)]
    for found in (
        [np.bincount(records_per_edge(each), minlength=CAP + 1) for each in tables],
        [np.bincount(each.values.columns["stars"], minlength=6) for each in tables],
    ):
        shares = [each / each.sum() for each in found]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.05
    # Of whom records come, and whose are many stars.
    of_nodes = [np.bincount(each_alone(each).source, minlength=NODES) for each in tables]
    assert np.corrcoef(*of_nodes)[0, 1] > 0.9
    rich = [each_alone(each).source[each.values.columns["stars"] == 5] for each in tables]
    assert np.corrcoef(*(np.bincount(each, minlength=NODES) for each in rich))[0, 1] > 0.9


@pytest.mark.parametrize("live", [False, True], ids=["whole", "live"])
def test_what_periods_tell_weighs_by_the_noise_of_all_records_of_an_edge(
    live: bool, monkeypatch: pytest.MonkeyPatch
):
    """A period's counts are drawn towards those of all periods by their noise, which grows with the cap."""
    scales = []

    def weighed(counts: np.ndarray, expected: np.ndarray, scale: float) -> np.ndarray:
        scales.append((len(counts), round(float(scale), 3)))
        return np.broadcast_to(expected, counts.shape)

    monkeypatch.setattr(fitting, "shares_of", weighed)
    monkeypatch.setattr(fitting, "pair_shares", lambda *_: np.ones(1))
    of, cost = paying(1 if live else 3), NANO
    cells = tuple(Allotment("pays", step, Pure(cost, "test"), "test") for step in of.schema.steps_of("pays"))
    plan = PrivacyPlan("test", Unit.EVENT, None, of.schema.steps, cells)
    reads = PrivateGraph(of, Meter(plan, MemoryRecorder())).edge_values("pays", "stars")
    drawn = reads.counted(of.edges["pays"])
    if live:
        _, before = fitting.paid_step(reads, drawn, cost // 2, None, 0)
        fitting.paid_step(reads, drawn, cost // 2, before, 1)
        read = fitting.costs_of(cost // 2, 1)[0]
    else:
        fitting.paid(reads, drawn, 3, cost)
        read = fitting.costs_of(cost, 3)[2]
    assert scales[-1] == (1 if live else 3, round(CAP * NANO / read, 3))


STATES = ((), (1,), (5,), (1, 1), (1, 5))
PAIRS = list(itertools.combinations(range(3), 2))


def tiny(states: tuple[tuple[int, ...], ...], steps: int, **declared: Any) -> Graph:
    slots = [(a, b, t) for t in range(max(steps, 1)) for a, b in PAIRS]
    rows = [slot for slot, held in zip(slots, states, strict=True) if held]
    source, target, step = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    held = [each for each in states if each]
    edge = np.repeat(np.arange(len(held)), [len(each) for each in held])
    stars = np.array([star for each in held for star in each], dtype=np.int32)
    table = EdgeTable(source, target, step if steps else None, EdgeValues({"stars": stars}, edge))
    return Graph.build(schema_of(3, steps, 2, STARS, **declared), {}, {"pays": table})


def asked_by(losses: Losses, unit: Unit, steps: int, states: tuple[tuple[int, ...], ...]) -> Asked:
    window = 2 if unit is Unit.W_EVENT else None
    return losses.of(fitted, "dcsbm", tiny(states, steps), 1, 0.5, unit, window)


def worst(losses: Losses, unit: Unit, steps: int) -> Fraction:
    """The largest loss between whole fits on graphs that differ in one unit, from a few to its neighbours."""
    times = max(steps, 1)
    few = [((1, 5),) * 3 * times, ((1,), (), (5, 5)) * times, ((), (1, 1), ()) * times]
    found = Fraction(0)
    for states in few:
        here = asked_by(losses, unit, steps, states)
        for pair in range(3):
            slots = range(pair, 3 * times, 3) if unit in (Unit.PAIR, Unit.W_EVENT) else (pair,)
            other = tuple(() if place in slots else held for place, held in enumerate(states))
            found = max(found, loss(here, asked_by(losses, unit, steps, other)))
    return found


@pytest.mark.parametrize(
    ("unit", "steps"), [(Unit.EDGE, 0), (Unit.EVENT, 2), (Unit.W_EVENT, 2), (Unit.PAIR, 2)]
)
def test_no_whole_fit_tells_two_neighbours_apart_by_more_than_epsilon(
    unit: Unit, steps: int, monkeypatch: pytest.MonkeyPatch
):
    assert 0.3 * NANO < worst(Losses(monkeypatch), unit, steps) <= NANO


@pytest.mark.parametrize(("unit", "steps"), [(Unit.EDGE, 0), (Unit.PAIR, 2)])
def test_slots_that_are_not_capped_show_in_the_loss_of_whole_fits(
    unit: Unit, steps: int, monkeypatch: pytest.MonkeyPatch
):
    losses = Losses(monkeypatch)
    charged = worst(losses, unit, steps)
    if unit is Unit.EDGE:  # what an edge's records move counts once
        monkeypatch.setattr("core.privacy.reads.edge_values.records_of_unit", edges_of_unit)
    else:  # a pair's records of all steps count
        monkeypatch.setattr("core.privacy.reads.edge_values.counted", lambda table, most, by_pair: table)
    assert worst(losses, unit, steps) > 1.2 * charged


def worst_of_records(losses: Losses, unit: Unit, steps: int, share: float) -> Fraction:
    """The largest loss between whole fits on graphs that differ in one record, under records apart."""
    times = max(steps, 1)
    few = [((1, 5),) * 3 * times, ((1,), (), (5, 5)) * times, ((), (1, 1), ()) * times]
    found = Fraction(0)
    for states in few:
        here = losses.of(fitted, "dcsbm", tiny(states, steps, records_apart=True), 1, share, unit, None)
        for place, held in enumerate(states):
            for record in range(len(held)):
                left = held[:record] + held[record + 1 :]
                other = tiny((*states[:place], left, *states[place + 1 :]), steps, records_apart=True)
                found = max(found, loss(here, losses.of(fitted, "dcsbm", other, 1, share, unit, None)))
    return found


@pytest.mark.parametrize(("unit", "steps"), [(Unit.EDGE, 0), (Unit.EVENT, 2)])
@pytest.mark.parametrize("share", [0.25, 0.9])
def test_no_whole_fit_tells_one_record_by_more_than_epsilon_whatever_the_share(
    unit: Unit, steps: int, share: float, monkeypatch: pytest.MonkeyPatch
):
    assert 0.3 * NANO < worst_of_records(Losses(monkeypatch), unit, steps, share) <= NANO


@pytest.mark.parametrize(("unit", "steps"), [(Unit.EDGE, 0), (Unit.EVENT, 3)])
def test_as_many_records_are_drawn_as_values_were_counted(unit: Unit, steps: int):
    """A cap far above what edges have makes noisy numbers useless for the sum; counts of values tell it."""
    few = paying(steps)
    wide = schema_of(NODES, steps, 60, STARS, SORT, records_apart=True)
    of = Graph.build(wide, {}, dict(few.edges))
    count = of.edges["pays"].values.count
    for _ in range(3):
        model, meter, _ = fitted("dcsbm", of, 4, 0.5, unit, None)
        histogram = [each for each in meter.measurements if each.query == "value_histogram"]
        told = [abs(np.asarray(each.values).sum() - count) / count for each in histogram]
        drawn = model.sample(public_generator(3), no_progress).edges["pays"]
        if abs(drawn.values.count - count) / count <= max(0.1, 2 * max(told)):
            return
    pytest.fail(f"{drawn.values.count} records in place of {count}")


def test_a_sum_that_no_numbers_could_have_moves_them_to_the_end():
    of = Graph.build(schema_of(NODES, 0, CAP, STARS, SORT, records_apart=True), {}, dict(paying().edges))
    model, _, _ = fitted("dcsbm", of, 800, 0.5, Unit.EDGE, None)
    tables, edges = model.tables.cells, of.edges["pays"].bare()
    means = []
    for total in (-50.0, 1e9):
        numbers = with_total(tables["pays", 2], total, edges, of.schema.edge_types[0])
        found = drawn_numbers(numbers, edges, of.schema.edge_types[0], True, public_generator(3))
        assert 1 <= found.min() <= found.max() <= CAP
        means.append(found.mean())
    assert means[0] < 2 < 4 < means[1]


def test_values_whose_noise_is_for_half_a_record_show_in_the_loss_of_whole_fits(
    monkeypatch: pytest.MonkeyPatch,
):
    losses = Losses(monkeypatch)
    answer = losses.answer

    def bold(values: Any, l1_sensitivity: int, nano_epsilon: int) -> Any:
        return answer(values, l1_sensitivity, 2 * nano_epsilon)

    monkeypatch.setattr("core.privacy.mechanisms.noise.discrete_laplace", bold)
    assert worst_of_records(losses, Unit.EDGE, 0, 0.9) > NANO


def test_the_plan_the_reads_and_the_promise_know_that_one_record_is_the_unit():
    of = tiny(((1, 5), (1,), ()), 0, records_apart=True)
    _, meter, method = fitted("dcsbm", of, 4, 0.5, Unit.EDGE, None)
    assert meter.plan.apart == ("pays",)
    assert PrivacyPlan.from_json(meter.plan.to_json()) == meter.plan
    plain = fitted("dcsbm", tiny(((1,), (), ()), 0), 4, 0.5, Unit.EDGE, None)[1].plan
    assert meter.plan.allotments == plain.allotments
    assert meter.plan.digest() != plain.digest()
    promised = guarantee_of(meter.plan, meter.transcript, 0)
    assert "of pays, in any one record of one edge" in promised.statement
    facts = PublicFacts(of.schema, Unit.NODE, None, NANO, 0, ("pays",))
    with pytest.raises(NotAccepted, match="are apart"):
        plan_of("test", facts, meter.plan.allotments)
    timed = schema_of(3, 2, 2, STARS, records_apart=True)
    for unit in (Unit.PAIR, Unit.W_EVENT):
        facts = PublicFacts(timed, unit, 1 if unit is Unit.W_EVENT else None, NANO, 0, ("pays",))
        with pytest.raises(NotAccepted, match="are apart"):
            method.plan(method.Params(), facts)
        with pytest.raises(InvalidInput, match="are apart"):
            check_protects(timed, unit, facts.window)


@pytest.mark.parametrize(
    "declared",
    [
        {"attributes": (STARS.model_copy(update={"aggregate": "max"}),)},
        {"attributes": (STARS,), "multiplicity": "each", "records_per_slot": 2, "overflow": "last"},
    ],
    ids=["merged", "overflow"],
)
def test_records_of_which_one_more_changes_others_are_not_apart(declared: dict[str, Any]):
    with pytest.raises(ValueError, match="records_apart needs"):
        EdgeType(temporal=True, records_apart=True, **declared)

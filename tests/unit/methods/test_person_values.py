"""What edges carry under unit node: every replacement of a person, whole fits on neighbours, and what comes
through."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute
from core.graphs.views.records import each_alone, records_per_edge
from core.methods import registry
from core.methods._shared.values.share import PURPOSE
from core.methods.base import PublicFacts, no_progress
from core.methods.profiles import GENERATOR as PROFILES
from core.methods.profiles.budget import noises
from core.methods.projection import GENERATOR as PROJECTION
from core.methods.projection.values import valued
from core.privacy.accounting.events import NANO, GaussianEvent, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.reads import people_things
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.reports.precision import planned, within
from core.workflows.jobs.questions import told as expected
from tests.support.typed_neighbours import told
from tests.unit.methods.profiles.test_profiles_neighbours import require_hidden

DELTA_ATTO, CAP = 10**12, 2
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3))
MERGED = STARS.model_copy(update={"aggregate": Aggregate.MAX})
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"))
EACH = {"multiplicity": "each", "records_per_slot": CAP}
Held = tuple[int, ...]
"""The stars of the records of one edge; () where there is none."""
STATES: tuple[Held, ...] = ((), (1,), (3,), (1, 1), (1, 3))


def things_schema(persons: int, things: int, steps: int, *attributes: EdgeAttribute, **declared: Any):
    relation = EdgeType(
        name="rates", source="user", target="film", temporal=steps > 0, attributes=attributes, **declared
    )
    kinds = (NodeType(name="user", count=persons, protected=True), NodeType(name="film", count=things))
    time = TimeGrid(count=steps) if steps else None
    return GraphSchema(node_types=kinds, edge_types=(relation,), time=time)


TINY = things_schema(3, 2, 2, STARS, **EACH)
SLOTS = list(itertools.product(range(2), range(2)))
"""Things and steps."""


def records_of(persons: Iterable[tuple[Held, ...]]) -> Graph:
    rows = [
        (user, thing, step, held)
        for user, own in enumerate(persons)
        for (thing, step), held in zip(SLOTS, own, strict=True)
        if held
    ]
    source, target, step = np.array([row[:3] for row in rows], dtype=np.int64).reshape(-1, 3).T
    edge = np.repeat(np.arange(len(rows)), [len(row[3]) for row in rows]).astype(np.int64)
    stars = np.array([star for row in rows for star in row[3]], dtype=np.int32)
    table = EdgeTable(source, target, step, EdgeValues({"stars": stars}, edge))
    return Graph.build(TINY, {}, {"rates": table})


OTHERS = ((1,), (), (1, 3), ()), ((), (3,), (3,), (1, 1))
RECORDS = list(itertools.product(STATES, repeat=len(SLOTS)))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, int]]:
    """What noise was asked to hide, and its standard deviation."""
    found: list[tuple[np.ndarray, int]] = []

    def wide(rng, values, scale):
        found.append((values.copy(), scale))
        return values.copy()

    monkeypatch.setattr(samplers, "add_discrete_gaussian_wide", wide)
    return found


def farthest(answers: list[tuple[np.ndarray, int]], attribute: str | None, bound: int) -> float:
    """The largest squared distance between answers about any two records of one person, beside the noise."""
    sigma = Fraction(3, 2)
    for record in RECORDS[::4]:
        granted = (Allotment(WHOLE_GRAPH, None, GaussianEvent(sigma), "x"),)
        meter = Meter(PrivacyPlan("t", Unit.NODE, None, 2, granted, DELTA_ATTO), MemoryRecorder())
        reads = PrivateGraph(records_of([OTHERS[0], record, OTHERS[1]]), meter).people_and_things()
        reads.value_totals(
            "rates",
            attribute,
            things=np.arange(2),
            periods=np.arange(2),
            labels=np.array([0, 0, 1])[: 3 if attribute else CAP],
            bound=bound,
            noise=sigma,
            purpose="x",
        )
    (scale,) = {scale for _, scale in answers}
    points = np.array([values for values, _ in answers]).astype(np.float64)
    apart = max(float(np.square(points - point).sum(axis=1).max()) for point in points)
    return apart * float(sigma) ** 2 / scale**2


@pytest.mark.parametrize("attribute", ["stars", None])
@pytest.mark.parametrize("bound", [1, 2, 3])
def test_no_replacement_of_a_person_moves_values_farther_than_the_noise_hides(answers, attribute, bound):
    found = farthest(answers, attribute, bound)
    assert found <= 1 + 1e-9
    if bound < 3:
        assert found > 0.97  # and some by as much


def test_persons_whose_records_are_not_clipped_are_caught(answers, monkeypatch):
    monkeypatch.setattr(
        people_things,
        "clipped_weights",
        lambda squared, bound, radius: np.full(len(squared), math.isqrt(radius**2 // bound)),
    )
    assert farthest(answers, "stars", 2) > 1.5


def test_neighbours_of_whole_fits_of_profiles_differ_in_what_the_noise_hides_alone(tmp_path: Path):
    facts = PublicFacts(TINY, Unit.NODE, None, 2 * NANO, DELTA_ATTO, ("rates",))
    params = PROFILES.Params(attribute_share=0.5)
    fits = [
        told(PROFILES, params, facts, records_of([OTHERS[0], record, OTHERS[1]]), tmp_path / str(number))
        for number, record in enumerate(RECORDS[:: len(RECORDS) // 24])
    ]
    assert require_hidden(fits) > 0.9
    purposes = {entry[3] for entry in fits[0].recorded}
    assert {f"{what} of rates" for what in ("values", "values by thing", "records")} <= purposes


def rated(each: bool) -> Graph:
    """Every third film gets few stars and many records; persons are alike."""
    declared = EACH if each else {}
    stars, sort = (STARS, SORT) if each else (MERGED, SORT.model_copy(update={"aggregate": Aggregate.MAX}))
    rng, persons, things = np.random.default_rng(1), 1500, 30
    person = np.repeat(np.arange(persons), rng.integers(2, 12, persons))
    pairs = np.unique(np.stack([person, rng.integers(0, things, len(person))]), axis=1)
    bad = pairs[1] % 3 == 0
    edge = np.repeat(np.arange(pairs.shape[1]), 1 + (bad if each else 0 * bad))
    value = np.where(bad[edge], 1, 2 + rng.integers(0, 2, len(edge)))
    values = EdgeValues({"stars": value, "sort": value - 1}, edge if each else None)
    schema = things_schema(persons, things, 0, stars, sort, **declared)
    return Graph.build(schema, {}, {"rates": EdgeTable(*pairs, None, values)})


def fitted(method: str, of: Graph, epsilon: float, share: float, **params: Any):
    generator = registry.get(method)
    chosen = generator.Params(attribute_share=share, **params)
    delta = DELTA_ATTO if method == "profiles" else 0
    names = tuple(each.name for each in of.schema.edge_types)
    facts = PublicFacts(of.schema, Unit.NODE, None, int(epsilon * NANO), delta, names)
    plan = generator.plan(chosen, facts)
    meter = Meter(plan, MemoryRecorder())
    return generator.fit(PrivateGraph(of, meter), plan, chosen, no_progress), plan, generator


@pytest.mark.parametrize("each", [False, True])
def test_things_keep_what_their_edges_carry_and_the_job_costs_no_more(each: bool, tmp_path: Path):
    of = rated(each)
    model, plan, generator = fitted("profiles", of, 8, 0.5)
    assert 7.9 * NANO < plan.cost().nano_epsilon <= 8 * NANO
    assert 0 < generator.values_plan(plan).cost().nano_epsilon < plan.cost().nano_epsilon
    model.save(tmp_path / "model")
    drawn = [m.sample(public_generator(1), no_progress) for m in (model, generator.load(tmp_path / "model"))]
    assert drawn[0].equals(drawn[1])
    tables = [each_alone(graph.edges["rates"]) for graph in (of, drawn[0])]
    means = []
    for table in tables:
        sums = np.bincount(table.target, weights=table.values.columns["stars"], minlength=30)
        means.append(sums / np.maximum(np.bincount(table.target, minlength=30), 1))
    assert np.corrcoef(*means)[0, 1] > 0.9
    shares = [np.bincount(table.values.columns["sort"], minlength=3) / table.count for table in tables]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.06
    if each:
        counts = [records_per_edge(graph.edges["rates"]) for graph in (of, drawn[0])]
        assert counts[1].max() == CAP
        assert abs(counts[0].mean() - counts[1].mean()) < 0.1


PAIRS = list(itertools.combinations(range(4), 2))
BOUND = 2


def people_schema(count: int, bound: int | None, **declared: Any) -> GraphSchema:
    group = Attribute(name="team", protection="public", label=True, categories=("x", "y"))
    kind = NodeType(name="user", count=count, protected=True, degree_bound=bound, attributes=(group,))
    attributes = (STARS if declared else MERGED,)
    relation = EdgeType(name="knows", source="user", target="user", attributes=attributes, **declared)
    return GraphSchema(node_types=(kind,), edge_types=(relation,))


def acquainted(states: tuple[Held, ...], bound: int | None = BOUND) -> Graph:
    rows = [(pair, held) for pair, held in zip(PAIRS, states, strict=True) if held]
    source, target = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, 2).T
    edge = np.repeat(np.arange(len(rows)), [len(row[1]) for row in rows]).astype(np.int64)
    stars = np.array([star for row in rows for star in row[1]], dtype=np.int32)
    import pyarrow as pa

    nodes = {"user": NodeTable(4, None, {"team": pa.array(["x", "x", "y", "y"])})}
    table = EdgeTable(source, target, None, EdgeValues({"stars": stars}, edge))
    return Graph.build(people_schema(4, bound, **EACH), nodes, {"knows": table})


def paid_for(graph: Graph, model: Any, asked: list[tuple[np.ndarray, Fraction]]) -> list[tuple]:
    """What the values of one graph are asked with, under a model that is the same for all."""
    asked.clear()
    granted = (Allotment(WHOLE_GRAPH, None, Pure(NANO, "x"), "x"),)
    meter = Meter(PrivacyPlan("t", Unit.NODE, None, 1, granted), MemoryRecorder())
    door = PrivateGraph(graph, meter).people("knows")
    valued(model, door, NANO, "team" if door.kind.degree_bound else None)
    return list(asked)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, Fraction]]:
    found: list[tuple[np.ndarray, Fraction]] = []

    def answer(values, l1_sensitivity, nano_epsilon):
        found.append((np.array(values), Fraction(nano_epsilon, l1_sensitivity)))
        return np.arange(np.size(values)).reshape(np.shape(values)) % 5 + 1

    monkeypatch.setattr(mechanisms, "discrete_laplace", answer)
    monkeypatch.setattr("core.methods.projection.values.noise_generator", lambda: public_generator(4))
    return found


def worst_replacement(asked: list[tuple[np.ndarray, Fraction]], bound: int | None = BOUND) -> Fraction:
    """The most that values tell any two neighbours, those under a bound, apart by, in nano-epsilon."""
    few: tuple[Held, ...] = ((), (1, 1), (3, 3))
    model, _, _ = fitted("projection", acquainted(((1,), (), (3,), (), (), (1,)), bound), 1, 0)
    families: dict[tuple, list] = {}
    for states in itertools.product(few, repeat=len(PAIRS)):
        degrees = np.bincount(np.array([p for p, s in zip(PAIRS, states, strict=True) if s], int).ravel())
        if bound is None or degrees.max(initial=0) <= bound:
            found = paid_for(acquainted(states, bound), model, asked)
            rest = tuple(state for pair, state in zip(PAIRS, states, strict=True) if 0 not in pair)
            families.setdefault(rest, []).append(found)
    most = Fraction(0)
    for own in families.values():
        for one, other in itertools.combinations(own, 2):
            spent = [
                rate * int(np.abs(ours - theirs).sum())
                for (ours, rate), (theirs, _) in zip(one, other, strict=True)
            ]
            most = max(most, sum(spent, Fraction(0)))
    return most


def test_no_replacement_under_the_declared_bound_tells_more_than_values_cost(asked):
    assert 0.7 * NANO < worst_replacement(asked) <= NANO


@pytest.mark.audits
@pytest.mark.parametrize("theta", [1, 2])
def test_no_replacement_without_a_bound_tells_more_than_values_cost(asked, theta, monkeypatch):
    monkeypatch.setattr("core.methods.projection.values._theta", lambda *_: theta)
    monkeypatch.setattr("core.methods.projection.values._thetas", lambda *given: [theta] * len(given[3]))
    monkeypatch.setattr("core.methods.projection.values.CLASS_NOISE", 1e9)
    assert 0.6 * NANO < worst_replacement(asked, None) <= NANO


@pytest.mark.audits
def test_thetas_for_one_class_alone_are_caught(asked, monkeypatch):
    """The planted mistake: noise for the largest theta, where a person has a copy in every class."""
    from core.privacy.mechanisms import projection

    sound = projection.class_counts
    monkeypatch.setattr(
        projection, "class_counts", lambda thetas, bound: (max(thetas), sound(thetas, bound)[1])
    )
    monkeypatch.setattr("core.methods.projection.values.CLASS_NOISE", 1e9)
    assert worst_replacement(asked, None) > 1.2 * NANO


@pytest.mark.audits
def test_a_person_whose_edges_count_once_is_caught(asked, monkeypatch):
    """The planted mistake: noise for a person's edges before, and not for those after."""
    from core.privacy.reads.bounded_values import BoundedValues

    true = BoundedValues.__init__

    def half(self, *given):
        true(self, *given)
        self.multiplicity //= 2

    monkeypatch.setattr(BoundedValues, "__init__", half)
    assert worst_replacement(asked) > 1.2 * NANO


def test_groups_keep_what_goes_on_between_them(tmp_path: Path):
    rng, count = np.random.default_rng(2), 400
    source, target = np.triu_indices(count, 1)
    kept = rng.random(len(source)) < 0.03
    source, target = source[kept], target[kept]
    stars = np.where(source % 2 == target % 2, 3, 1 + rng.integers(0, 2, len(source)))
    import pyarrow as pa

    nodes = {"user": NodeTable(count, None, {"team": pa.array(["xy"[node % 2] for node in range(count)])})}
    table = EdgeTable(source, target, None, EdgeValues({"stars": stars}))
    of = Graph.build(people_schema(count, 30), nodes, {"knows": table})
    model, plan, generator = fitted("projection", of, 40, 0.5, triangle_share=0.0)
    assert plan.cost().nano_epsilon == 40 * NANO
    assert generator.values_plan(plan).cost().nano_epsilon == 20 * NANO
    model.save(tmp_path / "model")
    drawn = [m.sample(public_generator(1), no_progress) for m in (model, generator.load(tmp_path / "model"))]
    assert drawn[0].equals(drawn[1])
    found = drawn[0].edges["knows"]
    same = found.source % 2 == found.target % 2
    assert found.values.columns["stars"][same].mean() > 2.7
    assert found.values.columns["stars"][~same].mean() < 1.8


def test_values_come_through_without_a_bound_and_cost_what_was_set_aside():
    """Few of many stars, of persons who know some or many."""
    rng, count = np.random.default_rng(2), 3_000
    source, target = rng.integers(0, count, (2, 12_000)), rng.zipf(2.0, (2, 4_000)) % count
    pairs = np.unique(np.sort(np.concatenate([source, target], axis=1), axis=0), axis=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    stars = rng.choice([1, 2, 3], pairs.shape[1], p=[0.1, 0.2, 0.7])
    table = EdgeTable(*pairs, None, EdgeValues({"stars": stars}))
    schema = people_schema(count, None)
    import pyarrow as pa

    nodes = {"user": NodeTable(count, None, {"team": pa.array(["x"] * count)})}
    of = Graph.build(schema, nodes, {"knows": table})
    model, plan, generator = fitted("projection", of, 4, 0.5)
    assert generator.values_plan(plan).cost().nano_epsilon == 2 * NANO
    drawn = model.sample(public_generator(1), no_progress).edges["knows"].values.columns["stars"]
    shares = [np.bincount(each, minlength=4)[1:] / len(each) for each in (stars, drawn)]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.04


def test_the_noise_of_tables_between_persons_is_told_beforehand():
    """As their declared bound has it, and as fits ask for it."""
    schema = people_schema(4, 30)
    params = PROJECTION.Params(attribute_share=0.5)
    plan = PROJECTION.plan(params, PublicFacts(schema, Unit.NODE, None, 4 * NANO, 0, ("knows",)))
    reads = PROJECTION.planned_reads(params, plan, schema, {"user": 4})
    assert [(each.query, each.nano_epsilon, each.moved) for each in reads] == [
        ("value_histogram", (int(0.8 * 0.65 * NANO),), 60),
        ("values_by_classes", (int(1.2 * NANO),), 60),
    ]
    lines = planned(Unit.NODE, schema, plan, reads)
    told = ["of no person more than a threshold" in each.quantity for each in lines]
    assert told == [True, False]  # the second is of all that the bound allows
    assert [each.within for each in lines] == [
        within(Fraction(60 * NANO, each.nano_epsilon[0]), 0.95) for each in reads
    ]
    assert PROJECTION.planned_reads(PROJECTION.Params(), plan.without(PURPOSE), schema, {"user": 4}) == []


@pytest.mark.parametrize("steps", [1, 3])
def test_the_noise_of_sums_over_persons_is_told_under_a_declared_bound(steps: int):
    """Of all things together and of each, for persons clipped at it; with time in every period."""
    schema = things_schema(3, 2, steps, MERGED)
    kinds = tuple(
        kind.model_copy(update={"degree_bound": 25}) if kind.protected else kind for kind in schema.node_types
    )
    schema = schema.model_copy(update={"node_types": kinds})
    params, names = PROFILES.Params(attribute_share=0.5), tuple(each.name for each in schema.edge_types)
    plan = PROFILES.plan(params, PublicFacts(schema, Unit.NODE, None, 4 * NANO, DELTA_ATTO, names))
    nodes = {kind.name: kind.count or 0 for kind in kinds}
    found = {each.question: each for each in expected(PROFILES, params, plan, schema, nodes, None, names)[1]}
    noise = noises(plan)
    for what, question in (("values", "value_total"), ("values by thing", "thing_value_total")):
        deviation = float(noise[f"{what} of {names[0]}"]) * np.sqrt(2 * 25)
        answer = found[f"{question}_within_95"]
        assert answer.value == pytest.approx(1.96 * deviation, abs=1.01)
        assert ("one period" in answer.unit) == (what == "values" and steps > 1)


@pytest.mark.parametrize("method", ["profiles", "projection"])
def test_a_share_for_edges_that_carry_nothing_is_refused(method: str):
    generator = PROFILES if method == "profiles" else PROJECTION
    schema = (
        things_schema(3, 2, 0)
        if method == "profiles"
        else GraphSchema(
            node_types=(NodeType(name="user", count=4, protected=True, degree_bound=2),),
            edge_types=(EdgeType(name="knows", source="user", target="user"),),
        )
    )
    names = tuple(each.name for each in schema.edge_types)
    facts = PublicFacts(schema, Unit.NODE, None, NANO, DELTA_ATTO if method == "profiles" else 0, names)
    with pytest.raises(NotAccepted) as refused:
        generator.plan(generator.Params(attribute_share=0.2), facts)
    assert refused.value.members["field"] == "attribute_share"

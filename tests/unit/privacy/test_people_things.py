"""Reads of persons and things: every replacement of one person's edges, sums, noise, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest

from core.errors import InvalidInput, MeterClosed, NotAccepted, PlanExceeded
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.privacy.accounting.events import NANO, GaussianEvent, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.reads import people_things
from core.privacy.reads.people_things import Edges, Noise, Noisy, PeopleAndThings
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.generating import graph_of
from tests.support.replaced_persons import (
    CLASS,
    GENRES,
    PLAIN,
    TIMED,
    built,
    records,
    schema_of,
    some_records,
)

SIGMA = Fraction(3, 2)
SCHEMAS = {
    "rates": schema_of(TIMED),
    "owns": schema_of(PLAIN, films=6),
    "works": schema_of(CLASS.model_copy(update={"functional": False}), jobs=4),  # no proof rests on the fact
}
ATTRIBUTES = np.array([[1.0, 0.3], [-1.0, 0.5], [0.2, -1.2]])


EPSILON = Pure(NANO // 2, "discrete laplace")


def reads_of(graph: Graph, times: int = 1, *, pure: bool = False) -> tuple[PeopleAndThings, Meter]:
    event = EPSILON if pure else GaussianEvent(SIGMA)
    allotments = tuple(Allotment(WHOLE_GRAPH, None, event, "x") for _ in range(times))
    plan = PrivacyPlan("t", Unit.NODE, None, graph.schema.steps, allotments, 0 if pure else 10**12)
    meter = Meter(plan, MemoryRecorder())
    return PrivateGraph(graph, meter).people_and_things(), meter


def degree(reads: PeopleAndThings, name: str, noise: Noise = SIGMA) -> Noisy:
    bounds = np.array([0, 1, 2, 4])
    return reads.degree_histogram(name, bounds=bounds, noise=noise, purpose="p")


def active(reads: PeopleAndThings, name: str, noise: Noise = SIGMA) -> Noisy:
    periods = np.arange(reads._schema.steps)
    return reads.activity_histogram(name, periods=periods, bounds=np.array([1, 2]), noise=noise, purpose="p")


def classes(reads: PeopleAndThings, name: str, noise: Noise = SIGMA) -> Noisy:
    return reads.class_histogram(name, noise=noise, purpose="p")


def totals(bound: int, apart: bool) -> Callable[..., Noisy]:
    def read(reads: PeopleAndThings, name: str, noise: Noise = SIGMA) -> Noisy:
        periods = np.arange(reads._schema.steps) * apart
        return reads.thing_totals(name, periods=periods, bound=bound, noise=noise, purpose="p")

    return read


def moments(clip: float) -> Callable[[PeopleAndThings, str], Noisy]:
    def read(reads: PeopleAndThings, name: str) -> Noisy:
        things = reads._sizes(name)[1]
        rows = np.resize(ATTRIBUTES, (things, 2))
        return reads.second_moments(name, attributes=rows, clip=clip, noise=SIGMA, purpose="p")

    return read


def single_things(reads: PeopleAndThings, name: str) -> Noisy:
    """Moments of columns that are single things: what persons take, by the root of their edges."""
    rows = np.eye(reads._sizes(name)[1])
    return reads.second_moments(name, attributes=rows, clip=1.0, noise=SIGMA, purpose="p")


READS: dict[str, Callable[[PeopleAndThings, str], Noisy]] = {
    "degrees": degree,
    "activity": active,
    "classes": classes,
    **{f"totals within {bound}": totals(bound, False) for bound in (1, 2, 3, 100)},
    **{f"steps within {bound}": totals(bound, True) for bound in (1, 2, 3)},
    **{f"moments within {clip}": moments(clip) for clip in (0.3, 1.0, 3.0)},
    "moments of single things": single_things,
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, int]]:
    """What noise was asked to hide, and its standard deviation; nothing is added."""
    found: list[tuple[np.ndarray, int]] = []

    def wide(rng, values, scale):
        found.append((values.copy(), scale))
        return values.copy()

    monkeypatch.setattr(samplers, "add_discrete_gaussian_wide", wide)
    return found


def farthest(told: list, schema: GraphSchema, name: str, read: Callable, others: int = 2) -> float:
    """The largest squared distance between answers about a person's records, by what noise is made for."""
    kept = some_records(schema, others)
    for record in records(schema):
        read(reads_of(built(schema, [kept[0], record, *kept[1:]]))[0], name)
    (scale,) = {scale for _, scale in told}
    points = [[int(x) for x in values] for values, _ in told]
    assert len({len(values) for values in points}) == 1
    most = max(
        sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for i, a in enumerate(points) for b in points[:i]
    )
    return float(most * SIGMA**2 / scale**2)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", SCHEMAS)
def test_no_replacement_of_a_person_moves_an_answer_farther_than_the_noise_hides(told, name, read):
    found = farthest(told, SCHEMAS[name], name, READS[read])
    assert found <= 1
    if read in ("degrees", "classes", "totals within 1", "moments within 0.3", "moments of single things"):
        assert found > 0.97  # and some by as much


def test_unclipped_vectors_are_caught(told, monkeypatch):
    monkeypatch.setattr(
        people_things,
        "clipped_weights",
        lambda squared, bound, radius: np.full(len(squared), math.isqrt(radius**2 // bound)),
    )
    assert farthest(told, SCHEMAS["rates"], "rates", READS["totals within 2"]) > 1


def test_profiles_that_are_not_cut_are_caught(told, monkeypatch):
    true = people_things.profiles
    monkeypatch.setattr(
        people_things, "profiles", lambda edges, rows, clip, radius: true(edges, rows, clip / 2, 2 * radius)
    )
    assert farthest(told, SCHEMAS["rates"], "rates", READS["moments within 0.3"]) > 1


def test_half_the_noise_is_caught(told, monkeypatch):
    true = people_things.scale_of

    def half(squared):
        radius, scale = true(squared)
        return radius, scale // 2

    monkeypatch.setattr(people_things, "scale_of", half)
    assert farthest(told, SCHEMAS["owns"], "owns", READS["degrees"]) > 1


PURE_READS = [name for name in READS if not name.startswith("moments")]


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, int]]:
    """What Laplace noise was asked to hide, and for which distance in L1; nothing is added."""
    found: list[tuple[np.ndarray, int]] = []

    def laplace(values, l1_sensitivity, nano_epsilon):
        assert nano_epsilon == EPSILON.nano_epsilon
        found.append((values.copy(), l1_sensitivity))
        return values.copy()

    monkeypatch.setattr(mechanisms, "discrete_laplace", laplace)
    return found


def farthest_of_pure(hidden: list, name: str, read: str) -> float:
    """The largest distance between answers about a person's records, of what noise is made for."""
    schema = SCHEMAS[name]
    kept = some_records(schema, 2)
    for record in records(schema):
        READS[read](reads_of(built(schema, [kept[0], record, *kept[1:]]), pure=True)[0], name, EPSILON)
    (made_for,) = {l1 for _, l1 in hidden}
    points = np.stack([values for values, _ in hidden])
    return max(int(np.abs(points - each).sum(axis=1).max()) for each in points) / made_for


@pytest.mark.parametrize("read", PURE_READS)
@pytest.mark.parametrize("name", SCHEMAS)
def test_without_a_delta_no_replacement_moves_an_answer_farther_than_the_noise_hides(hidden, name, read):
    found = farthest_of_pure(hidden, name, read)
    assert found <= 1
    if read in ("degrees", "classes", "totals within 1"):
        assert found == 1  # and some by as much


def test_without_a_delta_sums_that_are_not_clipped_are_caught(hidden, monkeypatch):
    monkeypatch.setattr(
        people_things,
        "clipped_parts",
        lambda sums, bound, radius: np.full(len(sums), radius // bound),
    )
    assert farthest_of_pure(hidden, "rates", "totals within 2") > 1


@pytest.mark.parametrize(("read", "full"), [("degrees", 1), ("totals within 1", 1), ("totals within 3", 3)])
def test_without_a_delta_the_noise_is_laplace_of_the_stated_size(read, full):
    schema = schema_of(PLAIN, films=2_000, persons=5)
    graph = built(schema, [{"owns": frozenset()}] * 5)
    drawn, runs = [], 300 if read == "degrees" else 1
    for _ in range(runs):
        found = READS[read](reads_of(graph, pure=True)[0], "owns", EPSILON)
        drawn.append(np.asarray(found.values)[1 if read == "degrees" else 0 :].ravel())
    noise = np.concatenate(drawn)
    assert found.deviation == pytest.approx(2**0.5 * 4 * full, rel=0.02)  # scale 2 / epsilon for each edge
    jitter = np.random.default_rng(1).uniform(-0.5, 0.5, len(noise)) * (full == 1)
    assert kstest((noise + jitter) / (4 * full), "laplace").pvalue > 1e-4


def test_without_a_delta_there_are_no_second_moments():
    reads, meter = reads_of(built(SCHEMAS["rates"], some_records(SCHEMAS["rates"], 3)), pure=True)
    with pytest.raises(NotAccepted, match="needs a delta"):
        reads.second_moments("rates", attributes=ATTRIBUTES, clip=1.0, noise=EPSILON, purpose="p")
    assert not meter.transcript


@pytest.mark.parametrize("radius", [1, 7, 1_000, 2**20])
@pytest.mark.parametrize("bound", [1, 2, 93, 10**6])
def test_weights_are_the_largest_that_keep_to_the_length(radius, bound):
    squared = np.array([0, 1, 2, 3, 92, 93, 94, 5_000, 2**31, 2**40])
    for norm, weight in zip(
        squared.tolist(), people_things.clipped_weights(squared, bound, radius), strict=True
    ):
        least = max(norm, bound)
        assert int(weight) ** 2 * least <= radius**2 < (int(weight) + 1) ** 2 * least


def test_what_is_summed(told):
    schema = SCHEMAS["rates"]
    one = {"rates": frozenset({(0, 0), (0, 1), (2, 1)})}
    graph = built(schema, [one, {"rates": frozenset()}, {"rates": frozenset({(1, 1)})}])
    assert degree(reads_of(graph)[0], "rates").values.tolist() == [1, 1, 1, 0]
    # nobody; from step 0: one step, two; from step 1: one step, two
    assert active(reads_of(graph)[0], "rates").values.tolist() == [1, 0, 1, 1, 0]
    found = totals(100, True)(reads_of(graph)[0], "rates")
    np.testing.assert_allclose(found.values, [[1, 1], [0, 1], [0, 1]])
    found = totals(1, False)(reads_of(graph)[0], "rates").values[:, 0]  # (2, 0, 1) is sqrt(5) long
    np.testing.assert_allclose(found, [2 / 5**0.5, 1, 1 / 5**0.5], rtol=1e-5)
    profiles = [(2 * ATTRIBUTES[0] + ATTRIBUTES[2]) / 3**0.5, ATTRIBUTES[1]]
    expected = sum(np.outer(z, z) for z in profiles) / 9
    np.testing.assert_allclose(moments(3.0)(reads_of(graph)[0], "rates").values, expected, atol=2e-3)
    works = built(schema_of(CLASS), [{"works": frozenset({(1, 0)})}, {"works": frozenset()}])
    assert classes(reads_of(works)[0], "works").values.tolist() == [2, 0, 1]  # a third person has none


def test_a_person_s_profile_does_not_depend_on_the_others():
    rng = np.random.default_rng(1)
    person, thing = np.sort(rng.integers(0, 50, 900)), rng.integers(0, 30, 900)
    rows = people_things.on_attribute_grid(rng.normal(size=(30, 7)), 30)
    step = np.zeros(900, dtype=np.int64)
    together = people_things.profiles(Edges(person, thing, step, 50, 30), rows, 2.0, 1_000)
    for one in range(50):
        own = person == one
        alone = people_things.profiles(Edges(person[own], thing[own], step[own], 50, 30), rows, 2.0, 1_000)
        np.testing.assert_array_equal(alone[one], together[one])
    assert (np.square(together).sum(axis=1) <= 1_000**2).all()


@pytest.mark.parametrize("most", [1, 7, 50])
def test_moments_are_summed_over_some_persons_at_a_time(most, monkeypatch):
    rng = np.random.default_rng(2)
    person, thing = rng.integers(0, 50, 900), rng.integers(0, 30, 900)
    edges = Edges(person, thing, np.zeros(900, dtype=np.int64), 50, 30)
    rows = people_things.on_attribute_grid(rng.normal(size=(30, 7)), 30)
    monkeypatch.setattr(people_things, "PERSONS_AT_ONCE", most)
    points = people_things.profiles(edges, rows, 2.0, 1_000)
    found = people_things.summed_moments(edges, rows, 2.0, 1_000)
    np.testing.assert_array_equal(found, points.T @ points)
    held = np.bincount(person * 30 + thing, minlength=1_500).reshape(50, 30)
    expected = held @ rows / (np.sqrt(held.sum(axis=1))[:, None] * 2 * people_things.ATTRIBUTE_GRAIN)
    expected *= 1_000 / np.maximum(np.linalg.norm(expected, axis=1), 1)[:, None]
    np.testing.assert_allclose(points, expected, atol=1.001)


@pytest.mark.parametrize("read", ["degrees", "classes", "totals within 2", "moments within 1.0"])
def test_the_noise_is_gaussian_of_the_stated_size(read):
    schema = schema_of(PLAIN, films=2_000 if read == "totals within 2" else 4, persons=5)
    graph = built(schema, [{"owns": frozenset()}] * 5)
    drawn = []
    for _ in range(1 if read == "totals within 2" else 400):
        found = READS[read](reads_of(graph)[0], "owns")
        values = found.values
        if read.startswith("moments"):
            values = np.diag(values)
        if read in ("degrees", "classes"):
            values = values[1:]  # entry 0 counts the persons
        drawn.append(values.ravel() / found.deviation)
    bound = {"totals within 2": 2.0}.get(read, 1.0)
    assert found.deviation == pytest.approx(float(SIGMA) * (2 * bound) ** 0.5, rel=1e-3)
    assert kstest(np.concatenate(drawn), "norm").pvalue > 1e-4


@pytest.mark.parametrize("read", READS)
def test_every_read_pays_before_it_looks(read, monkeypatch):
    graph = built(SCHEMAS["rates"], some_records(SCHEMAS["rates"], 3))
    reads, meter = reads_of(graph)
    READS[read](reads, "rates")
    assert [(e.edge_type, e.step, e.event) for e in meter.transcript] == [
        (WHOLE_GRAPH, None, GaussianEvent(SIGMA))
    ]
    monkeypatch.setattr(PeopleAndThings, "_edges", lambda *_: pytest.fail("an edge was read"))
    with pytest.raises(PlanExceeded):
        READS[read](reads, "rates")
    with pytest.raises(MeterClosed):
        READS[read](reads, "rates")


def test_public_relations_are_free_and_others_are_not():
    schema = schema_of(TIMED, GENRES)
    reads, meter = reads_of(built(schema, some_records(schema, 3)))
    source, target = reads.public_pairs("shows")
    assert source.tolist() == [0, 1, 2]
    assert target.tolist() == [0, 1, 0]
    assert not meter.transcript
    with pytest.raises(NotAccepted):
        reads.public_pairs("rates")
    with pytest.raises(NotAccepted):
        degree(reads, "shows")
    with pytest.raises(InvalidInput):
        degree(reads, "nothing")
    assert not meter.transcript


def _bad(reads: PeopleAndThings, **changed) -> Callable[[], Noisy]:
    given = {"periods": np.array([0, 1]), "bound": 3, "noise": SIGMA, "purpose": "p"}
    return lambda: reads.thing_totals("rates", **{**given, **changed})


def test_what_is_refused():
    reads, meter = reads_of(built(SCHEMAS["rates"], some_records(SCHEMAS["rates"], 3)))
    common = {"noise": SIGMA, "purpose": "p"}
    calls = [
        *(_bad(reads, bound=bound) for bound in (0, 2.0, 2**41)),
        *(_bad(reads, periods=np.array(each)) for each in ([0], [1, 1], [0, 2], [0.0, 1.0], [1, 0])),
        *(_bad(reads, noise=each) for each in (0, float("nan"), float("inf"), 1e-6)),
        lambda: reads.degree_histogram("rates", bounds=np.array([1, 2]), **common),
        lambda: reads.degree_histogram("rates", bounds=np.array([0, 2, 2]), **common),
        lambda: reads.degree_histogram("rates", bounds=np.array([0.0, 2]), **common),
        *(
            lambda rows=rows: reads.second_moments("rates", attributes=rows, clip=1.0, **common)
            for rows in (ATTRIBUTES[:2], ATTRIBUTES[:, :0], np.full((3, 2), np.nan))
        ),
        *(
            lambda clip=clip: reads.second_moments("rates", attributes=ATTRIBUTES, clip=clip, **common)
            for clip in (0.0, -1.0, float("nan"), float("inf"))
        ),
    ]
    for call in calls:
        with pytest.raises(InvalidInput):
            call()
    assert not meter.transcript


def test_the_door_opens_under_unit_node_to_relations_of_persons_and_things():
    plan = PrivacyPlan("t", Unit.EDGE, None, 1, (Allotment("edge", None, GaussianEvent(SIGMA), "x"),), 10**12)
    with pytest.raises(NotAccepted):
        PrivateGraph(graph_of([(0, 1)], 3), Meter(plan, MemoryRecorder())).people_and_things()
    friends = GraphSchema(
        node_types=(NodeType(name="user", count=3, protected=True),),
        edge_types=(EdgeType(name="knows", source="user", target="user"),),
    )
    reads, meter = reads_of(Graph.build(friends, {}, {}))
    with pytest.raises(NotAccepted, match="exactly one end"):
        reads.degree_histogram("knows", bounds=np.array([0]), noise=SIGMA, purpose="p")
    assert not meter.transcript

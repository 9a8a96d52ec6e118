"""``projection``: the law behind a projected graph, groups, draws, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods.base import PublicFacts, no_progress
from core.methods.projection import GENERATOR
from core.methods.projection.draw import degrees_of, placed
from core.methods.projection.fit import counted_triangles, most_triangles
from core.methods.projection.law import (
    CappedEdges,
    CappedTails,
    Openness,
    degree_grid,
    fitted_law,
    fitted_laws,
    kept_mean,
    reached,
    shares_of,
)
from core.methods.projection.looks import scale_of
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import packing
from core.privacy.mechanisms.projection import items_of, kept_items, mutual_pairs
from core.privacy.mechanisms.siphash import fresh_key
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.groups import in_part

NANO = 10**9


def random_pairs(degrees: np.ndarray, seed: int) -> np.ndarray:
    """Distinct pairs of ends joined at random."""
    stubs = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(degrees)), degrees))
    ends = np.sort(stubs[: len(stubs) // 2 * 2].reshape(-1, 2), axis=1)
    return np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)


def grouped(nodes: int = 600, seed: int = 1, label: bool = True, **facts) -> Graph:
    """Three public groups, most edges inside them, many triangles."""
    rng = np.random.default_rng(seed)
    group = np.arange(nodes) % 3
    low, high = np.triu_indices(nodes, 1)
    near = (group[low] == group[high]) & (high - low < 24)
    linked = rng.random(len(low)) < np.where(near, 0.6, 0.002)
    attribute = Attribute(name="group", protection=Protection.PUBLIC, label=label)
    kind = NodeType(count=nodes, protected=True, attributes=(attribute,), **facts)
    table = NodeTable(nodes, None, {"group": pa.array([f"g{each}" for each in group])})
    schema = GraphSchema(node_types=(kind,))
    return Graph.build(schema, {"node": table}, {"edge": EdgeTable(low[linked], high[linked])})


def fitted(graph: Graph, epsilon: float, **params):
    chosen = GENERATOR.Params(**params)
    facts = PublicFacts(graph.schema, Unit.NODE, None, int(epsilon * NANO), 0, ("edge",))
    plan = GENERATOR.plan(chosen, facts)
    meter = Meter(plan, MemoryRecorder())
    return GENERATOR.fit(PrivateGraph(graph, meter), plan, chosen, no_progress), meter


def test_a_projection_of_ends_joined_at_random_takes_what_the_model_says():
    nodes = 20_000
    degrees = np.minimum(np.random.default_rng(2).zipf(2.2, nodes), 500)
    pairs = random_pairs(degrees, 3)
    true = np.bincount(pairs.ravel(), minlength=nodes)
    grid = degree_grid(int(true.max()))
    mass = np.bincount(np.searchsorted(grid, true), minlength=len(grid)) / nodes
    mean = float(grid @ mass)
    for theta in (2, 5, 12):
        kept = kept_items(items_of(*pairs.T), nodes, (theta,), (0, 0), fresh_key())
        share = Openness(grid, theta).share(mass)
        assert kept_mean(grid, share, theta) @ mass / mean == pytest.approx(kept.mean(), rel=0.05)
        found = np.bincount(pairs[kept].ravel(), minlength=nodes)
        at = np.arange(1, theta + 1)
        model = reached(grid, share, at) @ mass
        assert model == pytest.approx([(found >= j).mean() for j in at], abs=0.02)


def test_the_law_is_found_again_from_what_little_a_projection_keeps():
    nodes = 20_000
    degrees = np.random.default_rng(4).negative_binomial(2, 0.2, nodes)
    pairs = random_pairs(degrees, 5)
    true = np.bincount(pairs.ravel(), minlength=nodes)

    def kept(theta: int) -> np.ndarray:
        rows = pairs[kept_items(items_of(*pairs.T), nodes, (theta,), (0, 0), fresh_key())]
        return np.bincount(rows.ravel(), minlength=nodes)

    at = np.arange(1, 13)
    tails = CappedTails(12, at, np.array([(kept(12) >= j).sum() for j in at]), 25.0)
    edges = [CappedEdges(theta, kept(theta).sum() / 2, 100.0) for theta in (4, 64)]
    law = fitted_law(nodes, 128, edges, [tails])
    found = np.bincount(law.quantiles(nodes).astype(int), minlength=200)
    far = np.abs(found - np.bincount(true, minlength=200)).sum() / 2 / nodes
    assert far < 0.04  # kept degrees by themselves are off by .21
    assert law.grid @ law.mass == pytest.approx(true.mean(), rel=0.03)


def random_arcs(out: np.ndarray, into: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct arcs between ends of both sides joined at random."""
    rng, nodes = np.random.default_rng(seed), len(out)
    size = min(out.sum(), into.sum())
    source, target = (rng.permutation(np.repeat(np.arange(nodes), side))[:size] for side in (out, into))
    keys = np.unique((source * nodes + target)[source != target])
    return np.divmod(keys, nodes)


def test_the_laws_of_both_sides_are_found_again_from_what_a_double_cover_keeps():
    nodes, rng = 20_000, np.random.default_rng(4)
    source, target = random_arcs(rng.negative_binomial(1, 0.15, nodes), rng.poisson(5.7, nodes), 5)
    sides = [np.bincount(side, minlength=nodes) for side in (source, target)]
    grid = degree_grid(128)

    def kept(theta: int) -> list[np.ndarray]:
        rows = kept_items(items_of(source, target), nodes, (theta, theta), (0, 1), fresh_key())
        return [np.bincount(side[rows], minlength=nodes) for side in (source, target)]

    masses = [np.bincount(side, minlength=len(grid))[: len(grid)] / nodes for side in sides]
    assert np.array_equal(grid[: len(masses[0])][:48], np.arange(48))
    few = kept(3)
    shares = shares_of(*((Openness(np.arange(len(m)), 3), m) for m in masses))
    for share, mass, found in zip(shares, masses, few, strict=True):
        model = reached(np.arange(len(mass)), share, np.arange(1, 4)) @ mass
        assert model == pytest.approx([(found >= j).mean() for j in range(1, 4)], abs=0.02)
    at = np.arange(1, 13)
    tails = [CappedTails(12, at, np.array([(each >= j).sum() for j in at]), 25.0) for each in kept(12)]
    arcs = [CappedEdges(theta, kept(theta)[0].sum(), 100.0) for theta in (4, 64)]
    for law, true in zip(fitted_laws(nodes, 128, arcs, tuple(tails)), sides, strict=True):
        found = np.bincount(law.quantiles(nodes).astype(int), minlength=200)
        assert np.abs(found - np.bincount(true, minlength=200)).sum() / 2 / nodes < 0.06
        assert law.grid @ law.mass == pytest.approx(true.mean(), rel=0.04)


def arcs(nodes: int = 600, steps: int = 1, *, directed: bool = True, **facts) -> Graph:
    """Persons in circles, who answer about half of those whom they write to, more of them in later steps."""
    rng, found = np.random.default_rng(1), []
    for step in range(steps):
        low, high = np.triu_indices(nodes, 1)
        linked = (high - low < 24) & (rng.random(len(low)) < 0.3 * (step + 1) / steps)
        low, high = low[linked], high[linked]
        answered = rng.random(len(low)) < (0.5 if directed else 0)
        pairs = np.concatenate([np.stack([low, high]), np.stack([high, low])[:, answered]], axis=1)
        found.append(np.vstack([pairs, np.full(pairs.shape[1], step)]))
    source, target, step = np.concatenate(found, axis=1)
    relation = EdgeType(directed=directed, temporal=steps > 1, **facts)
    kind, time = NodeType(count=nodes, protected=True), TimeGrid(count=steps) if steps > 1 else None
    schema = GraphSchema(node_types=(kind,), edge_types=(relation,), time=time)
    return Graph.build(schema, {}, {"edge": EdgeTable(source, target, step if steps > 1 else None)})


@in_part(("steps", "directed"), [(1, True), (4, True), (4, False)], 1)
def test_much_epsilon_gives_both_sides_steps_and_mutual_pairs_back(steps, directed, tmp_path):
    graph = arcs(600, steps, directed=directed)
    model, meter = fitted(graph, 200.0)
    model.save(tmp_path)
    drawn = GENERATOR.load(tmp_path).sample(public_generator(3), no_progress)
    tables = [each.edges["edge"] for each in (graph, drawn)]
    assert tables[1].count == pytest.approx(tables[0].count, rel=0.05)
    for sides in (("source",), ("target",)) if directed else (("source", "target"),):
        ends = [np.concatenate([getattr(each, side) for side in sides]) for each in tables]
        found, true = (
            np.bincount(np.bincount(each, minlength=600), minlength=1_200)[:1_200] for each in ends
        )
        assert np.abs(np.cumsum(found) - np.cumsum(true)).max() < 0.15 * 600
    if directed:
        pairs = [len(mutual_pairs(items_of(t.source, t.target, t.step)).source) for t in tables]
        assert pairs[1] == pytest.approx(pairs[0], rel=0.1)
    if steps > 1:
        by_step = [np.bincount(each.step, minlength=steps) for each in tables]
        assert by_step[1] == pytest.approx(by_step[0], rel=0.15)
    spent = sum(each.event.nano_epsilon for each in meter.transcript)
    assert spent <= 200 * NANO
    assert {(each.edge_type, each.step) for each in meter.transcript} == {("*", None)}
    again = fitted(graph, 200.0)[0].sample(public_generator(3), no_progress)
    assert again.edges["edge"].count  # a second fit of the same graph is as good


def test_steps_that_noise_cannot_tell_apart_are_alike():
    model, meter = fitted(arcs(60, 4), 0.05)
    assert not any("step" in each.purpose for each in meter.transcript)
    assert np.allclose(model.cells["edge", None]["steps"], 0.25)


def test_a_relation_of_one_target_for_each_source_is_drawn_as_such():
    graph = arcs(200)
    table = graph.edges["edge"]
    _, first = np.unique(table.source, return_index=True)
    schema = GraphSchema(
        node_types=graph.schema.node_types, edge_types=(EdgeType(directed=True, functional=True),)
    )
    one = Graph.build(schema, {}, {"edge": EdgeTable(table.source[first], table.target[first])})
    drawn = fitted(one, 50.0)[0].sample(public_generator(1), no_progress).edges["edge"]
    assert drawn.count == pytest.approx(len(first), rel=0.1)
    assert np.bincount(drawn.source).max() == 1


@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize(("steps", "directed"), [(1, True), (2, True), (2, False)])
def test_the_smallest_graphs_with_directions_or_time_are_fitted_and_drawn(nodes, steps, directed):
    graph = arcs(nodes, steps, directed=directed)
    for epsilon in (0.01, 1000.0):
        model, meter = fitted(graph, epsilon)
        assert meter.transcript
        slots = steps * nodes * (nodes - 1) // (1 if directed else 2)
        assert model.sample(public_generator(1), no_progress).edges["edge"].count <= slots


def told(model) -> float:
    """The triangles that a fit tells; 0 where they could not be told from noise."""
    return float(model.cells["edge", None]["triangles"].sum())


@pytest.mark.audits
def test_much_epsilon_gives_degrees_groups_and_triangles_back():
    graph = grouped()
    edges = graph.edges["edge"]
    model, meter = fitted(graph, 200.0)
    drawn = model.sample(public_generator(3), no_progress).edges["edge"]
    assert drawn.count == pytest.approx(edges.count, rel=0.05)
    inside = [float((each.source % 3 == each.target % 3).mean()) for each in (edges, drawn)]
    assert inside[1] == pytest.approx(inside[0], abs=0.06)
    triangles = told(model)
    from core.privacy.mechanisms.triangle_kernels import triangles as counted

    true = counted(edges.source, edges.target, 600)
    others = [told(fitted(graph, 200.0)[0]) for _ in range(6)]
    assert np.median([triangles, *others]) == pytest.approx(true, rel=0.35)
    if triangles:
        assert counted(drawn.source, drawn.target, 600) == pytest.approx(triangles, rel=0.15)
    spent = sum(each.event.nano_epsilon for each in meter.transcript if isinstance(each.event, Pure))
    assert spent <= 200 * NANO
    assert {each.edge_type for each in meter.transcript} == {"*"}


def test_groups_are_the_public_label_or_what_is_named():
    for graph, params, read in (
        (grouped(120), {}, True),
        (grouped(120, label=False), {}, False),
        (grouped(120, label=False), {"groups": "group"}, True),
    ):
        _, meter = fitted(graph, 4.0, **params)
        assert any("groups" in each.purpose for each in meter.transcript) == read


def test_a_declared_bound_is_kept_by_every_draw():
    graph = grouped(200, degree_bound=30)
    model, _ = fitted(graph, 2.0)
    for seed in range(4):
        table = model.sample(public_generator(seed), no_progress).edges["edge"]
        ends = np.concatenate([table.source, table.target])
        assert np.bincount(ends, minlength=200).max() <= 30


@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
def test_the_smallest_graphs_are_fitted_and_drawn(nodes):
    schema = GraphSchema(node_types=(NodeType(count=nodes, protected=True),))
    low, high = np.triu_indices(nodes, 1)
    graph = Graph.build(schema, {}, {"edge": EdgeTable(low, high)})
    for epsilon in (0.01, 1.0, 1000.0):
        model, meter = fitted(graph, epsilon)
        assert meter.transcript
        assert model.sample(public_generator(1), no_progress).edges["edge"].count <= len(low)


def test_degrees_of_the_law_meet_the_number_of_edges_in_the_tail():
    law = DegreeLaw(np.array([1, 2, 3, 50]), np.array([0.4, 0.3, 0.2, 0.1]))
    rng = public_generator(2)
    plain = law.quantiles(1_000)
    degrees = degrees_of(law, 1_000, 8_000, 999, rng)
    assert degrees.sum() == 8_000
    few = plain <= 2
    assert few.sum() > 600
    assert (degrees[few] == plain[few]).all()


def test_groups_with_more_edges_get_nodes_with_more():
    degrees = np.sort(np.random.default_rng(3).zipf(2.5, 1_000).clip(0, 60))
    labels = np.repeat([0, 1], 500)
    found = placed(degrees, labels, np.array([3.0, 1.0]), public_generator(2))
    assert abs(int(found.sum()) - int(degrees.sum())) <= 1
    assert found.sum() % 2 == 0
    assert found[:500].sum() > 1.5 * found[500:].sum()


SHARES = ("scale_share", "edge_share", "group_share", "triangle_share")


@pytest.mark.parametrize("share", SHARES)
def test_a_share_that_reads_nothing_is_refused_before_the_graph_is_opened(share):
    with pytest.raises(ValidationError, match=share):
        GENERATOR.Params(**{share: 1e-9})
    for epsilon in (0.001, 1000.0):
        assert fitted(grouped(120), epsilon, **{share: 0.001})[1].transcript


def test_a_count_that_is_nothing_but_noise_does_not_say_how_many_edges_there_are():
    noisy = {4: 2_981, 16: 8_034, 64: -4_740}  # of 5,278 edges; their noise: 424, 1,697, 6,788

    def projected(theta: int) -> SimpleNamespace:
        return SimpleNamespace(edge_count=lambda **_: noisy[theta])

    relation = SimpleNamespace(directed=False)
    people = SimpleNamespace(projected=projected, count=2_708, relation=relation)
    found, _, mean, left = scale_of(people, 2_707, 80_000_000)
    assert [each.theta for each in found] == [4, 16, 64]
    assert 2 < mean < 8
    assert left == 80_000_000 - 3 * (80_000_000 // 3)
    found, _, _, left = scale_of(people, 2_707, 30_000_000)
    assert [each.theta for each in found] == [4, 16]  # the next noise would hide what was read
    assert left == 30_000_000 - 2 * (30_000_000 // 3)


def test_a_few_hubs_do_not_end_the_first_look():
    """Most persons have few edges, so that a small theta keeps few: what a larger one adds says more."""
    noisy = {4: 2_400, 16: 4_900, 64: 5_000}

    def projected(theta: int) -> SimpleNamespace:
        return SimpleNamespace(edge_count=lambda **_: noisy[theta])

    people = SimpleNamespace(projected=projected, count=3_600, relation=SimpleNamespace(directed=False))
    found, *_ = scale_of(people, 3_599, 4_000_000_000)
    assert [each.theta for each in found] == [4, 16, 64]


def acquaintances(told: float, asked: list, bound: int | None = None) -> SimpleNamespace:
    """People whose triangles are ``told``, whichever way they are asked for."""

    def packed_triangles(*, tau: int, **_) -> float:
        asked.append(packing.sensitivity(tau))
        return told

    def triangles(**given) -> float:
        asked.append(given["nano_epsilon"])
        return told

    kind, under = SimpleNamespace(degree_bound=bound), SimpleNamespace(triangles=triangles)
    return SimpleNamespace(packed_triangles=packed_triangles, kind=kind, bounded=lambda bound: under)


def test_no_tau_is_above_the_largest_that_is_taken():
    asked: list[int] = []
    found = counted_triangles(acquaintances(50_000.0, asked), 3_000_000.0, 10**6 * NANO)
    assert found.tolist() == [50_000]
    assert asked[1] == packing.MAX_TAU + 1


@pytest.mark.parametrize(("told", "found"), [(9_000.0, []), (-9_000.0, []), (90_000.0, [90_000.0])])
def test_triangles_that_may_be_noise_alone_are_no_target(told: float, found: list[float]) -> None:
    assert counted_triangles(acquaintances(told, []), 10_000_000.0, NANO // 10).tolist() == found


def test_under_a_small_declared_bound_all_triangles_are_counted_at_once():
    asked: list[int] = []
    assert counted_triangles(acquaintances(900.0, asked, bound=6), 5_000.0, NANO).tolist() == [900.0]
    assert asked == [NANO]
    asked.clear()  # 136 at a time, or a sample of which 17 counts for more
    counted_triangles(acquaintances(900.0, asked, bound=17), 50_000_000.0, NANO)
    assert asked == [NANO]
    asked.clear()
    counted_triangles(acquaintances(900.0, asked, bound=2_000), 5_000.0, NANO)
    assert len(asked) == 2
    assert NANO not in asked


def test_there_is_no_room_for_more_triangles_than_pairs_of_neighbours():
    law = DegreeLaw(np.array([0, 4]), np.array([0.5, 0.5]))
    assert most_triangles(law, 10, 10.0, None) == 10  # five nodes, six pairs each, three to a triangle
    assert most_triangles(law, 10, 2.0, None) == pytest.approx(4**1.5 / 6)
    assert most_triangles(law, 10, 10.0, 2) == pytest.approx(10 / 3)
    assert most_triangles(law, 0, 0.0, None) == 1


STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
REFUSED = {
    "two relations": (
        {"edge_types": (EdgeType(), EdgeType(name="other"))},
        {},
        "edge_types",
    ),
    "triangles of arcs": (
        {"edge_types": (EdgeType(directed=True),)},
        {"triangle_share": 0.1},
        "triangle_share",
    ),
    "groups in time": (
        {"edge_types": (EdgeType(temporal=True),), "time": TimeGrid(count=3)},
        {"groups": "secret"},
        "groups",
    ),
    "mutual pairs without directions": ({}, {"mutual_share": 0.1}, "mutual_share"),
    "no share for the law of both sides": (
        {"edge_types": (EdgeType(directed=True),)},
        {"edge_share": 0.4, "mutual_share": 0.3},
        "edge_share",
    ),
    "steps without time": ({}, {"step_share": 0.1}, "step_share"),
    "a group that nobody declared": ({}, {"groups": "team"}, "groups"),
    "a protected group": ({}, {"groups": "secret"}, "groups"),
    "a number as group": ({}, {"groups": "age"}, "groups"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_the_field(case):
    changes, params, field = REFUSED[case]
    attributes = (
        Attribute(name="secret", protection=Protection.PROTECTED),
        Attribute(name="age", kind=AttributeKind.NUMBER, protection=Protection.PUBLIC),
    )
    kind = NodeType(count=9, protected=True, attributes=attributes)
    schema = GraphSchema(**{"node_types": (kind,), **changes})
    names = tuple(each.name for each in schema.edge_types)
    with pytest.raises(errors.NotAccepted) as refused:
        GENERATOR.plan(GENERATOR.Params(**params), PublicFacts(schema, Unit.NODE, None, NANO, 0, names))
    assert refused.value.members["field"] == field


def test_of_two_relations_the_one_that_is_asked_for_is_read():
    relations = (EdgeType(name="calls"), EdgeType(name="visits"))
    schema = GraphSchema(node_types=(NodeType(count=600, protected=True),), edge_types=relations)
    calls, visits = EdgeTable(np.array([0]), np.array([1])), grouped().edges["edge"]
    graph = Graph.build(schema, {}, {"calls": calls, "visits": visits})
    facts = PublicFacts(schema, Unit.NODE, None, 20 * NANO, 0, ("visits",))
    plan = GENERATOR.plan(GENERATOR.Params(), facts)
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    drawn = GENERATOR.fit(session, plan, GENERATOR.Params(), no_progress).sample(
        public_generator(1), no_progress
    )
    assert drawn.edges["visits"].count == pytest.approx(visits.count, rel=0.3)


def test_a_unit_that_hides_edges_has_no_door_to_people():
    from papers.comparators.lapgraph import GENERATOR as LAPGRAPH

    schema = GraphSchema(node_types=(NodeType(count=4),))
    graph = Graph.build(schema, {}, {})
    plan = LAPGRAPH.plan(LAPGRAPH.Params(), PublicFacts(schema, Unit.EDGE, None, NANO, 0, ("edge",)))
    with pytest.raises(errors.NotAccepted):
        PrivateGraph(graph, Meter(plan, MemoryRecorder())).people("edge")


def test_a_release_states_where_its_number_of_edges_lies():
    graph = grouped(nodes=1500, label=False)
    held, most = 0, 0.0
    for _ in range(10):
        model, _ = fitted(graph, 4.0)
        low, high = model.totals()["edge"]
        held += low <= graph.edges["edge"].count <= high
        most = max(most, (high - low) / graph.edges["edge"].count)
        assert f"{low:.0f} to {high:.0f} edges" in model.training().notes[0]
    assert held >= 6  # each by 95 %: fewer than six of ten would be once in 40,000
    assert most < 0.5


def test_hubs_beyond_what_was_counted_are_told():
    nodes = 3_000
    hubs = np.repeat(np.arange(3), nodes - 3)
    table = EdgeTable(hubs, np.tile(np.arange(3, nodes), 3))
    kind = NodeType(count=nodes, protected=True)
    star = Graph.build(GraphSchema(node_types=(kind,)), {"node": NodeTable(nodes)}, {"edge": table})
    told = [fitted(star, 1.0)[0] for _ in range(3)]
    for model in told:
        (columns,) = model.cells.values()
        beyond = float(columns["mass"][columns["grid"] > columns["theta"][0]].sum()) * nodes
        assert any("power law" in note for note in model.training().notes) == (beyond >= 1)
    even, _ = fitted(grouped(nodes=1500, label=False), 4.0)
    assert not any("power law" in note for note in even.training().notes)


def test_a_model_of_before_states_no_interval(tmp_path):
    model, _ = fitted(grouped(), 1.0)
    ((cell, columns),) = model.cells.items()
    kept = {name: values for name, values in columns.items() if name not in ("between", "theta")}
    replace(model, cells={cell: kept}).save(tmp_path)
    found = GENERATOR.load(tmp_path)
    assert found.totals() == {}
    assert found.training().notes == ()

"""Unit node over edges in parts: what a graph in memory answers, parts answer, under the same noise."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from core.errors import NotAccepted
from core.graphs.counted.stored import CountedEdges, CountedGraph
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.stored.parts import write_part
from core.methods.base import PublicFacts, no_progress
from core.methods.projection import GENERATOR
from core.privacy.accounting.audit import audit_epsilon
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import projection
from core.privacy.reads import kept_parts
from core.privacy.reads.people import People
from core.privacy.session.counted import CountedSession, PrivateParts
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import SOUND, Kept, caught, in_both_forms
from tests.support.groups import in_part
from tests.support.neighbours import compared
from tests.support.parted_persons import fit_in_parts, in_parts, random_events

NANO = 10**9
PAID = {"nano_epsilon": NANO, "purpose": "test"}
COUNTED = {"triangle_share": 0}
TOWN = Attribute(name="town", protection=Protection.PROTECTED, categories=("a", "b", "c"))


def persons(events: np.ndarray, nodes: int, steps: int = 1, **facts) -> Graph:
    """Persons of public groups and protected towns; of several steps, with time."""
    group = Attribute(name="group", protection=Protection.PUBLIC, label=True)
    kind = NodeType(count=nodes, protected=True, attributes=(group, TOWN), **facts)
    columns = {
        "group": pa.array([f"g{i % 3}" for i in range(nodes)]),
        "town": pa.array([("a", "b", "c", None)[i * i % 4] for i in range(nodes)], pa.string()),
    }
    schema = GraphSchema(
        node_types=(kind,),
        edge_types=(EdgeType(temporal=steps > 1),),
        time=TimeGrid(count=steps) if steps > 1 else None,
    )
    events = np.asarray(events, dtype=np.int64).reshape(-1, 3)
    table = EdgeTable(events[:, 0], events[:, 1], events[:, 2] if steps > 1 else None)
    return Graph.build(schema, {"node": NodeTable(nodes, None, columns)}, {"edge": table})


def session(graph, reads: int = 1, kind: type[CountedSession] | None = None) -> CountedSession:
    granted = (Allotment(WHOLE_GRAPH, None, Pure(NANO, "test"), "test"),) * reads
    plan = PrivacyPlan("test", Unit.NODE, None, graph.schema.steps, granted, 0)
    chosen = kind or (PrivateGraph if isinstance(graph, Graph) else PrivateParts)
    return chosen(graph, Meter(plan, MemoryRecorder()))


READS = {
    "edges": lambda people, theta, key: people.projected(theta, key).edge_count(**PAID),
    "tails": lambda people, theta, key: people.projected(theta, key).tail_counts(
        thresholds=np.arange(1, theta + 1), **PAID
    ),
    "ends of groups": lambda people, theta, key: people.projected(theta, key).group_ends(
        labels=np.arange(people.count) % 2, groups=2, **PAID
    ),
    "inside": lambda people, theta, key: people.inside(np.arange(people.count) % 3, 3, theta, key).counts(
        **PAID
    ),
    "across": lambda people, theta, key: people.across(np.arange(people.count) % 3, 3, theta, key).edge_count(
        **PAID
    ),
    "towns": lambda people, theta, key: people.by_rows(
        "town", np.arange(3), np.array([[0, 3, 3], [3, 1, 3], [3, 3, 2]]), [theta, 1, theta, 2], key
    ).counts(**PAID),
    "periods": lambda people, theta, key: people.by_period(
        np.arange(people.steps) * 2 // people.steps, [theta, theta + 1], key
    ).counts(**PAID),
}
SENSITIVITY = {"edges": 1, "tails": 2, "ends of groups": 2, "inside": 1, "across": 1}
"""For each 1 of theta."""


def exact(monkeypatch) -> list[int]:
    """Noise is left out, and what it was to hide is kept."""
    asked: list[int] = []

    def silent(values, sensitivity, nano_epsilon):
        asked.append(sensitivity)
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", silent)
    return asked


@pytest.mark.parametrize("file_items", [7, 10**6])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("theta", [1, 2, 5, 40])
def test_every_read_of_people_has_the_answer_and_sensitivity_of_memory(
    tmp_path, monkeypatch, theta, steps, file_items
):
    monkeypatch.setattr(kept_parts, "FILE_ITEMS", file_items)
    asked = exact(monkeypatch)
    graph = persons(random_events(40, steps, 0.3, theta), 40, steps)
    parted = in_parts(graph, tmp_path / "g", 50)
    key, reads = bytes(range(16)), [name for name in READS if name != "periods" or steps > 1]
    for name in reads:
        told = [READS[name](session(each).people("edge"), theta, key) for each in (graph, parted)]
        assert np.array_equal(*told), name
        assert asked[-1] == asked[-2]
        assert theta > 5 or name == "ends of groups" or np.sum(told[0]) > 0
    assert not [path for path in (tmp_path / "g").iterdir() if path.is_dir()]


def test_items_of_equal_rank_are_taken_as_they_are_in_memory(tmp_path, monkeypatch):
    """Of all ranks two: who is kept is decided by the items' places."""
    ranks = projection.ranks_of
    for module in (projection, kept_parts):
        monkeypatch.setattr(module, "ranks_of", lambda items, key: ranks(items, key) & np.uint64(1 << 63))
    monkeypatch.setattr(kept_parts, "FILE_ITEMS", 100)
    exact(monkeypatch)
    graph = persons(random_events(40, 3, 0.2, 1), 40, 3)
    parted = in_parts(graph, tmp_path / "g", 50)
    for name, theta in itertools.product(READS, (1, 3)):
        told = [READS[name](session(each).people("edge"), theta, bytes(16)) for each in (graph, parted)]
        assert np.array_equal(*told), name


@pytest.mark.parametrize("theta", [1, 2])
def test_no_replacement_of_a_person_moves_a_read_of_parts_by_more_than_its_noise_hides(
    tmp_path, monkeypatch, theta
):
    """Brute force: all graphs of four persons, in parts and in files of two items, all their neighbours."""
    monkeypatch.setattr(kept_parts, "FILE_ITEMS", 2)
    exact(monkeypatch)
    pairs, key = list(itertools.combinations(range(4), 2)), bytes(range(16))
    told: dict[str, list[np.ndarray]] = {name: [] for name in SENSITIVITY}
    for code in range(2**6):
        events = [(*pair, 0) for place, pair in enumerate(pairs) if code >> place & 1]
        parted = in_parts(persons(np.array(events), 4), tmp_path / str(code), 2)
        people = session(parted, len(told)).people("edge")
        for name, answers in told.items():
            answers.append(np.atleast_1d(READS[name](people, theta, key)))
    moved = dict.fromkeys(told, 0)
    for node in range(4):
        touching = sum(1 << place for place, pair in enumerate(pairs) if node in pair)
        for one, other in itertools.combinations(range(2**6), 2):
            if (one ^ other) & ~touching == 0:
                for name, answers in told.items():
                    moved[name] = max(moved[name], int(np.abs(answers[one] - answers[other]).sum()))
    assert all(0 < moved[name] <= SENSITIVITY[name] * theta for name in moved), moved
    assert moved["edges"] == theta
    assert moved["tails"] == 2 * theta


def star(known: int) -> Graph:
    return persons(np.array([(0, other, 0) for other in range(1, known + 1)]), 3)


@in_part("runs", [1000, 4000], 1)
def test_the_noise_of_parts_has_the_law_that_is_paid_for(runs, tmp_path):
    """Discrete Laplace noise of scale theta: a chi-square test of its values."""
    parted, theta = in_parts(star(2), tmp_path / "g"), 2
    people = session(parted, runs).people("edge")
    found = np.array([people.projected(theta).edge_count(**PAID) for _ in range(runs)]) - 2
    ratio, at = np.exp(-1 / theta), np.arange(-6, 7)
    share = (1 - ratio) / (1 + ratio) * ratio ** np.abs(at)
    share[[0, -1]] = ratio**6 / (1 + ratio)  # and everything beyond
    seen = np.bincount(np.clip(found, -6, 6) + 6, minlength=13)
    assert stats.chisquare(seen, runs * share / share.sum()).pvalue > 1e-6


AUDITED = {
    "edges": lambda people: people.projected(2).edge_count(**PAID),
    "tails": lambda people: people.projected(2).tail_counts(thresholds=np.array([1, 2]), **PAID),
    "inside": lambda people: people.inside(np.zeros(3, np.int64), 1, 2).counts(**PAID),
}


@in_both_forms
@pytest.mark.parametrize("read", AUDITED)
def test_an_audit_of_parts_finds_no_more_than_was_paid_and_catches_half_the_noise(
    read, part, tmp_path, monkeypatch
):
    """A person knows two who know nobody else, or nobody."""
    graphs = [in_parts(star(known), tmp_path / str(known)) for known in (2, 0)]
    laplace = mechanisms.discrete_laplace
    with monkeypatch.context() as patch:
        exact(patch)
        ends = [np.atleast_1d(AUDITED[read](session(each).people("edge"))) for each in graphs]
    low, high, sign = np.minimum(*ends), np.maximum(*ends), np.sign(ends[0] - ends[1])

    def answers(parted, count):
        people = session(parted, count).people("edge")
        told = np.array([np.atleast_1d(AUDITED[read](people)) for _ in range(count)])
        return (np.clip(told, low, high) @ sign)[:, None]

    def bound(kept: Kept, runs: int, confidence: float) -> float:
        return audit_epsilon(kept, *graphs, runs=runs, confidence=confidence).lower_bound

    assert bound(Kept(answers), 2000 // part, SOUND) <= 1
    monkeypatch.setattr(
        mechanisms, "discrete_laplace", lambda values, l1, nano: laplace(values, l1, 2 * nano)
    )
    assert caught(partial(bound, Kept(answers)), 1, 2000, part)


@in_part("node", range(5), 2)
@pytest.mark.parametrize("facts", [{}, {"degree_bound": 4}], ids=["any degree", "declared bound"])
def test_whole_fits_of_parts_lie_within_the_plan_for_every_neighbour(facts, node, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_parts, "FILE_ITEMS", 3)
    pairs = {(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)}

    def of(chosen) -> Graph:
        return persons(np.array([(*pair, 0) for pair in sorted(chosen)]), 5, **facts)

    public = PublicFacts(of(pairs).schema, Unit.NODE, None, 4 * NANO, 0, ("edge",))
    fitted, number = fit_in_parts(GENERATOR.Params(**COUNTED), public), 0
    rest = {pair for pair in pairs if node not in pair}
    own = [tuple(sorted((node, other))) for other in range(5) if other != node]
    for chosen in itertools.product([False, True], repeat=4):
        other = rest | set(itertools.compress(own, chosen))
        if other != pairs:
            number += 1
            compared(fitted, of(pairs), of(other), WHOLE_GRAPH, tmp_path / str(number))
    assert number == 15


def test_half_a_sensitivity_is_found_by_comparing_whole_fits(tmp_path, monkeypatch):
    sound = projection.kept_tail_counts

    def less(shape, theta, thresholds):
        moved, measure = sound(shape, theta, thresholds)
        return moved // 2, measure

    monkeypatch.setattr(projection, "kept_tail_counts", less)
    graphs = [persons(np.array([(0, other, 0) for other in known]), 5) for known in ((1, 2, 3, 4), ())]
    public = PublicFacts(graphs[0].schema, Unit.NODE, None, 4 * NANO, 0, ("edge",))
    params = GENERATOR.Params(**COUNTED, scale_share=0.01, edge_share=0.01, group_share=0.01)
    with pytest.raises(AssertionError):
        compared(fit_in_parts(params, public), *graphs, WHOLE_GRAPH, tmp_path / "fits")


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("facts", [{}, {"degree_bound": 200}], ids=["any degree", "declared bound"])
def test_a_fit_makes_the_same_reads_at_the_same_cost_and_noise(tmp_path, monkeypatch, steps, facts):
    monkeypatch.setattr(kept_parts, "FILE_ITEMS", 200)
    monkeypatch.setattr("core.privacy.reads.kept.fresh_key", lambda: bytes(range(16)))
    seen: list[list[tuple[list[int], int, int]]] = []

    def told(values, sensitivity, nano_epsilon):
        seen[-1].append((values.tolist(), sensitivity, nano_epsilon))
        return values + np.random.default_rng(len(seen[-1])).integers(-2, 3, len(values))

    monkeypatch.setattr(mechanisms, "discrete_laplace", told)
    graph = persons(random_events(150, steps, 0.08, 3), 150, steps, **facts)
    parted = in_parts(graph, tmp_path / "g", 100)
    params = GENERATOR.Params(**COUNTED)
    public = PublicFacts(graph.schema, Unit.NODE, None, 20 * NANO, 0, ("edge",))
    plan, models, charged = GENERATOR.plan(params, public), [], []
    for kind, each in ((PrivateGraph, graph), (PrivateParts, parted)):
        seen.append([])
        meter = Meter(plan, MemoryRecorder())
        fit = GENERATOR.fit if kind is PrivateGraph else GENERATOR.sharding.fit_parts
        models.append(fit(kind(each, meter), plan, params, no_progress))
        charged.append([(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript])
    assert charged[0] == charged[1]
    assert seen[0] == seen[1]
    assert len(seen[0]) >= 5
    columns, others = (next(iter(model.cells.values())) for model in models)
    assert columns.keys() == others.keys()
    assert all(np.array_equal(columns[name], others[name]) for name in columns)


def test_what_is_read_of_edges_together_is_refused_and_nothing_is_charged(tmp_path):
    graph = persons(random_events(9, 1, 0.4, 1), 9, degree_bound=8)
    parted = in_parts(graph, tmp_path / "g")
    asked = session(parted)
    people: People = asked.people("edge")
    for refused in (
        lambda: people.bounded(8),
        lambda: people.packed_triangles(tau=2, share=1.0, **PAID),
        lambda: people.by_value(None, np.zeros(1, np.int64), [2]),
    ):
        with pytest.raises(NotAccepted, match="of edges together, and those of this graph stay in parts"):
            refused()
    with pytest.raises(NotAccepted, match="unit node the graph is read through the queries"):
        asked.cell("edge", None)
    elsewhere = CountedGraph(graph.schema, parted.nodes, CountedEdges(9, 9, Path(tmp_path), {}))
    with pytest.raises(NotAccepted, match="stay elsewhere; upload them in parts"):
        session(elsewhere, kind=PrivateParts).people("edge")
    assert not asked._meter.transcript


def test_directed_relations_of_persons_have_no_read_of_both_sides_in_parts(tmp_path):
    graph = persons(random_events(9, 1, 0.4, 1), 9)
    parted = in_parts(graph, tmp_path / "g")
    people = session(parted).people("edge")
    people.relation = people.relation.model_copy(update={"directed": True})
    for refused in (lambda: people.directed((2, 2)), lambda: people.mutual(2)):
        with pytest.raises(NotAccepted, match="read of edges together"):
            refused()


@pytest.mark.parametrize("name", ["triangle_share", "attribute_share"])
def test_parameters_that_read_edges_together_are_refused(name):
    with pytest.raises(NotAccepted, match=f"set {name} to 0") as refused:
        GENERATOR.sharding.require(GENERATOR.Params(**{**COUNTED, name: 0.1}))
    assert refused.value.members["field"] == name


def test_an_altered_part_stops_a_read_before_any_number_comes_out(tmp_path):
    parted = in_parts(persons(random_events(30, 1, 0.4, 1), 30), tmp_path / "g", 50)
    part = next(each for each in parted.parts if each.rows > 2)
    ends = np.array([part.first_source] * 2), np.array([29, 29])
    write_part([ends], parted.folder / part.name, 30)
    with pytest.raises(ValueError, match="sorted, or stand twice"):
        session(parted).people("edge").projected(3).edge_count(**PAID)
    assert not [path for path in parted.folder.iterdir() if path.is_dir()]

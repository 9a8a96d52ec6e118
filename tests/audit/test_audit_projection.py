"""People and people: all that a fit reads, and the trap of a projected graph, which must be caught.

Whole fits are compared with those of every neighbour of a graph, and of a larger one with some. The reads by
themselves are audited on the neighbours on which a projection at theta 1 moves farthest; asking edge-level
questions of a projected graph (a table of blocks at theta, degrees at theta) moves farther than their noise
hides, and so does half the noise.
"""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.methods.base import PublicFacts
from core.methods.projection import GENERATOR
from core.privacy.accounting.audit import audit_epsilon
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import WHOLE_GRAPH
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import projection
from core.privacy.mechanisms.siphash import fresh_key
from core.privacy.queries import Shape
from core.privacy.reads.kept import ClassedEdges, DirectedGraph, Kept, ProjectedGraph
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.property.test_projection import LABELS, NODES, PAIRS, degrees, families, kept_sets
from tests.support.auditing import SOUND, caught, in_both_forms
from tests.support.generating import NANO
from tests.support.neighbours import compared, fit_of

SHAPE = Shape(EdgeType(), NODES, NODES)


def persons(pairs, nodes: int, **facts) -> Graph:
    schema = GraphSchema(node_types=(NodeType(count=nodes, protected=True, **facts),))
    ends = np.asarray(list(pairs), dtype=np.int64).reshape(-1, 2)
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def neighbours(pairs: set[tuple[int, int]], nodes: int):
    """Every graph in which one node has other edges."""
    for node in range(nodes):
        rest = {pair for pair in pairs if node not in pair}
        others = [tuple(sorted((node, other))) for other in range(nodes) if other != node]
        for size in range(nodes):
            for chosen in itertools.combinations(others, size):
                if rest | set(chosen) != pairs:
                    yield rest | set(chosen)


@pytest.mark.parametrize("facts", [{}, {"degree_bound": 4}], ids=["any degree", "declared bound"])
def test_whole_fits_lie_within_the_plan_for_every_neighbour(facts, tmp_path):
    nodes, pairs = 5, {(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)}
    graph = persons(pairs, nodes, **facts)
    params = GENERATOR.Params.varied(proposals=0)
    public = PublicFacts(graph.schema, Unit.NODE, None, 4 * NANO, 0, ("edge",))
    fitted = fit_of(GENERATOR, params, public)
    for number, other in enumerate(neighbours(pairs, nodes)):
        folder = tmp_path / str(number)
        compared(fitted, graph, persons(other, nodes, **facts), WHOLE_GRAPH, Path(folder))


def moving(items: set[tuple[int, ...]], nodes: int, steps: int, *, directed: bool, **facts) -> Graph:
    """Persons who are linked one way, or in steps."""
    relation = EdgeType(directed=directed, temporal=steps > 1)
    kind = NodeType(count=nodes, protected=True, **facts)
    time = TimeGrid(count=steps) if steps > 1 else None
    source, target, *step = np.array(sorted(items), dtype=np.int64).reshape(-1, 2 + (steps > 1)).T
    schema = GraphSchema(node_types=(kind,), edge_types=(relation,), time=time)
    table = EdgeTable(source, target, *step)
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": table})


MOVING = {
    "directed": (3, 1, True, {}),
    "timed": (3, 2, False, {}),
    "timed, declared bound": (3, 2, False, {"degree_bound": 4}),
    "directed, more persons": (4, 1, True, {"degree_bound": 6}),
    "timed, more persons": (4, 2, False, {}),
    "directed and timed": (3, 2, True, {}),
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("theta", [1, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=[pytest.mark.slow] * (place > 2)) for place, name in enumerate(MOVING)]
)
def test_whole_fits_with_directions_or_time_lie_within_the_plan_for_every_neighbour(
    case, theta, tmp_path, monkeypatch
):
    nodes, steps, directed, facts = MOVING[case]
    slots = [
        (a, b, *((step,) if steps > 1 else ()))
        for step in range(steps)
        for a, b in itertools.permutations(range(nodes), 2)
        if directed or a < b
    ]
    items = {slot for place, slot in enumerate(slots) if place % 3}
    if theta:
        monkeypatch.setattr("core.methods.projection.looks.theta_of", lambda *_: theta)
        monkeypatch.setattr("core.methods.projection.events.theta_of", lambda *_: theta)
    monkeypatch.setattr("core.methods.projection.events.PERIOD_NOISE", 1e9)
    public = PublicFacts(
        moving(items, nodes, steps, directed=directed, **facts).schema,
        Unit.NODE,
        None,
        4 * NANO,
        0,
        ("edge",),
    )
    fitted, number = fit_of(GENERATOR, GENERATOR.Params(), public), 0
    graph = moving(items, nodes, steps, directed=directed, **facts)
    for node in range(nodes):
        own = [slot for slot in slots if node in slot[:2]]
        rest = items - set(own)
        for chosen in itertools.product([False, True], repeat=len(own)):
            other = rest | {slot for slot, is_chosen in zip(own, chosen, strict=True) if is_chosen}
            if other != items:
                number += 1
                neighbour = moving(other, nodes, steps, directed=directed, **facts)
                compared(fitted, graph, neighbour, WHOLE_GRAPH, tmp_path / str(number))


@pytest.mark.parametrize("question", ["arc_count", "both_tail_counts", "class_counts", "edge_count"])
def test_whole_fits_of_directed_events_with_a_third_of_a_sensitivity_are_told_apart(
    question, monkeypatch, tmp_path
):
    """A person who sends to all, and to whom all send, in both steps; or who is alone among strangers."""
    sound = getattr(projection, question)

    def third(*given):
        sensitivity, measure = sound(*given)
        return max(1, sensitivity // 3), measure

    monkeypatch.setattr(projection, question, third)
    monkeypatch.setattr("core.methods.projection.events.PERIOD_NOISE", 1e9)
    monkeypatch.setattr("core.methods.projection.looks.theta_of", lambda *_: 3)
    monkeypatch.setattr("core.methods.projection.events.theta_of", lambda *_: 3)
    least = {"scale_share": 0.01, "edge_share": 0.01, "mutual_share": 0.01, "step_share": 0.01}
    large = {"arc_count": "edge_share", "class_counts": "step_share", "edge_count": "mutual_share"}
    params = least | ({large[question]: 0.55} if question in large else {})
    star = {(a, b, s) for s in (0, 1) for o in range(1, 6) for a, b in ((0, o), (o, 0))}
    graphs = [moving(items, 6, 2, directed=True) for items in (star, set())]
    public = PublicFacts(graphs[0].schema, Unit.NODE, None, 4 * NANO, 0, ("edge",))
    fitted = fit_of(GENERATOR, GENERATOR.Params(**params), public)
    with pytest.raises(AssertionError) as told:
        compared(fitted, *graphs, WHOLE_GRAPH, tmp_path)
    assert "spent <=" in str(told.traceback[-1].statement)


def grouped(pairs) -> Graph:
    """Seven persons in two public groups; one of them knows everybody in most graphs that are asked for."""
    attribute = Attribute(name="team", protection=Protection.PUBLIC, label=True)
    kind = NodeType(count=7, protected=True, attributes=(attribute,))
    table = NodeTable(7, None, {"team": pa.array([f"team {each % 2}" for each in range(7)])})
    ends = np.asarray(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    edges = {"edge": EdgeTable(ends[:, 0], ends[:, 1])}
    return Graph.build(GraphSchema(node_types=(kind,)), {"node": table}, edges)


HUB = {(0, other) for other in range(1, 7)} | {(1, 3), (2, 4), (3, 5), (4, 6), (1, 2), (5, 6)}


def some_neighbours(pairs: set[tuple[int, int]]):
    """Graphs in which one of seven nodes knows nobody, everybody, or some by chance."""
    rng = np.random.default_rng(3)
    for node in range(7):
        rest = {pair for pair in pairs if node not in pair}
        others = [tuple(sorted((node, other))) for other in range(7) if other != node]
        for chosen in (np.zeros(6, bool), np.ones(6, bool), *(rng.random((3, 6)) < 0.5)):
            yield rest | {pair for pair, is_chosen in zip(others, chosen, strict=True) if is_chosen}


def compared_with_some(fitted, graph: Graph, folder: Path) -> None:
    for number, other in enumerate(some_neighbours(HUB)):
        compared(fitted, graph, grouped(other), WHOLE_GRAPH, folder / str(number))


def test_whole_fits_with_groups_lie_within_the_plan_where_projections_cut_edges_off(tmp_path):
    thetas = []
    graph = grouped(HUB)
    public = PublicFacts(graph.schema, Unit.NODE, None, 4 * NANO, 0, ("edge",))
    fitted = fit_of(GENERATOR, GENERATOR.Params.varied(proposals=0), public)
    checked = projection.check_theta
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "check_theta", lambda theta: thetas.append(theta) or checked(theta))
        compared_with_some(fitted, graph, tmp_path)
    assert min(thetas) <= 2  # of six edges


@pytest.mark.parametrize("question", ["edge_count", "kept_tail_counts", "inside_counts"])
def test_whole_fits_with_a_third_of_a_sensitivity_are_told_apart(question, monkeypatch, tmp_path):
    sound = getattr(projection, question)

    def third(*given):
        sensitivity, measure = sound(*given)
        return max(1, sensitivity // 3), measure

    monkeypatch.setattr(projection, question, third)
    params = {"scale_share": 0.01, "edge_share": 0.01, "group_share": 0.01, "triangle_share": 0.0}
    params |= {"edge_count": {"edge_share": 0.9}, "inside_counts": {"group_share": 0.9}}.get(question, {})
    graph = grouped(HUB)
    public = PublicFacts(graph.schema, Unit.NODE, None, 4 * NANO, 0, ("edge",))
    fitted = fit_of(GENERATOR, GENERATOR.Params(**params), public)
    with pytest.raises(AssertionError) as told:
        compared_with_some(fitted, graph, tmp_path)
    assert "spent <=" in str(told.traceback[-1].statement)


def farthest_pair(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The answers of two neighbours that lie farthest apart; ``values`` (graphs, size)."""
    members = values[families()].astype(np.int64)
    far = np.abs(members[:, :, None] - members[:, None]).sum(axis=-1)
    family, one, other = np.unravel_index(far.argmax(), far.shape)
    return members[family, one], members[family, other]


def tables(theta: int, question: str, key: bytes) -> np.ndarray:
    """The answers of all graphs to a sound question, or to one that a projected graph does not offer."""
    kept = kept_sets(theta, key, "all")
    if question == "blocks":
        blocks = np.zeros((len(PAIRS), 3), dtype=np.int64)
        blocks[np.arange(len(PAIRS)), LABELS[PAIRS].sum(axis=1)] = 1
        return kept @ blocks
    if question == "degrees":
        return degrees(kept)
    measure = {
        "edges": projection.edge_count(theta)[1],
        "tails": projection.kept_tail_counts(SHAPE, theta, np.arange(1, theta + 1))[1],
    }[question]
    return np.array([measure(row) for row in degrees(kept)])


def worst(theta: int, question: str) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours that a question tells apart best, over some orders of pairs."""
    found = [farthest_pair(tables(theta, question, fresh_key())) for _ in range(8)]
    return max(found, key=lambda pair: int(np.abs(pair[0] - pair[1]).sum()))


def told(pair, sensitivity: int, nano_epsilon: int, runs: int, confidence: float) -> float:
    """A lower bound on the epsilon of noise of scale ``sensitivity / epsilon`` on the two answers."""
    one, other = pair
    sign, low, high = np.sign(one - other), np.minimum(one, other), np.maximum(one, other)

    def run(values, count):
        noisy = mechanisms.discrete_laplace(np.tile(values, count), sensitivity, nano_epsilon)
        # What lies beyond the two answers tells no more of which it was.
        return (np.clip(noisy.reshape(count, -1), low, high) * sign).sum(axis=1).astype(np.float64)

    return audit_epsilon(run, one, other, runs=runs, confidence=confidence).lower_bound


SOUND_READS = [("edges", 1, 1), ("edges", 2, 2), ("tails", 1, 2), ("tails", 2, 4), ("degrees", 1, 2)]


@pytest.mark.parametrize(("question", "theta", "sensitivity"), SOUND_READS)
def test_the_proved_questions_keep_to_epsilon(question, theta, sensitivity):
    assert told(worst(theta, question), sensitivity, NANO, 4_000, SOUND) <= 1.0


@pytest.mark.parametrize("question", ["blocks", "degrees"])
def test_an_edge_level_question_at_theta_is_caught(question):
    """The trap: each node keeps theta edges, so a count by blocks, or of degrees, gets noise for theta."""
    assert caught(partial(told, worst(1, question), 1, NANO), 1.0, 4_000)


@in_both_forms
@pytest.mark.parametrize(("question", "theta", "sensitivity"), SOUND_READS[:3])
def test_half_the_noise_is_caught(question, theta, sensitivity, part):
    assert caught(partial(told, worst(theta, question), sensitivity, 2 * NANO), 1.0, 4_000, part)


def session(graph: Graph, nano_epsilon: int = NANO) -> PrivateGraph:
    public = PublicFacts(graph.schema, Unit.NODE, None, nano_epsilon, 0, ("edge",))
    return PrivateGraph(graph, Meter(GENERATOR.plan(GENERATOR.Params(), public), MemoryRecorder()))


def test_a_projected_graph_answers_the_proved_questions_and_no_others():
    projected = session(persons([(0, 1)], 3)).people("edge").projected(2)
    offered = {name for name in dir(projected) if not name.startswith("_")}
    assert offered == {"theta", "edge_count", "tail_counts", "group_ends"}
    assert ProjectedGraph.__mro__[1:] == (Kept, object)
    assert {name for name in dir(Kept) if not name.startswith("_")} == set()
    for kind, questions in (
        (DirectedGraph, {"arc_count", "tail_counts"}),
        (ClassedEdges, {"counts", "moved"}),
    ):
        assert {name for name in dir(kind) if not name.startswith("_")} == questions


def test_the_door_to_people_has_no_edges():
    """What is not a proved question pays nothing: it must have nothing to tell."""
    people = session(persons([(0, 1)], 3)).people("edge")
    offered = {name for name in dir(people) if not name.startswith("_")}
    questions = {"projected", "inside", "across", "directed", "mutual", "by_period", "bounded"}
    questions |= {"packed_triangles", "by_value", "by_rows"}
    public = {"relation", "kind", "count", "shape", "groups", "bins", "steps"}
    assert offered == questions | public


def test_nothing_is_charged_for_what_is_refused():
    graph = session(persons([(0, 1)], 3))
    people = graph.people("edge")
    for refused in (
        lambda: people.projected(0),
        lambda: people.projected(2**19 + 1),
        lambda: people.bounded(3),
        lambda: people.directed((1, 1)),
        lambda: people.mutual(1),
        lambda: people.by_period(np.zeros(1, dtype=np.int64), [1]),
        lambda: people.packed_triangles(tau=0, share=1.0, nano_epsilon=1, purpose="x"),
        lambda: people.projected(1).tail_counts(thresholds=np.array([0]), nano_epsilon=1, purpose="x"),
        lambda: people.groups("name", 8),
        lambda: graph.people("other"),
    ):
        with pytest.raises((InvalidInput, NotAccepted)):
            refused()
    assert not graph._meter.transcript


def test_reads_under_a_declared_bound():
    graph = session(persons(PAIRS.tolist(), NODES, degree_bound=4), 9 * 10**11)
    people = graph.people("edge")
    with pytest.raises(NotAccepted):
        people.bounded(3)
    bounded = people.bounded(4)
    assert {name for name in dir(bounded) if not name.startswith("_")} == {
        "people",
        "bound",
        "triangles",
        "values",
    }
    assert bounded.triangles(nano_epsilon=2 * 10**11, purpose="check") == 10
    assert len(graph._meter.transcript) == 1

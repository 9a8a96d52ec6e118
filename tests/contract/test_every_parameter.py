"""Every parameter of every method is heeded or refused: two values, one of them set, and what differs.

Chance repeats itself, so that two fits differ by what was set alone. An effect is a difference in the plan,
in what is read, in how the model was learned, in what is published beside a graph, or in two graphs drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core import errors
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import (
    Attribute,
    AttributeKind,
    EdgeType,
    GraphSchema,
    NodeType,
    Protection,
    TimeGrid,
)
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.parameters import IDLE, TRIED, Idle, Tried

NODES, STEPS = 60, 4
NANO, DELTA = 10**9, 10**13
LEARNED = {
    *("diffusion", "dpggan", "dpgvae", "ggan", "gvae", "hetedp", "hetesdg", "heterogeneous_walks", "ppgsl"),
    *("graphrnn", "temporal_walks", "thepuff"),
}
"""Methods that train: three CPU minutes, so that they are looked at with the slow tests."""
LARGE = ("people", "valued people")
"""Requests whose fits take a second each; other rows of the same methods are in ``make test``."""
CASES = [
    pytest.param(
        *(method, name, each),
        id=f"{method}-{name}-{each.where}-{number}",
        marks=[
            *([pytest.mark.slow] if method in LEARNED else []),
            *([pytest.mark.audits] if each.where in LARGE else []),
        ],
    )
    for method, table in TRIED.items()
    for name, rows in table.items()
    for number, each in enumerate(rows)
]


def blocks(seed: int, nodes: int = NODES) -> np.ndarray:
    """Pairs of two communities."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(nodes, 1)
    chance = np.where(low % 2 == high % 2, 0.25, 0.03)
    return np.stack([low, high], axis=1)[rng.random(len(low)) < chance]


def one_relation(pairs: list[np.ndarray], relation: EdgeType, sizes: dict[str, int]) -> Graph:
    """The relation with these pairs, a list entry a step."""
    ends = np.concatenate(pairs)
    step = np.repeat(np.arange(len(pairs)), [len(each) for each in pairs]) if relation.temporal else None
    kinds = tuple(NodeType(name=name, count=count) for name, count in sizes.items())
    time = TimeGrid(count=len(pairs)) if relation.temporal else None
    schema = GraphSchema(node_types=kinds, edge_types=(relation,), time=time)
    table = EdgeTable(ends[:, 0], ends[:, 1], step)
    return Graph.build(schema, {name: NodeTable(count) for name, count in sizes.items()}, {"edge": table})


def sided(sources: int, targets: int, steps: int, **facts: Any) -> Graph:
    """Sources with preferred targets."""
    rng = np.random.default_rng(5)
    functional = facts.get("functional", False)
    pairs = []
    fixed = rng.integers(0, targets, sources)
    for _ in range(steps):
        chance = np.where(np.arange(sources)[:, None] % 3 == np.arange(targets) % 3, 0.5, 0.05)
        linked = rng.random((sources, targets)) < np.minimum(chance, 200 / (sources * targets) + 0.2)
        if functional:
            linked = np.arange(targets) == fixed[:, None]
            linked[: sources // 25] = False  # a few have none
        pairs.append(np.argwhere(linked))
    relation = EdgeType(source="node", target="item", temporal=steps > 1, **facts)
    return one_relation(pairs, relation, {"node": sources, "item": targets})


def typed() -> Graph:
    """Papers with public words and authors with protected numbers."""
    rng = np.random.default_rng(2)
    words = Attribute(name="words", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)
    history = Attribute(name="history", kind=AttributeKind.VECTOR, protection=Protection.PROTECTED)
    sizes = {"paper": 50, "author": 40, "topic": 5}
    kinds = (
        NodeType(name="paper", count=50, attributes=(words,)),
        NodeType(name="author", count=40, attributes=(history,)),
        NodeType(name="topic", count=5),
    )
    relations = {"writes": ("author", "paper"), "about": ("paper", "topic"), "cites": ("paper", "paper")}
    tables = {}
    for name, (source, target) in relations.items():
        linked = np.argwhere(rng.random((sizes[source], sizes[target])) < 0.1)
        linked = linked[(linked[:, 0] != linked[:, 1]) | (source != target)]
        tables[name] = EdgeTable(linked[:, 0], linked[:, 1])
    schema = GraphSchema(
        node_types=kinds,
        edge_types=tuple(
            EdgeType(name=name, source=ends[0], target=ends[1], directed=True)
            for name, ends in relations.items()
        ),
    )
    nodes = {
        "paper": NodeTable(50, None, {"words": rng.random((50, 6)).astype(np.float32)}),
        "author": NodeTable(40, None, {"history": rng.random((40, 4)).astype(np.float32)}),
        "topic": NodeTable(5),
    }
    return Graph.build(schema, nodes, tables)


def two_relations() -> Graph:
    """Two undirected relations among one type's nodes."""
    relations = tuple(EdgeType(name=name) for name in ("one", "two"))
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=relations)
    tables = {each.name: EdgeTable(*blocks(seed).T) for seed, each in enumerate(relations)}
    return Graph.build(schema, {"node": NodeTable(NODES)}, tables)


def persons() -> Graph:
    """Protected users with favourite genres, which are public, over time; each has one job."""
    rng = np.random.default_rng(4)
    relations = (
        EdgeType(name="rates", source="user", target="film", temporal=True),
        EdgeType(name="works", source="user", target="job", functional=True),
        EdgeType(name="shows", source="film", target="genre", public=True),
    )
    sizes = {"user": 200, "film": 40, "job": 3, "genre": 4}
    schema = GraphSchema(
        node_types=tuple(NodeType(name=n, count=c, protected=n == "user") for n, c in sizes.items()),
        edge_types=relations,
        time=TimeGrid(count=STEPS),
    )
    chance = np.where(np.arange(200)[:, None] % 4 == np.arange(40) % 4, 0.5, 0.05)
    user, film = np.nonzero(rng.random(chance.shape) < chance)
    tables = {
        "rates": EdgeTable(user, film, user % STEPS),
        "works": EdgeTable(np.arange(200), np.arange(200) % 3),
        "shows": EdgeTable(np.arange(40), np.arange(40) % 4),
    }
    return Graph.build(schema, {}, tables)


def owners(*attributes: EdgeAttribute) -> Graph:
    """Protected nodes, and items of which nothing is known."""
    relation = EdgeType(source="node", target="item", attributes=attributes)
    schema = GraphSchema(
        node_types=(NodeType(count=NODES, protected=True), NodeType(name="item", count=NODES)),
        edge_types=(relation,),
    )
    source, target = blocks(1).T
    values = EdgeValues({"stars": (1 + target % 5).astype(np.int32)}) if attributes else None
    return Graph.build(schema, {}, {"edge": EdgeTable(source, target, None, values)})


def people(*carried: EdgeAttribute, degree_bound: int | None = None) -> Graph:
    """Persons with two public attributes, neither of them a label."""
    nodes = 200
    attributes = tuple(Attribute(name=name, protection=Protection.PUBLIC) for name in ("team", "floor"))
    kind = NodeType(count=nodes, attributes=attributes, protected=True, degree_bound=degree_bound)
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(attributes=carried),))
    columns = {"team": pa.array([str(i % 2) for i in range(nodes)]), "floor": pa.array(["1"] * nodes)}
    source, target = blocks(1, nodes).T
    values = EdgeValues({"stars": (1 + target % 5).astype(np.int32)}) if carried else None
    table = EdgeTable(source, target, None, values)
    return Graph.build(schema, {"node": NodeTable(nodes, None, columns)}, {"edge": table})


def senders() -> Graph:
    """Persons who write to one another in two steps, more in the second."""
    (low, high), rows = blocks(1, 200).T, len(blocks(1, 200))
    source, target = np.concatenate([low, high]), np.concatenate([high, low])
    schema = GraphSchema(
        node_types=(NodeType(count=200, protected=True),),
        edge_types=(EdgeType(directed=True, temporal=True),),
        time=TimeGrid(count=2),
    )
    step = np.arange(2 * rows) % 3 > 0
    return Graph.build(schema, {}, {"edge": EdgeTable(source, target, step.astype(np.int64))})


STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")


def valued(steps: int = 0) -> Graph:
    """Two communities, whose members rate one another; a node's edges have its own stars."""
    relation = EdgeType(attributes=(STARS,), temporal=steps > 0)
    time = TimeGrid(count=steps) if steps else None
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,), time=time)
    source, target = blocks(1).T
    step = source % steps if steps else None
    table = EdgeTable(source, target, step, EdgeValues({"stars": (1 + source % 5).astype(np.int32)}))
    return Graph.build(schema, {}, {"edge": table})


def labelled(steps: int = 0) -> Graph:
    """Two communities, each of a party of its own, which is protected."""
    party = Attribute(name="party", protection=Protection.PROTECTED, categories=("left", "right"))
    schema = GraphSchema(
        node_types=(NodeType(count=NODES, attributes=(party,)),),
        edge_types=(EdgeType(temporal=steps > 0),),
        time=TimeGrid(count=steps) if steps else None,
    )
    column = pa.array([("left", "right")[node % 2] for node in range(NODES)])
    nodes = {"node": NodeTable(NODES, None, {"party": column})}
    source, target = blocks(1).T
    return Graph.build(schema, nodes, {"edge": EdgeTable(source, target, source % steps if steps else None)})


PERSONS: dict[str, Callable[[], Graph]] = {
    "persons": persons,
    "owners": owners,
    "people": people,
    "senders": senders,
    "valued persons": lambda: owners(STARS),
    "valued people": lambda: people(STARS, degree_bound=200),
}


@functools.cache
def request_of(where: str) -> tuple[Graph, Unit, int | None]:
    """The graph, the unit and the window of a request."""
    plain, directed = EdgeType(), EdgeType(directed=True)
    timed = EdgeType(temporal=True)
    match where:
        case "plain":
            return one_relation([blocks(1)], plain, {"node": NODES}), Unit.EDGE, None
        case "directed":
            return one_relation([blocks(1)], directed, {"node": NODES}), Unit.EDGE, None
        case "timed plain":
            pairs = [blocks(seed) for seed in range(STEPS)]
            return one_relation(pairs, timed, {"node": NODES}), Unit.EVENT, None
        case "stream":
            pairs = [blocks(1)[5 * step :] for step in range(STEPS)]  # it drifts slowly
            return one_relation(pairs, timed, {"node": NODES}), Unit.W_EVENT, 2
        case "sided":
            return sided(200, 8, 1), Unit.EDGE, None
        case "functional":
            return sided(200, 8, 1, functional=True), Unit.EDGE, None
        case "large":
            return sided(450, 430, 1), Unit.EDGE, None
        case "timed":
            return sided(40, 30, STEPS), Unit.EVENT, None
        case "timed functional":
            return sided(40, 30, STEPS, functional=True), Unit.EVENT, None
        case "typed":
            return typed(), Unit.EDGE, None
        case "persons" | "owners" | "people" | "senders" | "valued persons" | "valued people":
            return PERSONS[where](), Unit.NODE, None
        case "two plain":
            return two_relations(), Unit.EDGE, None
        case "valued" | "labelled":
            return {"valued": valued, "labelled": labelled}[where](), Unit.EDGE, None
        case "valued stream" | "labelled stream":
            return {"valued stream": valued, "labelled stream": labelled}[where](STEPS), Unit.W_EVENT, 2
    raise AssertionError(where)


@pytest.fixture(autouse=True)
def chance_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "OPENDP_VALUES", -1)  # its noise cannot be seeded
    for module in (
        *("core.privacy.entropy", "papers._shared.defences.altered", "papers.thepuff.fit"),
        "papers._shared.walks.model",
        *("papers.dpggan.raw", "papers.dpggan.fit", "papers.comparators.diffusion.fit"),
        "papers.comparators.graphrnn.model",
        *("papers.hetesdg.published.fit", "papers.hetesdg.sound.training"),
    ):
        monkeypatch.setattr(f"{module}.noise_generator", lambda: np.random.default_rng(5))


def facts_of(method: str, where: str) -> PublicFacts:
    graph, unit, window = request_of(where)
    names = tuple(each.name for each in graph.schema.edge_types if not each.public)
    delta = DELTA if GuaranteeKind.APPROXIMATE in registry.get(method).kinds else 0
    return PublicFacts(graph.schema, unit, window, 4 * NANO, delta, names)


KNOWN: dict[tuple[str, str, str, int], list[Any]] = {}
"""What was told by (method, request, parameters, seed): rows of a table share one of their two values."""


def told(method: str, where: str, params: dict[str, Any], seed: int = 1) -> list[Any]:
    """All that a request shows. Raises where it is refused."""
    key = method, where, repr(sorted(params.items())), seed
    if key not in KNOWN:
        KNOWN[key] = _told(method, where, params, seed)
    return KNOWN[key]


def _told(method: str, where: str, params: dict[str, Any], seed: int = 1) -> list[Any]:
    generator, graph = registry.get(method), request_of(where)[0]
    chosen = generator.Params.model_validate(params)
    facts = facts_of(method, where)
    plan = generator.plan(chosen, facts)
    meter = Meter(plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph, meter), plan, chosen, no_progress)
    found: list[Any] = [plan.to_json(), [(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript]]
    sampled = model.sample(public_generator(seed), no_progress)
    for table in sampled.edges.values():
        columns = (table.source, table.target, table.step)
        found += [column.tolist() for column in columns if column is not None]
        if table.values is not None:
            found += [column.tolist() for column in table.values.columns.values()]
    found.append(repr(model.training()))
    found.append([rows.tobytes() for kinds in model.vectors().values() for rows in kinds.values()])
    found.append([weight.tobytes() for _, weight in model.edge_weights().values()])
    found.append(generator.claim(chosen, facts))
    return found


def test_every_parameter_of_every_method_is_tried():
    for method, generator in registry.generators().items():
        assert set(TRIED[method]) == set(generator.Params.model_fields), method


@pytest.mark.parametrize(("method", "name", "tried"), CASES)
def test_a_parameter_is_heeded_or_refused(method: str, name: str, tried: Tried):
    found, fields = [], set()
    both = [{**tried.beside, name: value} for value in (tried.one, tried.other)]
    for params in both:
        try:
            found.append(told(method, tried.where, params))
        except errors.NotAccepted as refused:
            fields.add(refused.members["field"])
            found.append([refused.members["field"], refused.message])
    # By chance one graph may be drawn alike: seldom, and never both.
    assert found[0] != found[1] or told(method, tried.where, both[0], 2) != told(
        method, tried.where, both[1], 2
    )
    assert fields <= {name, "unit"}  # a refusal for another reason would hide whether it is heeded


@pytest.mark.parametrize("tried", IDLE, ids=lambda each: f"{each.method}-{each.name}-{each.where}")
def test_a_parameter_that_could_change_nothing_is_refused(tried: Idle):
    generator, facts = registry.get(tried.method), facts_of(tried.method, tried.where)
    accepted = generator.Params.model_validate(tried.beside)
    generator.plan(accepted, facts)
    generator.plan(generator.Params.model_validate(accepted.model_dump()), facts)  # as a job stores them
    with pytest.raises(errors.NotAccepted) as refused:
        generator.plan(generator.Params.model_validate({**tried.beside, tried.name: tried.value}), facts)
    assert refused.value.members["field"] == tried.name
    assert "; " in refused.value.message  # what would give it an effect


@pytest.mark.parametrize(
    "method",
    [pytest.param(each, marks=[pytest.mark.slow] if each in LEARNED else []) for each in sorted(TRIED)],
)
def test_chance_repeats_itself(method: str):
    """Else every parameter would seem to be heeded."""
    name, rows = next(iter(TRIED[method].items()))
    params = {**rows[0].beside, name: rows[0].one}
    assert _told(method, rows[0].where, params) == _told(method, rows[0].where, params)

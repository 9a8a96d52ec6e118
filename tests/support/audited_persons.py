"""Audits of what is read of persons: unit node, all edges of one person replaced by others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.privacy.accounting.events import NANO, GaussianEvent
from core.privacy.accounting.plan import WHOLE_GRAPH, PrivacyPlan
from core.privacy.reads.people import People
from core.privacy.reads.people_things import Noise, PeopleAndThings
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.audited_cells import DELTA_ATTO, SIGMA
from tests.support.read_audits import Ask, ReadAudit, plan_of, pure
from tests.support.replaced_persons import CLASS, PLAIN, TIMED, Record, built, schema_of

WHOLE = (WHOLE_GRAPH, None)
PURE: PrivacyPlan = plan_of(pure(1), WHOLE, unit=Unit.NODE)
NOISY: PrivacyPlan = plan_of(GaussianEvent(SIGMA), WHOLE, unit=Unit.NODE, delta_atto=DELTA_ATTO)
PAID: dict[str, Any] = {"nano_epsilon": NANO, "purpose": "audit"}
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3))
CAP = 2
SEVERAL = {"multiplicity": "each", "records_per_slot": CAP}
"""Records of an edge, where each is kept."""


def people(nodes: int, pairs: Sequence[tuple[int, int]], bound: int | None = None) -> Graph:
    """Persons who know one another."""
    kind = NodeType(count=nodes, protected=True, degree_bound=bound)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    table = EdgeTable(ends[:, 0], ends[:, 1])
    return Graph.build(GraphSchema(node_types=(kind,)), {"node": NodeTable(nodes)}, {"edge": table})


def complete(first: int, last: int) -> list[tuple[int, int]]:
    return [(a, b) for b in range(first, last) for a in range(first, b)]


def knowing() -> Iterator[ReadAudit]:
    """One person knows two who know nobody else, or nobody; or everybody, who know everybody."""

    def of(ask: Callable[[People], Any]) -> Ask:
        return lambda asked: ask(asked.people("edge"))

    one_group = {"labels": np.zeros(3, dtype=np.int64), "groups": 1}
    star = people(3, [(0, 1), (0, 2)]), people(3, [])
    reads: dict[str, Callable[[People], Any]] = {
        "ProjectedGraph.edge_count": lambda door: door.projected(2).edge_count(**PAID),
        "ProjectedGraph.tail_counts": lambda door: door.projected(2).tail_counts(
            thresholds=np.array([1, 2]), **PAID
        ),
        "ProjectedGraph.group_ends": lambda door: door.projected(2).group_ends(**one_group, **PAID),
        "InsideGroups.counts": lambda door: door.inside(**one_group, theta=2).counts(**PAID),
    }
    for read, ask in reads.items():
        said = "inside groups" if read.startswith("Inside") else f"projected {read.split('.')[1]}"
        yield ReadAudit(said, read, PURE, star, of(ask))
    friends = people(6, complete(0, 6)), people(6, complete(1, 6))
    packed = of(lambda door: door.packed_triangles(tau=10, share=1.0, **PAID))
    yield ReadAudit("packed triangles", "People.packed_triangles", PURE, friends, packed)
    bounded = people(4, complete(0, 4), 3), people(4, complete(1, 4), 3)
    triangles = of(lambda door: door.bounded(3).triangles(**PAID))
    yield ReadAudit("triangles under a bound", "BoundedGraph.triangles", PURE, bounded, triangles)


def following(arcs: Sequence[tuple[int, int, int]], **facts: Any) -> Graph:
    """Three persons, and who wrote to whom in which of two steps; without time, if so declared."""
    relation = EdgeType(**{"directed": True, **facts})
    time = TimeGrid(count=2) if relation.temporal else None
    schema = GraphSchema(node_types=(NodeType(count=3, protected=True),), edge_types=(relation,), time=time)
    source, target, step = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
    table = EdgeTable(source, target, step if relation.temporal else None)
    return Graph.build(schema, {"node": NodeTable(3)}, {"edge": table})


def directed() -> Iterator[ReadAudit]:
    """A person whom two know and who knows them, among nobody else, or nobody; in each of two steps."""

    def of(ask: Callable[[People], Any]) -> Ask:
        return lambda asked: ask(asked.people("edge"))

    both = [(a, b, step) for step in (0, 1) for a, b in ((0, 1), (0, 2), (1, 0), (2, 0))]
    arcs = following(both[:4]), following([])
    thresholds = np.array([1, 2]), np.array([1, 2])
    reads: dict[str, tuple[str, Callable[[People], Any]]] = {
        "arcs": ("DirectedGraph.arc_count", lambda door: door.directed((2, 2)).arc_count(**PAID)),
        "tails of both sides": (
            "DirectedGraph.tail_counts",
            lambda door: np.concatenate(door.directed((2, 2)).tail_counts(thresholds=thresholds, **PAID)),
        ),
        "mutual pairs": ("ProjectedGraph.edge_count", lambda door: door.mutual(2).edge_count(**PAID)),
    }
    for said, (read, ask) in reads.items():
        yield ReadAudit(said, read, PURE, arcs, of(ask))
    for said, facts, events in (
        ("edges by period", {"temporal": True}, both),
        (
            "undirected edges by period",
            {"temporal": True, "directed": False},
            [both[i] for i in (0, 1, 4, 5)],
        ),
    ):
        timed = following(events, **facts), following([], **facts)
        theta = len(events) // 2
        plan = replace(PURE, steps=2)
        counts = of(lambda door, theta=theta: door.by_period(np.arange(2), (theta, theta)).counts(**PAID))
        yield ReadAudit(said, "ClassedEdges.counts", plan, timed, counts)


def known(stars: int, records: int, **declared: Any) -> Graph:
    """A person knows as many as the bound allows; every record of it has so many stars."""
    carried = STARS if declared else STARS.model_copy(update={"aggregate": "max"})
    kind = NodeType(count=3, protected=True, degree_bound=2)
    relation = EdgeType(attributes=(carried,), **declared)
    column = {"stars": np.full(2 * records, stars, dtype=np.int32)}
    values = EdgeValues(column, np.repeat(np.arange(2), records)) if declared else EdgeValues(column)
    table = EdgeTable(np.zeros(2, np.int64), np.array([1, 2]), None, values)
    return Graph.build(GraphSchema(node_types=(kind,), edge_types=(relation,)), {}, {"edge": table})


TOWN = Attribute(name="town", protection="protected", categories=("x", "y"))


def townsfolk(town: str | None, known: Sequence[int]) -> Graph:
    """A person of a town, who knows some of two of each town, with as many stars as they live apart."""
    kind = NodeType(count=5, protected=True, attributes=(TOWN,))
    relation = EdgeType(attributes=(STARS.model_copy(update={"aggregate": "max"}),))
    towns = NodeTable(5, None, {"town": pa.array([town, "x", "x", "y", "y"], type=pa.string())})
    stars = np.array([1 if other < 3 else 3 for other in known], dtype=np.int32)
    ends = np.zeros(len(known), np.int64), np.array(known, dtype=np.int64)
    table = EdgeTable(*ends, None, EdgeValues({"stars": stars}))
    return Graph.build(
        GraphSchema(node_types=(kind,), edge_types=(relation,)), {"node": towns}, {"edge": table}
    )


def carrying() -> Iterator[ReadAudit]:
    """A person's row, its edges and what they carry, all of them others: without a bound on degrees."""
    apart = np.array([[0, 2], [2, 1]])

    def values(asked: PrivateGraph) -> np.ndarray:
        return asked.people("edge").by_value("stars", np.array([0, 1, 1]), (2, 2)).counts(**PAID)

    def rows(asked: PrivateGraph) -> np.ndarray:
        return asked.people("edge").by_rows("town", np.arange(2), apart, (2, 2, 1)).counts(**PAID)

    def table(asked: PrivateGraph) -> np.ndarray:
        return asked.node_values("node").table(["town"], classes=np.zeros(5, np.int64), **PAID)

    graphs = townsfolk("x", [1, 2]), townsfolk("y", [3, 4])
    crossing = townsfolk("x", [1, 2, 3]), townsfolk("y", [3, 4])
    yield ReadAudit("edges by value", "ClassedEdges.counts", PURE, graphs, values)
    yield ReadAudit("edges by rows", "ClassedEdges.counts", PURE, crossing, rows)
    yield ReadAudit("persons by value", "NodeValueReads.table", PURE, graphs, table)


def bounded_values() -> Iterator[ReadAudit]:
    """Both edges of a person, with one value or with another."""

    def by_classes(attribute: str | None) -> Ask:
        def ask(asked: PrivateGraph) -> np.ndarray:
            reads = asked.people("edge").bounded(2).values(attribute)
            nobody, labels = np.zeros(3, dtype=np.int64), np.arange(reads.bins.count)
            return reads.by_classes(sources=nobody, targets=nobody, labels=labels, **PAID)

        return ask

    kinds = (
        ("values", "values", (known(1, 1), known(3, 1)), "stars"),
        ("values, two records", "values", (known(1, CAP, **SEVERAL), known(3, CAP, **SEVERAL)), "stars"),
        ("numbers", "numbers", (known(1, 1, **SEVERAL), known(1, CAP, **SEVERAL)), None),
    )
    for said, what, graphs, attribute in kinds:
        read = f"BoundedValues.by_classes of {what}"
        yield ReadAudit(f"bounded {said} by_classes", read, PURE, graphs, by_classes(attribute))


def meeting() -> Iterator[ReadAudit]:
    """A person of one place among all, or of another: vectors that have nothing in common."""

    def of(name: str, relation: str, noise: Noise, **given: Any) -> Ask:
        def ask(asked: PrivateGraph) -> Any:
            reads: PeopleAndThings = asked.people_and_things()
            return getattr(reads, name)(relation, noise=noise, purpose="audit", **given)

        return ask

    def pair(relation: EdgeType, *owned: frozenset[tuple[int, int]]) -> tuple[Graph, Graph]:
        schema = schema_of(relation, persons=2)
        persons: list[list[Record]] = [[{relation.name: frozenset()}, {relation.name: own}] for own in owned]
        return built(schema, persons[0]), built(schema, persons[1])

    nothing, one, other = frozenset(), frozenset({(0, 0)}), frozenset({(1, 0)})
    first, second = frozenset({(0, 0)}), frozenset({(0, 1)})
    once, twice = np.zeros(1, dtype=np.int64), np.arange(2)
    reads: list[tuple[tuple[Graph, Graph], str, str, dict[str, Any]]] = [
        (pair(PLAIN, one, nothing), "degree_histogram", "owns", {"bounds": np.array([0, 1])}),
        (
            pair(TIMED, first, second),
            "activity_histogram",
            "rates",
            {"periods": twice, "bounds": np.array([1])},
        ),
        (pair(CLASS, one, other), "class_histogram", "works", {}),
        (pair(PLAIN, one, other), "thing_totals", "owns", {"periods": once, "bound": 1}),
        (pair(PLAIN, one, other), "second_moments", "owns", {"attributes": np.eye(3, 2), "clip": 1.0}),
    ]
    for graphs, name, relation, given in reads:
        for noise, plan, how in ((SIGMA, NOISY, ""), (pure(1), PURE, ", pure")):
            if name == "second_moments" and how:
                continue
            own = replace(plan, steps=2) if name == "activity_histogram" else plan
            ask = of(name, relation, noise, **given)
            yield ReadAudit(f"persons, {name}{how}", f"PeopleAndThings.{name}", own, graphs, ask, 4_000)
    for attribute, graphs in (
        ("stars", (rating(1, 1), rating(3, 1))),
        (None, (rating(1, 1), rating(1, CAP))),
    ):
        given = {"things": np.zeros(1, dtype=np.int64), "periods": once, "bound": 1}
        labels = np.arange(3 if attribute else CAP)
        for noise, plan, how in ((SIGMA, NOISY, ""), (pure(1), PURE, ", pure")):
            ask = of("value_totals", "rates", noise, attribute=attribute, labels=labels, **given)
            said = f"persons, value_totals{'' if attribute else ' of numbers'}{how}"
            yield ReadAudit(said, "PeopleAndThings.value_totals", plan, graphs, ask, 4_000)


def rating(stars: int, records: int) -> Graph:
    """A person rates one film, so often, with so many stars."""
    kinds = NodeType(name="user", count=1, protected=True), NodeType(name="film", count=1)
    relation = EdgeType(name="rates", source="user", target="film", attributes=(STARS,), **SEVERAL)
    values = EdgeValues({"stars": np.full(records, stars, dtype=np.int32)}, np.zeros(records, np.int64))
    table = EdgeTable(np.zeros(1, np.int64), np.zeros(1, np.int64), None, values)
    return Graph.build(GraphSchema(node_types=kinds, edge_types=(relation,)), {}, {"rates": table})


def audits() -> Iterator[ReadAudit]:
    for each in (knowing, directed, carrying, bounded_values, meeting):
        yield from each()

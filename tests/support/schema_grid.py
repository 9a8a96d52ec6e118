"""Shapes of schema that owners have: types by time, edge values, node attributes, units and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO
from core.privacy.units import Unit

PERSON, THING = "person", "thing"
STEPS, WINDOW = 3, 2

TYPES: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "ties": ((PERSON, PERSON, False),),
    "arcs": ((PERSON, PERSON, True),),
    "ties and arcs": ((PERSON, PERSON, False), (PERSON, PERSON, True)),
    "things": ((PERSON, THING, False),),
    "ties and things": ((PERSON, PERSON, False), (PERSON, THING, False)),
    "two sorts of things": ((PERSON, THING, False), (PERSON, "place", False)),
}
"""Relations by source, target and direction."""

SIGN = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"), aggregate="max")
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
HOURS = EdgeAttribute(name="hours", kind="number", bounds=(0, 100), cuts=(1, 10), aggregate="sum")
VALUES = {
    "none": (),
    "a category": (SIGN,),
    "an integer": (STARS,),
    "a number": (HOURS,),
    "several": (SIGN, STARS),
}

PUBLIC = Attribute(name="team", protection="public")
LIVES = Attribute(name="town", protection="protected", categories=("x", "y", "z"))
AGE = Attribute(name="age", kind="number", protection="protected", bounds=(0, 99), cuts=(18, 65))
EMBEDDING = Attribute(
    name="embedding", kind="vector", protection="protected", bounds=(-8, 8), cuts=(-1, 1), length=4
)
ROWS = {"none": (), "public": (PUBLIC,), "protected": (LIVES, AGE), "a vector": (LIVES, EMBEDDING)}


@dataclass(frozen=True)
class Shape:
    """A schema, the unit it is released under, and whether a bound on degrees and a delta are given."""

    types: str
    timed: bool
    values: str
    rows: str
    unit: Unit
    bounded: bool
    delta: bool

    def facts(self, epsilon: float = 1.0, persons: int = 80) -> PublicFacts:
        """Return the public facts of a request for all of it."""
        protected = self.unit is Unit.NODE
        bound = 20 if self.bounded and protected else None
        ends = {end for source, target, _ in TYPES[self.types] for end in (source, target)}
        kinds = tuple(
            NodeType(
                name=name,
                count=persons if name == PERSON else 30,
                attributes=ROWS[self.rows] if name == PERSON else (),
                protected=protected and name == PERSON,
                degree_bound=bound if name == PERSON else None,
            )
            for name in (PERSON, THING, "place")
            if name in ends
        )
        relations = tuple(
            EdgeType(
                name=f"r{place}",
                source=source,
                target=target,
                directed=directed,
                temporal=self.timed,
                attributes=VALUES[self.values],
                edge_bound=persons * 3 if self.bounded and not protected else None,
            )
            for place, (source, target, directed) in enumerate(TYPES[self.types])
        )
        schema = GraphSchema(
            node_types=kinds,
            edge_types=relations,
            time=TimeGrid(start=0, width=10, count=STEPS) if self.timed else None,
        )
        window = WINDOW if self.unit is Unit.W_EVENT else None
        delta = 10**12 if self.delta else 0
        names = tuple(each.name for each in relations)
        return PublicFacts(schema, self.unit, window, int(epsilon * NANO), delta, names)

    @property
    def carries_all(self) -> dict[str, bool]:
        """What a release has to carry: ``values`` of edges, ``node_values``, ``vectors`` with them."""
        rows = self.rows in ("protected", "a vector")
        return {"values": self.values != "none", "node_values": rows, "vectors": rows}


def shapes() -> Iterator[Shape]:
    """Yield 1,920 of them under edges' own unit and under persons', and 960 under w-event and pair."""
    for types, timed, values, rows in product(TYPES, (False, True), VALUES, ROWS):
        units = (Unit.EVENT, Unit.NODE, Unit.W_EVENT, Unit.PAIR) if timed else (Unit.EDGE, Unit.NODE)
        for unit, bounded, delta in product(units, (False, True), (False, True)):
            yield Shape(types, timed, values, rows, unit, bounded, delta)


def counts_of(facts: PublicFacts) -> dict[str, int]:
    """Return the sizes of the universes."""
    return {kind.name: kind.count or 0 for kind in facts.schema.node_types}


def graph_of(facts: PublicFacts, seed: int = 3) -> Graph:
    """Make a graph of that schema, every edge and node with values."""
    rng = np.random.default_rng(seed)
    schema, nodes, edges = facts.schema, {}, {}
    for kind in schema.node_types:
        columns = {each.name: _column(each.name, kind.count or 0, rng) for each in kind.attributes}
        nodes[kind.name] = NodeTable(kind.count or 0, None, columns)
    for each in schema.edge_types:
        sides = [nodes[end].count for end in (each.source, each.target)]
        pairs = rng.random(sides) < 2 / max(sides)
        source, target = np.nonzero(np.triu(pairs, 1) if each.homogeneous and not each.directed else pairs)
        if each.homogeneous:
            source, target = source[source != target], target[source != target]
        step = rng.integers(0, STEPS, len(source)) if each.temporal else None
        carried = {one.name: _values(one, len(source), rng) for one in each.attributes}
        edges[each.name] = EdgeTable(source, target, step, EdgeValues(carried) if carried else None)
    return Graph.build(schema, nodes, edges)


def _column(name: str, count: int, rng: np.random.Generator) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "team": lambda: pa.array(rng.choice(["red", "blue"], count).tolist()),
        "town": lambda: pa.array(rng.choice(["x", "y", "z"], count).tolist()),
        "age": lambda: rng.uniform(0, 99, count),
        "embedding": lambda: rng.normal(size=(count, 4)).astype(np.float32),
    }
    return made[name]()


def _values(attribute: EdgeAttribute, count: int, rng: np.random.Generator) -> np.ndarray:
    if attribute.categories is not None:
        return rng.integers(0, len(attribute.categories), count)
    low, high = attribute.range
    return (
        rng.integers(int(low), int(high) + 1, count)
        if attribute.kind == "integer"
        else rng.uniform(low, high, count)
    )

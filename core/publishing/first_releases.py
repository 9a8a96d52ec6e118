"""Small made-up graphs of every kind, released. They are released as somebody does who sets nothing: for its
kernels' sake."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from core.graphs.ingest.assembled_objects import store
from core.graphs.schema import GraphSchema
from core.methods.base import no_progress
from core.privacy.entropy import Generator, public_generator
from core.privacy.units import Unit
from core.publishing.alone import Asked, make_alone, plan_alone

NODES, EDGES, STEPS, WINDOW, DELTA = 60, 200, 3, 2, "0.000001"
EPSILONS = ("0.5", "2", "8")
"""The default hangs on it: noisy bits of pairs where it is large, sorted degrees where it is small."""

PERSON: dict[str, Any] = {"name": "person"}
THING: dict[str, Any] = {"name": "thing"}
VALUES: list[dict[str, Any]] = [
    {"name": "kind", "kind": "category", "categories": ["a", "b", "c"]},
    {"name": "amount", "kind": "number", "bounds": [0, 10], "cuts": [2, 5]},
    {"name": "stars", "kind": "integer", "bounds": [1, 5]},
    {"name": "hour", "kind": "time_of_day"},
]
OF_NODES = [{**each, "protection": "protected"} for each in VALUES[:2]]
GRID = {"time": {"start": 0, "width": 1, "count": STEPS}}


def _one(**relation: Any) -> dict[str, Any]:
    return {"edge_types": [relation], **(GRID if relation.get("temporal") else {})}


def _two(protected: bool = False, **relation: Any) -> dict[str, Any]:
    person = {**PERSON, "protected": True} if protected else PERSON
    ends = {"source": "person", "target": "thing"}
    return _one(**ends, **relation) | {"node_types": [person, THING]}


def _persons() -> dict[str, Any]:
    return _one(source="person", target="person") | {"node_types": [{**PERSON, "protected": True}]}


def kinds() -> Iterator[tuple[GraphSchema, Unit]]:
    """List every kind of graph with a default. Each comes with each unit that protects it."""
    static = [_one(), _one(directed=True), _two()]
    timed = [_one(temporal=True), _one(temporal=True, directed=True), _two(temporal=True)]
    nodes = {"node_types": [{"name": "node", "attributes": OF_NODES}]}
    collection = {"collection": {"graphs": [{"id": "1"}, {"id": "2"}]}}
    for document in (*static, _one() | nodes, collection):
        yield GraphSchema.model_validate(document), Unit.EDGE
    merged = [{**each, "aggregate": "max"} for each in VALUES]
    for carried in (
        {"attributes": merged},
        {"attributes": VALUES, "multiplicity": "each", "records_per_slot": 3},
    ):
        for document in (_one(**carried), _one(directed=True, **carried), _two(**carried)):
            yield GraphSchema.model_validate(document), Unit.EDGE
        yield GraphSchema.model_validate(_one(temporal=True, **carried)), Unit.EVENT
        yield GraphSchema.model_validate(_two(temporal=True, **carried)), Unit.EVENT
    for document in (*timed, _one(temporal=True) | nodes):
        for unit in (Unit.EVENT, Unit.W_EVENT, Unit.PAIR):
            yield GraphSchema.model_validate(document), unit
    for document in (_persons(), _two(protected=True), _two(protected=True, temporal=True)):
        yield GraphSchema.model_validate(document), Unit.NODE


def release(schema: GraphSchema, unit: Unit, epsilon: str, nodes: int, edges: int) -> str:
    """Release a random graph by its default method. The graph has this schema; returned is the method's
    name."""
    rng = public_generator(0)
    delta = DELTA if unit is Unit.NODE else 0
    request = Asked(epsilon, delta, unit, WINDOW if unit is Unit.W_EVENT else None)
    with tempfile.TemporaryDirectory(prefix="graphveil-") as temporary:
        folder = Path(temporary)
        tables = _tables(schema, rng, nodes, edges)
        stored = store(tables[0], folder / "graph", schema=schema, nodes=tables[1])
        task = plan_alone(stored.schema, stored.nodes, request)
        make_alone(task, folder / "graph", folder / "out", None, no_progress)
    return task.settled.generator.name


def _tables(schema: GraphSchema, rng: Generator, nodes: int, edges: int) -> tuple[pa.Table, pa.Table]:
    """Draw an edge list and a node list, as somebody has them: ids are words."""
    listed: dict[str, list[Any]] = {"id": [], "type": []}
    drawn: dict[str, list[Any]] = {"source": [], "target": [], "type": []}
    for kind in schema.node_types:
        listed["id"] += [f"{kind.name}-{number}" for number in range(nodes)]
        listed["type"] += [kind.name] * nodes
        for attribute in kind.attributes:
            listed.setdefault(attribute.name, []).extend(_values(attribute.model_dump(), rng, nodes))
    for relation in schema.edge_types:
        for end, name in (("source", relation.source), ("target", relation.target)):
            drawn[end] += [f"{name}-{number}" for number in rng.integers(0, nodes, edges)]
        drawn["type"] += [relation.name] * edges
        if relation.temporal:
            drawn.setdefault("time", []).extend(rng.integers(0, STEPS, edges).tolist())
        for carried in relation.attributes:
            drawn.setdefault(carried.name, []).extend(_values(carried.model_dump(), rng, edges))
    if schema.collection is not None:
        for table, ends in ((listed, "type"), (drawn, "type")):
            table["graph_id"] = [each.removeprefix("graph-") for each in table.pop(ends)]
    return pa.table(drawn), pa.table(listed)


def _values(attribute: Mapping[str, Any], rng: Generator, count: int) -> list[Any]:
    least, most = attribute.get("bounds") or (0, 0)
    match str(attribute["kind"]):
        case "category":
            return list(rng.choice(list(attribute["categories"]), count).tolist())
        case "time_of_day":
            return [f"{hour:02d}:30" for hour in rng.integers(0, 24, count)]
        case "integer":
            return list(rng.integers(least, most, count).tolist())
        case _:
            return list(rng.uniform(least, most, count).tolist())


def release_all(nodes: int = NODES, edges: int = EDGES) -> list[str]:
    """Release a graph of every kind. It does so at small and large epsilons; returned is which method each
    went by."""
    return [release(*kind, epsilon, nodes, edges) for kind in kinds() for epsilon in EPSILONS]

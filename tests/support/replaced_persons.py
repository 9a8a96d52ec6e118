"""Tiny graphs of persons and things, and every graph in which one person's edges are others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid

Slot = tuple[int, int]
"""A thing and a step (0 without time)."""
Record = dict[str, frozenset[Slot]]
"""All edges of one person, by relation."""

PERSON = "user"
TIMED = EdgeType(name="rates", source=PERSON, target="film", directed=True, temporal=True)
PLAIN = EdgeType(name="owns", source="film", target=PERSON)
CLASS = EdgeType(name="works", source=PERSON, target="job", directed=True, functional=True)
GENRES = EdgeType(name="shows", source="film", target="genre", public=True)


def schema_of(
    *relations: EdgeType, persons: int = 3, films: int = 3, jobs: int = 2, genres: int = 2, steps: int = 2
) -> GraphSchema:
    """These relations of protected users."""
    counts = {PERSON: persons, "film": films, "job": jobs, "genre": genres}
    used = {end for each in relations for end in (each.source, each.target)}
    kinds = tuple(
        NodeType(name=name, count=count, protected=name == PERSON)
        for name, count in counts.items()
        if name in used
    )
    time = TimeGrid(count=steps) if any(each.temporal for each in relations) else None
    return GraphSchema(node_types=kinds, edge_types=relations, time=time)


def slots_of(schema: GraphSchema, relation: EdgeType) -> list[Slot]:
    """Everything that a person may have an edge with."""
    thing = relation.target if relation.source == PERSON else relation.source
    steps = range(schema.steps) if relation.temporal else (0,)
    return list(itertools.product(range(schema.node_type(thing).count or 0), steps))


def records(schema: GraphSchema) -> Iterator[Record]:
    """Every set of edges that one person may have, as far as ``functional`` allows."""
    choices = []
    for each in schema.edge_types:
        if each.public:
            continue
        slots = slots_of(schema, each)
        sets = [
            frozenset(chosen)
            for size in range(len(slots) + 1)
            for chosen in itertools.combinations(slots, size)
        ]
        if each.functional:
            sets = [found for found in sets if len({thing for thing, _ in found}) <= 1]
        choices.append([(each.name, found) for found in sets])
    for chosen in itertools.product(*choices):
        yield dict(chosen)


def some_records(schema: GraphSchema, count: int, seed: int = 3) -> list[Record]:
    """Records of other persons, at random."""
    every = list(records(schema))
    return [every[i] for i in np.random.default_rng(seed).integers(0, len(every), count)]


def built(schema: GraphSchema, persons: list[Record]) -> Graph:
    """The graph in which person i has ``persons[i]``; public relations link i to i modulo the others."""
    tables = {}
    for each in schema.edge_types:
        if each.public:
            things, others = (schema.node_type(end).count or 0 for end in (each.source, each.target))
            tables[each.name] = EdgeTable(np.arange(things), np.arange(things) % others)
            continue
        rows = [(u, thing, step) for u, own in enumerate(persons) for thing, step in sorted(own[each.name])]
        person, thing, step = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        ends = (person, thing) if each.source == PERSON else (thing, person)
        tables[each.name] = EdgeTable(*ends, step if each.temporal else None)
    return Graph.build(schema, {kind.name: NodeTable(kind.count or 0) for kind in schema.node_types}, tables)

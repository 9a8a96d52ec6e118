"""Which graphs are kept in parts, and what is known of a part. No NumPy here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.edge_attributes import EdgeAttribute

MOST_CELLS = 64
"""So many relations and snapshots may a graph in parts have: each has files of its own."""
ELSEWHERE = (
    "who meets whom by protected attributes is counted edge by edge, and the edges of this dataset stay "
    "elsewhere; upload them in parts, or leave node_attribute_share out"
)

OF_PAIRS = (
    "under the unit pair one value of each pair counts, of all steps together, and in parts every step has "
    "files of its own: declare no attributes of relations with time"
)


@dataclass(frozen=True)
class Part:
    """What is known of one file. It has its name, digest, rows, and the range of its sources, -1 and -1
    without rows. ``cell``: of which relation and snapshot it is, by its place in :func:`cells_of`."""

    name: str
    sha256: str
    bytes: int
    rows: int
    first_source: int
    last_source: int
    cell: int = 0


@dataclass(frozen=True)
class Slots:
    """The pairs that a cell may have, of so many sources and targets.

    ``mirrored``: a pair is the same both ways, and stands once, the smaller end first. ``loops``: both ends
    may have one number, as those of two node types. ``attributes``: what each of them carries.
    """

    sources: int
    targets: int
    mirrored: bool = True
    loops: bool = False
    attributes: tuple[EdgeAttribute, ...] = ()

    @property
    def most(self) -> int:
        """The nodes of the larger side."""
        return max(self.sources, self.targets)


def inside(nodes: int) -> Slots:
    """Return the slots of an undirected relation inside one node type."""
    return Slots(nodes, nodes)


def slots_of(relation: EdgeType, nodes: Mapping[str, int]) -> Slots:
    """Return the slots of a relation's cells. ``nodes``: how many each type has."""
    mirrored = relation.homogeneous and not relation.directed
    ends = nodes[relation.source], nodes[relation.target]
    return Slots(*ends, mirrored, not relation.homogeneous, relation.attributes)


def part_name(number: int, parts: int) -> str:
    """Name the file of one of so many parts."""
    return f"edges-{number:05d}-of-{parts:05d}.parquet"


def cells_of(schema: GraphSchema) -> tuple[tuple[EdgeType, int | None], ...]:
    """List the relations with their snapshots, in the order in which parts come."""
    return tuple((each, step) for each in schema.edge_types for step in schema.steps_of(each.name))


def divided(edges: Sequence[int], most: Sequence[int], shards: int) -> list[int]:
    """Say how many of ``shards`` each cell has: one at least, and so many at ``most``.

    Others go to where a shard has the most edges, one after the other. A function of its arguments alone, so
    that whoever draws a shard and whoever joins them agree. ValueError for fewer shards than cells, or more
    than there can be.
    """
    if not len(edges) <= shards <= sum(most):
        raise ValueError(f"{len(edges)} cells make {len(edges)} to {sum(most)} shards")
    found = [1] * len(edges)
    if len(found) == 1:
        return [shards]
    for _ in range(shards - len(found)):
        able = (place for place, each in enumerate(found) if each < most[place])
        # Of several as full the first: the same shards come out wherever this is computed.
        found[max(able, key=lambda place: (edges[place] / found[place], -place))] += 1
    return found


def require_referable(schema: GraphSchema) -> None:
    """Refuse a schema whose edges are not counted where they lie. ValueError."""
    require_partable(schema)
    for relation in schema.edge_types:
        if relation.attributes:
            raise ValueError(f"edge type {relation.name!r} declares attributes, and ends alone are counted")
    for kind in schema.node_types:
        if kind.protected or kind.degree_bound is not None:
            raise ValueError(
                f"node type {kind.name!r} is protected or has a degree_bound, and of edges that stay "
                "elsewhere degrees are counted, but nobody's edges are kept in an order and no bound is "
                "checked"
            )


def require_partable(schema: GraphSchema) -> None:
    """Refuse a schema whose graphs are not kept in parts. ValueError."""
    if schema.collection is not None:
        raise ValueError("a graph in parts is one graph, and no collection")
    for relation in schema.edge_types:
        if not relation.merged:
            raise ValueError(
                f"edge type {relation.name!r} keeps each row of an edge (multiplicity each), and an edge "
                "of a graph in parts has one value of each attribute: declare an aggregate for each of them"
            )
        if relation.public or relation.functional or relation.once:
            raise ValueError(
                f"edge type {relation.name!r} is declared public, functional or once, and of relations of a "
                "graph in parts nothing further is declared but bounds"
            )
    for kind, relation in product(schema.node_types, schema.edge_types):
        if not kind.protected:
            continue
        if relation.directed or not relation.homogeneous or relation.source != kind.name:
            raise ValueError(
                f"edge type {relation.name!r} is directed, or not inside the protected node type "
                f"{kind.name!r}: of persons a graph in parts counts who knows whom, and arcs that answer one "
                "another, and what each person has, are read of edges together"
            )
    if len(cells_of(schema)) > MOST_CELLS:
        raise ValueError(f"a graph in parts has at most {MOST_CELLS} relations and snapshots together")

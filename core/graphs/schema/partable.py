"""Which graphs are kept in parts, and what is known of a part. No NumPy here."""

from __future__ import annotations

from dataclasses import dataclass

from core.graphs.schema import EdgeType, GraphSchema


@dataclass(frozen=True)
class Part:
    """What is known of one file. It has its name, digest, rows, and the range of its sources, -1 and -1
    without rows."""

    name: str
    sha256: str
    bytes: int
    rows: int
    first_source: int
    last_source: int


def part_name(number: int, parts: int) -> str:
    """Name the file of one of so many parts."""
    return f"edges-{number:05d}-of-{parts:05d}.parquet"


def require_partable(schema: GraphSchema) -> EdgeType:
    """Return the only relation of a partable schema. ValueError where graphs of this schema are not kept in
    parts."""
    if len(schema.edge_types) != 1 or len(schema.node_types) != 1:
        raise ValueError("a graph in parts has one node type and one relation")
    (relation,), (kind,) = schema.edge_types, schema.node_types
    if relation.directed or relation.temporal or relation.attributes:
        raise ValueError("a graph in parts has an undirected relation without time and attributes")
    if relation.public or relation.functional or kind.protected or kind.degree_bound is not None:
        raise ValueError(
            "a graph in parts has a protected relation of which nothing further is declared, and no "
            "protected nodes or bounds of degrees"
        )
    return relation

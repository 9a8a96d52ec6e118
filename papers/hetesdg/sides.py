"""Grouped and counted ends of a relation, and paths. The paths go through it. Public facts only."""

from __future__ import annotations

from dataclasses import dataclass

from core import errors
from core.graphs.schema import AttributeKind, EdgeType, GraphSchema, Protection

SMALL = 200
"""A counted type of fewer nodes has no degree sequence of its own: its rows say it better."""

NUMERIC = frozenset({AttributeKind.NUMBER, AttributeKind.VECTOR})


@dataclass(frozen=True)
class Sides:
    """The two ends of a relation. ``grouped``: the node type whose nodes are in clusters; ``counted``: the
    type for whose nodes neighbours are counted by cluster. ``counted_side`` names the end as queries do."""

    grouped: str
    counted: str
    grouped_side: str
    counted_side: str

    @property
    def undirected(self) -> bool:
        """Tell whether both ends are one. They are in an undirected relation inside one node type."""
        return self.counted_side == "both"


def has_features(schema: GraphSchema, node_type: str, rows: bool) -> bool:
    """Tell whether a type's nodes differ without edges. They do by public columns, or by paid-for rows."""
    attributes = [each for each in schema.node_type(node_type).attributes if not each.label]
    if any(each.protection is Protection.PUBLIC for each in attributes):
        return True
    return rows and has_protected_rows(schema, node_type)


def has_protected_rows(schema: GraphSchema, node_type: str) -> bool:
    """Tell whether that type declares protected numbers or vectors."""
    return any(
        each.protection is Protection.PROTECTED and each.kind in NUMERIC and not each.label
        for each in schema.node_type(node_type).attributes
    )


def sides_of(schema: GraphSchema, relation: EdgeType, rows: bool) -> Sides:
    """Group the type with features. The source is grouped where both or neither have them."""
    if relation.homogeneous and not relation.directed:
        return Sides(relation.source, relation.source, "both", "both")
    source, target = (has_features(schema, name, rows) for name in (relation.source, relation.target))
    if target and not source:
        return Sides(relation.target, relation.source, "target", "source")
    return Sides(relation.source, relation.target, "source", "target")


def paths_of(
    schema: GraphSchema, edge_types: tuple[str, ...], asked: tuple[tuple[str, ...], ...], rows: bool
) -> tuple[tuple[str, str], ...]:
    """List the meta-paths, each as two relations.

    They meet in the type that the first one counts. Those of ``asked``; without any, there and back over
    every relation. Raises NotAccepted where two relations do not meet, or one is not requested.
    """
    if not asked:
        return tuple((name, name) for name in edge_types)
    for first, last in asked:
        if first not in edge_types or last not in edge_types:
            raise errors.NotAccepted("a meta-path goes over relations of the job", field="meta_paths")
        relation = schema.edge_type(last)
        meeting = sides_of(schema, schema.edge_type(first), rows).counted
        if meeting not in (relation.source, relation.target):
            raise errors.NotAccepted(f"{first!r} and {last!r} do not meet in {meeting!r}", field="meta_paths")
    if len(set(asked)) != len(asked):
        raise errors.NotAccepted("a meta-path is named twice", field="meta_paths")
    return tuple((first, last) for first, last in asked)


def returning_side(schema: GraphSchema, path: tuple[str, str], rows: bool) -> str:
    """Return the end at which the path returns. It is an end of its last relation, as queries name it."""
    relation = schema.edge_type(path[1])
    if relation.homogeneous and not relation.directed:
        return "both"
    first = sides_of(schema, schema.edge_type(path[0]), rows)
    if path[0] == path[1]:
        return first.grouped_side
    return "target" if relation.source == first.counted else "source"


def end_type(schema: GraphSchema, path: tuple[str, str], rows: bool) -> str:
    """Return the node type at which a path ends."""
    relation = schema.edge_type(path[1])
    return relation.target if returning_side(schema, path, rows) == "target" else relation.source


def walked(schema: GraphSchema, start: str, path: tuple[str, ...]) -> tuple[bool, ...] | None:
    """Follow a path's relations from a node type: True where one is walked from its source.

    None where two of them do not meet, or they do not lead back to ``start``.
    """
    forward, at = [], start
    for name in path:
        relation = schema.edge_type(name)
        if at not in (relation.source, relation.target):
            return None
        forward.append(at == relation.source)
        at = relation.target if forward[-1] else relation.source
    return tuple(forward) if at == start else None


def require_closed(
    schema: GraphSchema, edge_types: tuple[str, ...], asked: tuple[tuple[str, ...], ...]
) -> None:
    """Raise NotAccepted for a meta-path of variant paper that leads back to no node type."""
    for path in asked:
        if not set(path) <= set(edge_types):
            raise errors.NotAccepted("a meta-path goes over relations of the job", field="meta_paths")
        if all(walked(schema, kind.name, path) is None for kind in schema.node_types):
            told = f"{'-'.join(path)} leads back to no node type; a path of variant=paper does"
            raise errors.NotAccepted(told, field="meta_paths")

"""Sizes that relative answers take for granted. The schema declares something of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from core.errors import InvalidInput
from core.graphs.schema import MAX_TYPES, EdgeType, GraphSchema
from core.privacy.queries import Shape, slot_count


def _whole(said: Any) -> Any:
    """Take 5.0 for 5, as JSON does; texts and truth values stay no sizes."""
    return int(said) if isinstance(said, float) and said.is_integer() else said


Size = Annotated[int, Field(ge=1, le=10**12, strict=True), BeforeValidator(_whole)]
Sizes = Size | Annotated[dict[str, Size], Field(min_length=1, max_length=MAX_TYPES)]


class Assume(BaseModel):
    """Sizes that relative answers take for granted: the caller's guesses, or facts that are public."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    edges: Sizes | None = Field(
        default=None,
        description="Edges of a relation (of one snapshot, where it has time), or a number for each by name.",
        examples=[90_000],
    )
    nodes: Sizes | None = Field(
        default=None,
        description="Nodes that have edges in a relation, or a number for each by name; the node universe "
        "unless given.",
    )


def check_assumed(
    assume: Assume | None, schema: GraphSchema, nodes: Mapping[str, int], asked: Collection[str]
) -> None:
    """Check assumed sizes against declared facts. InvalidInput, with the field to mend, where facts of the
    relations ``asked`` contradict what is assumed, or where it names another relation."""
    if assume is None:
        return
    for field, given in (("edges", assume.edges), ("nodes", assume.nodes)):
        named = given if isinstance(given, dict) else {}
        for name in sorted(set(named) - set(asked)):
            raise InvalidInput(f"Relation {name!r} is not asked for.", field=f"assume.{field}.{name}")
    for relation in schema.edge_types:
        if relation.name not in asked:
            continue
        most, why = _most_edges(relation, schema, nodes)
        edges, count = size_of(assume.edges, relation), size_of(assume.nodes, relation)
        if edges is not None and edges > most:
            raise InvalidInput(
                f"Relation {relation.name!r} has at most {most} edges in a snapshot: {why}.",
                field="assume.edges",
            )
        universe = _universe(relation, nodes)
        if count is not None and count > universe:
            raise InvalidInput(
                f"Relation {relation.name!r} is between {universe} nodes at most.", field="assume.nodes"
            )


def size_of(sizes: Sizes | None, relation: EdgeType) -> int | None:
    """Return what is given for the relation."""
    return sizes.get(relation.name) if isinstance(sizes, dict) else sizes


def _universe(relation: EdgeType, nodes: Mapping[str, int]) -> int:
    return nodes[relation.source] + (0 if relation.homogeneous else nodes[relation.target])


def bounds(relation: EdgeType, schema: GraphSchema, nodes: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """List the declared bounds on edges. They are those of a relation in one snapshot."""
    if relation.edge_bound is not None:
        yield relation.edge_bound, "its declared edge_bound"
    if relation.functional:
        yield nodes[relation.source], "it is declared functional"
    ends = [schema.node_type(relation.source), schema.node_type(relation.target)]
    for kind in ends[:1] if relation.homogeneous else ends:
        if kind.degree_bound is not None:
            total = kind.degree_bound * nodes[kind.name]
            twice = relation.homogeneous and not relation.directed
            yield total // 2 if twice else total, f"the declared degree_bound of {kind.name!r}"


def _most_edges(relation: EdgeType, schema: GraphSchema, nodes: Mapping[str, int]) -> tuple[int, str]:
    slots = slot_count(Shape(relation, nodes[relation.source], nodes[relation.target]))
    return min([(slots, "so many pairs of nodes there are"), *bounds(relation, schema, nodes)])

"""What is said for a graph from declared facts alone, and what of it is refused.

It is for developers, before anything is approved. Read are the public schema, public sizes and what the
caller says. No graph is named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from core.errors import InvalidInput, NotAccepted
from core.graphs.schema import EdgeType, GraphSchema, NodeIds, Protection
from core.graphs.schema.node_bins import synthesised
from core.methods.base import Parameters
from core.privacy.accounting.plan import DECLARED, PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import Unit
from core.publishing.checks import checked_formats, checked_params, protected_relations, released_schema

TITLE = "From declarations"
SUMMARY = (
    "A graph from declared facts alone, at epsilon 0: sizes, a law of degrees by name, who meets whom where "
    "that is said. For programs, before anything is approved; conclude nothing from it."
)
REST = "*"
MOST_EDGES, MOST_NODES = 50_000_000, 10**8
FILE = "declarations.json"


class Mixing(Parameters):
    """Who meets whom: a share of the edges leads to nodes of the same group, all others anywhere."""

    groups: Annotated[int, Field(ge=2, le=1000)] | str = Field(
        description="So many groups of equal size, or the declared attribute whose values are the groups."
    )
    within: float = Field(ge=0, le=1, description="Share of the edges that is drawn inside a group.")


class Relation(Parameters):
    """What is said of a relation, of each of its steps."""

    mean_degree: float = Field(
        default=4.0,
        gt=0,
        le=100_000,
        description="Edges of a node, both ends counted; of a directed relation, or between two node types, "
        "of a source.",
    )
    degrees: Literal["poisson", "exponential", "power_law"] = Field(
        default="poisson", description="The law of the expected degrees: all alike, or spread so."
    )
    exponent: float = Field(
        default=2.5, gt=2, le=10, description="Of the power law: nodes of degree d go with d ** -exponent."
    )
    mixing: Mixing | None = None


class DeclaredParams(Parameters):
    """What a caller may say beside the schema."""

    nodes: Mapping[str, Annotated[int, Field(ge=1, le=MOST_NODES, strict=True)]] = Field(
        default_factory=dict,
        description="How many nodes of a type there are: where the schema does not say, or to have others.",
    )
    relations: Mapping[str, Relation] = Field(
        default_factory=dict, description="By a relation's name; * for every other."
    )

    def of(self, name: str) -> Relation:
        """Return what is said of that relation."""
        return self.relations.get(name) or self.relations.get(REST) or Relation()


@dataclass(frozen=True)
class Declarations:
    """All that a graph follows from. ``released``: its schema, with every size; ``formats`` beside tables."""

    params: DeclaredParams
    released: GraphSchema
    formats: tuple[str, ...]


def declarations(
    schema: GraphSchema,
    nodes: Mapping[str, int],
    parameters: Mapping[str, Any],
    *,
    edge_types: Sequence[str] | None = None,
    formats: Sequence[str] = (),
) -> Declarations:
    """Settle what is said. ``nodes``: public sizes of node types, of which ``parameters`` may say others.

    Raises InvalidInput, NotAccepted and UnknownFormat, with the field to mend. No data is read.
    """
    params = checked_params(DeclaredParams, parameters)
    if schema.collection is not None:
        raise NotAccepted("A collection of graphs is not made from declarations.", field="graph_schema")
    names = protected_relations(schema, edge_types)
    # What the caller says of sizes comes before what is declared: it may be asked for other ones.
    whole = _sized(schema, names, {**nodes, **params.nodes})
    _require_known(params, whole)
    released = released_schema(whole, names, node_values=True, vectors=True)
    return Declarations(params, released, checked_formats(formats, released))


def plan_of(unit: Unit, window: int | None, steps: int) -> PrivacyPlan:
    """Plan no read. That is all it takes, whatever is said."""
    return PrivacyPlan(DECLARED, unit, window, steps, ())


def counts_of(schema: GraphSchema) -> dict[str, int]:
    """Return the declared sizes of the node types."""
    return {kind.name: kind.count for kind in schema.node_types if kind.count is not None}


def _sized(schema: GraphSchema, names: Sequence[str], nodes: Mapping[str, int]) -> GraphSchema:
    """Return the schema of what is sampled. It has these protected relations, declared attributes, a size for
    each type.

    What only the data say is left out: public relations and attributes, ids.
    """
    kinds = []
    for kind in schema.node_types:
        count = nodes.get(kind.name, kind.count)
        if count is None:
            raise InvalidInput(
                f"say how many nodes of type {kind.name!r} there are", field="parameters.nodes"
            )
        # Public attributes would have to be copied from data, which is not opened.
        kept = tuple(each for each in kind.attributes if each.protection is not Protection.PUBLIC)
        kinds.append(kind.model_copy(update={"count": count, "attributes": kept}))
    unknown = sorted(set(nodes) - {kind.name for kind in kinds})
    if unknown:
        raise InvalidInput(f"there is no node type {unknown[0]!r}", field="parameters.nodes")
    edges = tuple(each.without_attributes() for each in schema.edge_types if each.name in names)
    time = schema.time if any(each.temporal for each in edges) else None
    return GraphSchema(node_types=tuple(kinds), edge_types=edges, time=time, node_ids=NodeIds.PSEUDONYMOUS)


def _require_known(params: DeclaredParams, schema: GraphSchema) -> None:
    """Raise InvalidInput for a relation or attribute that is not declared, or more edges than are made."""
    names = [each.name for each in schema.edge_types]
    for name in params.relations:
        if name not in (*names, REST):
            raise InvalidInput(
                f"there is no protected relation {name!r}", field=f"parameters.relations.{name}"
            )
    for relation in schema.edge_types:
        _require_mixing(relation, params, schema)
    nodes = counts_of(schema)
    edges = sum(
        edges_of(each, nodes, params.of(each.name)) * len(schema.steps_of(each.name))
        for each in schema.edge_types
    )
    if edges > MOST_EDGES:
        raise InvalidInput(f"at most {MOST_EDGES} edges are made", field="parameters.relations")


def _require_mixing(relation: EdgeType, params: DeclaredParams, schema: GraphSchema) -> None:
    said = params.of(relation.name).mixing
    field = f"parameters.relations.{relation.name if relation.name in params.relations else REST}.mixing"
    if said is None:
        return
    if not relation.homogeneous:
        raise InvalidInput("mixing is of relations inside one node type", field=field)
    declared = sorted(each.name for each in synthesised(schema.node_type(relation.source)))
    if isinstance(said.groups, str) and said.groups not in declared:
        raise InvalidInput(
            "groups are a number, or a protected attribute with declared values: "
            f"{', '.join(declared) or 'there is none'}",
            field=f"{field}.groups",
        )


def edges_of(relation: EdgeType, nodes: Mapping[str, int], said: Relation) -> int:
    """Return how many edges a relation's step gets. It is as far as declared facts allow."""
    shape = Shape(relation, nodes[relation.source], nodes[relation.target])
    half = 2 if shape.undirected else 1
    wanted = round(shape.source_count * said.mean_degree / half)
    bounds = [shape.slots, *([] if relation.edge_bound is None else [relation.edge_bound])]
    return min(wanted, *bounds, *([shape.source_count] if relation.functional else []))

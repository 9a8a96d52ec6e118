"""The schemas that unit NODE can protect. They have one node type of persons, an end of every protected
relation.

And what of a schema the reads of people and people need: their relation.

A relation without such an end belongs to nobody who is protected: it is declared public, or refused. What is
checked is public; no data are read.
"""

from __future__ import annotations

from core.errors import InvalidInput, NotAccepted
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.privacy.units import Unit

TIMES = "unit edge is for graphs without time, event, w-event and pair for graphs with it, node for both"


def refusal(schema: GraphSchema, unit: Unit) -> tuple[str, str] | None:
    """Say why the unit cannot protect the schema. It says which field of it to mend too; None where it can.

    Under NODE: a protected type, touched by a protected relation, and an end of each of them. Under the other
    units: no protected type, since they hide no node.
    """
    protected = schema.protected_type
    if unit is not Unit.NODE:
        if protected is None:
            return None
        return (
            f"node type {protected.name!r} is declared protected, but the unit {unit} hides edges, not "
            "nodes: use the unit node, or leave protected out",
            "node_types",
        )
    if protected is None:
        return "the unit node needs one node type that is declared protected", "node_types"
    relations = [each for each in schema.edge_types if not each.public]
    if not any(protected.name in (each.source, each.target) for each in relations):
        return f"no protected relation touches the protected node type {protected.name!r}", "node_types"
    for each in relations:
        if protected.name not in (each.source, each.target):
            return (
                f"relation {each.name!r} has no end of the protected type {protected.name!r}, so the unit "
                "node does not protect it: declare it public, or leave it out",
                f"edge_types.{each.name}",
            )
    return None


def require_persons(schema: GraphSchema, unit: Unit) -> None:
    """Check that the unit can protect the schema. Raises NotAccepted with the field to mend otherwise."""
    if (refused := refusal(schema, unit)) is not None:
        raise NotAccepted(refused[0], field=f"schema.{refused[1]}")


def acquaintance(schema: GraphSchema, edge_type: str) -> tuple[EdgeType, NodeType]:
    """Return the relation and the persons' type; NotAccepted unless it links persons."""
    try:
        relation = schema.edge_type(edge_type)
    except KeyError:
        raise InvalidInput(f"no edge type {edge_type!r} is declared", field="edge_type") from None
    field, kind = f"schema.edge_types.{edge_type}", schema.protected_type
    if kind is None or not relation.homogeneous or relation.source != kind.name:
        raise NotAccepted("people are linked inside the protected node type", field=field)
    if relation.public:
        raise NotAccepted("people are read over a protected relation, and this one is public", field=field)
    return relation, kind

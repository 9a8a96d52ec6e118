"""What hiding single edges promises about all edges of one node. It does where a bound is declared.

Proof. Let no node of a type have more than D edges in the protected relations, all steps together: declared,
and checked at ingest. Replace all edges of one such node by any others that keep the bound: at most D are
removed and at most D added, one after another, and each graph on the way is a part of the first or of
the last, so that it keeps what is declared. What one edge is promised, all edges of the node are promised as
2 D edges are (:func:`core.privacy.accounting.guarantee.of_several`). Nothing here reads data.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.accounting.guarantee import of_several
from core.privacy.units import Unit

MOST_EDGES = 4
"""Above so many edges a node, 2 D epsilon says nothing that is worth printing."""


@dataclass(frozen=True)
class NodePrice:
    """The guarantee for all edges of one node. It is of ``node_type``, and has at most ``edges`` of them."""

    node_type: str
    edges: int
    epsilon: Decimal
    delta: Decimal


def edges_of_node(schema: GraphSchema, node_type: str) -> int | None:
    """Bound a node's protected edges by declared facts. It is the most that a node of the type has; None
    without any.

    Either by ``degree_bound``, or because every protected relation that touches the type is functional from
    it: one target a source, thus one edge, or one a step where a pair may occur in several.
    """
    touching = [e for e in schema.edge_types if not e.public and node_type in (e.source, e.target)]
    declared = schema.node_type(node_type).degree_bound
    if not touching:
        return None
    if not all(each.functional and each.target != node_type for each in touching):
        return declared
    single = sum(_occurrences(schema, each) for each in touching)
    return single if declared is None else min(single, declared)


def _occurrences(schema: GraphSchema, relation: EdgeType) -> int:
    return schema.steps if relation.temporal and not relation.once else 1


def node_prices(schema: GraphSchema, unit: Unit, epsilon: Decimal, delta: Decimal) -> tuple[NodePrice, ...]:
    """Price every node type with a declared bound. Bounds are at most MOST_EDGES; none under units but EDGE
    and EVENT.

    (epsilon, delta) is what one edge is promised. A type of which delta would say nothing is left out; so is
    one whose edges are as many units as they have records.
    """
    if unit not in (Unit.EDGE, Unit.EVENT):
        return ()
    prices = []
    apart = {end for each in schema.edge_types if each.records_apart for end in (each.source, each.target)}
    for kind in schema.node_types:
        edges = None if kind.name in apart else edges_of_node(schema, kind.name)
        if edges is not None and edges <= MOST_EDGES:
            total, grown = of_several(epsilon, delta, 2 * edges)
            if grown < 1:
                prices.append(NodePrice(kind.name, edges, total, grown))
    return tuple(prices)

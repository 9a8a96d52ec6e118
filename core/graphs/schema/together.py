"""A collection's graphs taken together: the relation and the node type that they are joined to."""

from __future__ import annotations

from core.graphs.schema import EdgeType, GraphSchema, NodeType

EVERY = "every-graph"
"""What the joined relation, and the node type, are called: no graph of a collection is, whatever its id."""


def relation_of(schema: GraphSchema, name: str) -> EdgeType:
    """Look up a relation. All of a collection's graphs together have the name of :data:`EVERY`."""
    if name != EVERY or schema.collection is None:
        return schema.edge_type(name)
    ends = {"name": EVERY, "source": EVERY, "target": EVERY}
    return schema.edge_types[0].model_copy(update=ends)


def node_type_of(schema: GraphSchema, name: str) -> NodeType:
    """Look up a node type. All of a collection's graphs together have the name of :data:`EVERY`."""
    if name != EVERY or schema.collection is None:
        return schema.node_type(name)
    return schema.node_types[0].model_copy(update={"name": EVERY, "count": None})

"""Tiny graphs of two node types, both of whose nodes may carry a protected attribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid

COUNTRY = Attribute(name="country", protection="protected", categories=("a", "b"))
TOPIC = Attribute(name="topic", protection="protected", categories=("x", "y"))


def rated(
    edges: Sequence[tuple[int, int]],
    users: Sequence[int],
    items: Sequence[int],
    *,
    steps: int = 0,
    topics: bool = True,
    functional: bool = False,
) -> Graph:
    """Users of a country rate items of a topic: ``users`` and ``items`` are values, -1 for none.

    ``steps``: every edge is there at each of so many; ``topics``: whether items carry anything.
    """
    count = max(1, steps)
    relation = EdgeType(
        name="rated", source="user", target="item", temporal=bool(steps), functional=functional
    )
    kinds = (
        NodeType(name="user", count=len(users), attributes=(COUNTRY,)),
        NodeType(name="item", count=len(items), attributes=(TOPIC,) if topics else ()),
    )
    schema = GraphSchema(
        node_types=kinds, edge_types=(relation,), time=TimeGrid(count=steps) if steps else None
    )
    nodes = {"user": NodeTable(len(users), None, {"country": _column(COUNTRY, users)})}
    nodes["item"] = NodeTable(len(items), None, {"topic": _column(TOPIC, items)} if topics else {})
    ends = np.tile(np.array(edges, dtype=np.int64).reshape(-1, 2), (count, 1)).T
    step = np.repeat(np.arange(count), len(edges)) if steps else None
    return Graph.build(schema, nodes, {"rated": EdgeTable(ends[0], ends[1], step)})


def _column(attribute: Attribute, values: Sequence[int]) -> pa.Array:
    names = attribute.categories or ()
    return pa.array([None if each < 0 else names[each] for each in values], type=pa.string())

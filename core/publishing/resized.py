"""A release at another number of nodes. Here stands what is sampled from, and what lies around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.methods._shared.frame.resized import repeated, schema_of
from core.methods.base import FittedModel
from core.privacy.entropy import Generator as Rng
from core.publishing.spec import Size
from core.publishing.write import Paid


def at_size(model: FittedModel, paid: Paid, size: Size, rng: Rng) -> tuple[FittedModel, Paid, Graph]:
    """Return the fitted law over ``size.nodes`` nodes. It comes with what is known of it, and its empty
    graph.

    Post-processing: the model is paid for, and the size was asked for by somebody who sees no data. Nothing
    is copied from the original (:func:`core.publishing.checks.check_size`). Measurements are of the
    original's nodes and are left out. O(n).
    """
    resize = paid.generator.resize
    assert resize is not None  # asked before the graph was opened
    (kind,) = paid.agreed.released.node_types
    drawn = resize(model, {kind.name: repeated(size.of, size.nodes, rng)})
    released = schema_of(paid.agreed.released, {kind.name: size.nodes})
    resized = replace(paid, agreed=replace(paid.agreed, released=released))
    return drawn, resized, empty(released, {kind.name: size.nodes})


def empty(schema: GraphSchema, nodes: Mapping[str, int]) -> Graph:
    """Return a graph of these universes without edges, ids or attributes."""
    return Graph.build(schema, {name: NodeTable(count) for name, count in nodes.items()}, {})

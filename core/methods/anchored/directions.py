"""The directions of one relation of ``anchored``: what they start from, and the columns that a model keeps.

A model keeps them once, with the relation's first step: ``score_source`` and ``score_target`` float64, rows
of as many numbers for each node; the product of two rows is what a pair gains in log odds.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from core.methods._shared.frame.columns import Columns
from core.methods._shared.relations.draw import Relation
from core.methods._shared.relations.params import AnchoredParams
from core.methods.anchored import spectral
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph

MOST_COLUMNS = 32
"""Layers of more classes, all together, are put down to random directions: fewer values to bear noise."""


def fitted(
    graph: PrivateGraph,
    name: str,
    cells: Mapping[CellKey, Columns],
    multiplier: Fraction,
    params: AnchoredParams,
    rng: Rng,
) -> Columns:
    """Measure and fit a relation's ``score_source`` and ``score_target``; each cell pays ``passes.event``.

    ``cells``: the columns of all relations, paid for. O(rounds * edges + edges * columns of the start).
    """
    shape = _shape(graph, name)
    steps = {key: columns for key, columns in cells.items() if key[0] == name}
    degrees = tuple(
        np.sum([columns[f"{side}_degrees"] for columns in steps.values()], axis=0)
        for side in ("source", "target")
    )
    features = spectral.start(degrees[1], _layers(graph, shape.edge_type.target, cells, params, rng), rng)
    found = spectral.measure(graph, list(steps), features, degrees, multiplier)
    relation = Relation(shape, params)
    drawn = [(relation.base(columns, rng), columns) for columns in steps.values()]
    left, right = spectral.fitted_score(found, drawn, shape, rng)
    return {"score_source": left.ravel(), "score_target": right.ravel()}


def _layers(
    graph: PrivateGraph, target: str, cells: Mapping[CellKey, Columns], params: AnchoredParams, rng: Rng
) -> list[np.ndarray]:
    """Collect what the released relations without time say of one type's nodes: matrices (nodes, columns)."""
    layers = []
    for (name, step), columns in cells.items():
        shape = _shape(graph, name)
        if step is None and target in (shape.edge_type.source, shape.edge_type.target):
            source, other = np.divmod(Relation(shape, params).draw(columns, rng), shape.target_count)
            sides = shape.source_count, shape.target_count
            layer = sp.csr_matrix((np.ones(len(source)), (source, other)), shape=sides)
            if shape.undirected:
                layer = layer + layer.T
            layers.append(layer if shape.edge_type.source == target else layer.T)
    if sum(layer.shape[1] for layer in layers) <= MOST_COLUMNS:
        return [layer.toarray() for layer in layers]
    return [layer @ rng.standard_normal((layer.shape[1], spectral.SKETCH)) for layer in layers]


def _shape(graph: PrivateGraph, name: str) -> Shape:
    relation = graph.schema.edge_type(name)
    return Shape(relation, graph.node_count(relation.source), graph.node_count(relation.target))

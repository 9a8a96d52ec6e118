"""Laws of edges' values for graphs that are sampled in shards. They are made of the paid tables, which are
raked on edges that the law of the pairs samples. Post-processing of noisy values.

Where all edges are among those, nodes are raked as in memory (:mod:`core.methods._shared.values.draw`), and
the edges are the very ones that shards will sample. Of more edges evenly spaced strips are sampled, on which
classes and periods are raked; a node is raked as if its edges' other ends were those that its class meets,
or, of values without an order, as if they had no factors. What a node is owed follows from its edges in the
order in which they are drawn, which no shard knows: so a node's values spread by chance about what was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import StoredCells
from core.methods._shared.shards.cells import CellLaws
from core.methods._shared.shards.draw import strips
from core.methods._shared.shards.values import (
    MOST_INSIDE,
    MOST_OF_NODE,
    MOST_OF_PAIR,
    ValueLaw,
    whole_factors,
)
from core.methods._shared.values.draw import ROUNDS, Weights
from core.methods._shared.values.scored import TILT
from core.privacy import entropy
from core.privacy.entropy import Generator as Rng

MOST_RAKED = 1 << 22
"""So many edges are sampled for raking, about, and no strip where there are more of them is left out."""
TILTS = 1025
"""Tilts that are told apart, of nodes of a relation whose values have scores."""


def with_values(laws: CellLaws, tables: StoredCells, orders: Mapping[str, np.ndarray], rng: Rng) -> CellLaws:
    """Add the law of every attribute to laws of pairs. ``orders``: which node of the tables each of the law
    is. O(n bins + edges that are raked)."""
    found: dict[str, tuple[ValueLaw, ...]] = {}
    for relation in tables.schema.edge_types:
        if not relation.attributes or (relation.name, 0) not in tables.cells:
            continue
        edges, whole = _raked(laws, relation.name)
        ends = orders[relation.source], orders[relation.target]
        undirected = relation.homogeneous and not relation.directed
        found[relation.name] = tuple(
            _law(attribute, _ordered(tables.cells[relation.name, place], ends), edges, undirected, whole)
            for place, attribute in enumerate(relation.attributes)
        )
    return replace(laws, values=found)


def _raked(laws: CellLaws, relation: str) -> tuple[EdgeTable, bool]:
    """Sample the edges that are raked, of all steps; and say whether they are all that shards will sample."""
    own = [(key, law) for key, law in zip(laws.cells, laws.laws, strict=True) if key[0] == relation]
    # Of strips evenly spaced ones, as they stand by degree: all sorts of nodes are met.
    apart = max(1, -(-sum(law.edges for _, law in own) // MOST_RAKED))
    found = [
        (source, target, np.full(len(source), step or 0, dtype=np.int32))
        for (_, step), law in own
        for source, target in strips(law, range(0, law.strips, apart))
    ]
    none = np.empty(0, dtype=np.int32)
    source, target, steps = (np.concatenate(each) for each in zip((none, none, none), *found, strict=True))
    timed = own[0][0][1] is not None
    return EdgeTable(source, target, steps if timed else None), apart == 1


def _ordered(columns: Columns, ends: tuple[np.ndarray, np.ndarray]) -> Columns:
    """Put nodes' columns into the order of the law."""
    found = dict(columns)
    for side, order in zip(("source", "target"), ends, strict=True):
        if len(columns[f"{side}_classes"]):
            found[f"{side}_classes"] = columns[f"{side}_classes"][order]
            found[f"{side}_rates"] = columns[f"{side}_rates"].reshape(len(order), -1)[order].ravel()
    return found


def _law(
    attribute: EdgeAttribute, columns: Columns, edges: EdgeTable, undirected: bool, whole: bool
) -> ValueLaw:
    weights = Weights(columns, edges, undirected)
    for first in range(ROUNDS + 1 if edges.count else 0):
        if first:
            (weights.rake_nodes if whole else weights.rake_classes)()
        weights.rake_margins()
    rows, places = _of_nodes(weights)
    classes = [each.astype(np.uint8) for each in weights.where[:2]]
    if undirected:
        rows, places, classes = rows[:1] * 2, places[:1] * 2, classes[:1] * 2
    bins = len(weights.kinds)
    pairs = weights.of_period[:, None, :] * weights.of_pair[None, :, :]
    sizes = [int(each.max(initial=0)) + 1 for each in classes]
    shares = columns["histogram"] / columns["histogram"].sum()
    return ValueLaw(
        attribute,
        (rows[0], rows[1]),
        (places[0], places[1]),
        (classes[0], classes[1]),
        whole_factors(pairs.reshape(-1, bins), MOST_OF_PAIR).reshape(len(pairs), *sizes, bins),
        columns["periods"].astype(np.uint8),
        columns["bins"].astype(np.int32),
        # Rounding must not make a value impossible that has a share.
        np.where(shares > 0, np.maximum(np.rint(shares * MOST_INSIDE), 1), 0).astype(np.uint32),
        entropy.fresh_key(),
    )


def _of_nodes(weights: Weights) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Turn nodes' factors into whole numbers: rows of them, and which row each node has, by side."""
    if not len(weights.score):
        rows = [whole_factors(each, MOST_OF_NODE) for each in weights.of_nodes]
        return rows, [np.arange(len(each), dtype=np.int32) for each in rows]
    reach, parts = weights.furthest, TILTS - 1
    table = whole_factors(np.exp(np.linspace(-reach, reach, TILTS)[:, None] * weights.score), MOST_OF_NODE)
    places = [(each[:, TILT] + reach) / (2 * reach) * parts for each in weights.rows]
    return [table, table], [np.rint(each).astype(np.int32) for each in places]

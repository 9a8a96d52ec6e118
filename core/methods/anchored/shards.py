"""Cells of ``anchored`` without evidence as laws of independent pairs. They are sampled in shards.
Post-processing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.frame.columns import Columns
from core.methods._shared.shards.cells import CellLaws
from core.methods._shared.shards.law import STRIP_EDGES, StripLaw, sided_law, strip_law
from core.methods.anchored.model import AnchoredModel
from core.privacy import entropy
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape


def law_of(
    columns: Columns, shape: Shape, orders: Mapping[str, np.ndarray], rng: Rng, shard_edges: int
) -> StripLaw:
    """Make the law of a cell by its degrees and its number of edges; see ``dcsbm``'s. O(n log n)."""
    if len(columns.get("flips", ())):
        raise ValueError("a graph that is drawn towards evidence is drawn as a whole")
    relation, edges = shape.edge_type, int(columns["count"][0])
    key, strip_edges = entropy.fresh_key(), min(STRIP_EDGES, shard_edges)
    sources = columns["source_degrees"][orders[relation.source]]
    if shape.undirected:
        nobody = np.zeros(1, dtype=np.int64)
        blocks = Blocks(nobody, nobody, np.array([edges]))
        return strip_law(sources, np.zeros(len(sources), np.int16), blocks, key, rng, strip_edges)
    targets = columns["target_degrees"][orders[relation.target]]
    return sided_law(sources, targets, edges, key, rng, strip_edges, loops=not relation.homogeneous)


def degrees_of_model(model: AnchoredModel) -> dict[str, tuple[np.ndarray, ...]]:
    """Add up the degrees that each relation has in all steps."""
    found: dict[str, tuple[np.ndarray, ...]] = {}
    for (name, _), columns in model.cells.items():
        sides = ("source_degrees",) if model.shape(name).undirected else ("source_degrees", "target_degrees")
        own = tuple(columns[side].astype(np.int64) for side in sides)
        found[name] = tuple(map(np.add, found[name], own)) if name in found else own
    return found


def laws_of_model(
    model: AnchoredModel, orders: Mapping[str, np.ndarray], rng: Rng, shard_edges: int = 2**24
) -> CellLaws:
    """Make the law of each cell of a model. See :func:`law_of`."""
    laws = [
        law_of(columns, model.shape(name), orders, rng, shard_edges)
        for (name, _), columns in model.cells.items()
    ]
    return CellLaws(tuple(model.cells), tuple(laws))

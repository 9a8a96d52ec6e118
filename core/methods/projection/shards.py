"""Steps of ``projection`` as laws of independent pairs. They are sampled in shards. Post-processing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from core.methods._shared.blocks.whole import Blocks, whole_blocks
from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods._shared.frame.columns import Columns
from core.methods._shared.shards.cells import CellLaws
from core.methods._shared.shards.law import STRIP_EDGES, StripLaw, strip_law
from core.methods.projection.draw import degrees_of, edges_of, wanted
from core.methods.projection.model import PeopleModel
from core.methods.projection.params import plain
from core.privacy import entropy
from core.privacy.entropy import Generator as Rng


def laws_of_model(
    model: PeopleModel, orders: Mapping[str, np.ndarray], rng: Rng, shard_edges: int = 2**24
) -> CellLaws:
    """Make the law of each step of a model's relation, which is not directed. O(n log n) each.

    ``orders``, by node type, (n,): which original index each node of the law has. ``shard_edges``: about how
    many edges a shard shall have. A person's expected degree is one of the paid law's, but for pairs that are
    sampled twice; edges inside public groups and across are as read.
    """
    (((name, _), columns),) = model.cells.items()
    shape = model.shape(name)
    if not shape.undirected or len(columns.get("triangles", ())):
        raise ValueError("mutual pairs and triangles are drawn as a whole")
    order = orders[shape.edge_type.source]
    own = {**columns, "labels": columns["labels"][order]}
    cells = [_of_groups(own, len(order), rng)] if plain(shape.edge_type) else _of_steps(own, len(order), rng)
    laws = tuple(_law(*cell, rng, min(STRIP_EDGES, shard_edges)) for cell in cells)
    return CellLaws(tuple((name, step) for step in model.schema.steps_of(name)), laws)


def _law(degrees: np.ndarray, labels: np.ndarray, blocks: Blocks, rng: Rng, strip_edges: int) -> StripLaw:
    return strip_law(degrees, labels.astype(np.int16), blocks, entropy.fresh_key(), rng, strip_edges)


def _of_groups(columns: Columns, nodes: int, rng: Rng) -> tuple[np.ndarray, np.ndarray, Blocks]:
    degrees, labels, counts = wanted(columns, nodes, edges_of(columns, nodes), rng)
    return degrees, labels, whole_blocks(counts, labels, degrees, rng)


def _of_steps(columns: Columns, nodes: int, rng: Rng) -> Iterator[tuple[np.ndarray, np.ndarray, Blocks]]:
    """A person's events are spread over steps by chance, so that each step has the same weights."""
    total, most = round(float(columns["total"][0])), int(columns["most"][1])
    degrees = degrees_of(DegreeLaw(columns["grid"], columns["mass"]), nodes, 2 * total, most, rng)
    weights, nobody = rng.permutation(degrees), np.zeros(1, dtype=np.int64)
    for edges in integers(total * columns["steps"], rng):
        yield weights, np.zeros(nodes, dtype=np.int64), Blocks(nobody, nobody, np.array([int(edges)]))

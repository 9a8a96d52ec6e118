"""One cell of ``dcsbm`` as a law of independent pairs. It is sampled in shards. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.methods._shared.blocks.whole import whole_blocks
from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.fitted import scaled_to
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import CellsModel
from core.methods._shared.shards.cells import CellLaws
from core.methods._shared.shards.law import STRIP_EDGES, StripLaw, strip_law
from core.privacy import entropy
from core.privacy.entropy import Generator as Rng


def law_of(columns: Columns, order: np.ndarray, rng: Rng, shard_edges: int = STRIP_EDGES) -> StripLaw:
    """Make the law of a cell without triangles or products.

    It paid for neither triangles nor degree products.

    ``order`` (n,): which original index each node of the law has, a permutation. ``shard_edges``: about how
    many edges a shard shall have: a strip has no more. A node's expected degree is the fitted one, but for
    pairs that are sampled twice; ``draw`` meets it exactly, with the same block counts. O(n log n).
    """
    if len(columns["triangles"]):
        raise ValueError("a graph that is rewired to its triangles is drawn as a whole")
    labels = columns["labels"][order].astype(np.int16)
    edges = _edges(columns)
    degrees = integers(_scaled(columns, edges)[order], rng)
    blocks = whole_blocks(columns["blocks"], labels, degrees, rng)
    strip_edges = min(STRIP_EDGES, shard_edges)
    return strip_law(degrees, labels, blocks, entropy.fresh_key(), rng, strip_edges)


def _scaled(columns: Columns, edges: int) -> np.ndarray:
    """Scale the fitted degrees to so many edges."""
    return scaled_to(columns["degrees"].astype(np.float64), 2 * edges)


def degrees_of_model(model: CellsModel) -> dict[str, tuple[np.ndarray]]:
    """Add up the degrees that each relation is expected to have in all steps."""
    found: dict[str, tuple[np.ndarray]] = {}
    for (name, _), columns in model.cells.items():
        own = _scaled(columns, _edges(columns))
        found[name] = (found[name][0] + own if name in found else own,)
    return found


def _edges(columns: Columns) -> int:
    nodes = len(columns["degrees"])
    return min(int(np.rint(columns["blocks"].sum())), nodes * (nodes - 1) // 2)


def laws_of_model(
    model: CellsModel, orders: Mapping[str, np.ndarray], rng: Rng, shard_edges: int = 2**24
) -> CellLaws:
    """Make the law of each cell of a model. See :func:`law_of`."""
    kinds = {each.name: each.source for each in model.schema.edge_types}
    laws = [law_of(columns, orders[kinds[key[0]]], rng, shard_edges) for key, columns in model.cells.items()]
    return CellLaws(tuple(model.cells), tuple(laws))

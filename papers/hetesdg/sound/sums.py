"""Gaussian sums of neighbours' rows.

The rows of every counted node's neighbours are added up, under Gaussian noise. The other mechanism of FeatADP
(Eq. 15, without its factor of .01 and with a sensitivity that holds). A row has few leading coordinates of a
node's public columns, and a constant, which counts neighbours; its length is 1 at most. Along a meta-path the
rows are the noisy sums of the type in between, brought to that length.

Sensitivity: an edge adds one row to one sum: 1 in L2 (sqrt 2 for an undirected relation inside one type).
Proof: :func:`core.privacy.mechanisms.aggregation.noisy_sums`; the reads of a relation are composed, and
the noise is solved for all of them together. Unit: one edge.

A sum cannot be taken apart again: there is no attention over neighbours, and no graph is sampled from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from core.methods.base import Progress
from papers.hetesdg.budget import DIRECTIONS, SUMS
from papers.hetesdg.inputs import Inputs
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sides import Sides, end_type, returning_side, sides_of
from papers.hetesdg.sound.attention import standardised
from papers.hetesdg.sound.vectors import Block, beside

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.plan import CellKey
    from core.privacy.session.private_graph import PrivateGraph

CONSTANT = 0.3
"""The constant's share of a row's squared length."""


def row_of(place: np.ndarray) -> np.ndarray:
    """Make rows of length 1 from leading coordinates.

    They are those of ``place`` (n, d), and the constant; (n, DIRECTIONS + 1) at most. A node at the origin
    has only the constant. Without coordinates the constant is 1.
    """
    leading = place[:, :DIRECTIONS]
    if not leading.shape[1]:
        return np.ones((len(place), 1))
    leading = leading / np.maximum(np.linalg.norm(leading, axis=1, keepdims=True), 1e-9)
    constant = np.full((len(place), 1), np.sqrt(CONSTANT))
    return np.concatenate([np.sqrt(1 - CONSTANT) * leading, constant], axis=1)


def read_sums(
    graph: PrivateGraph,
    noise: Mapping[str, Fraction],
    inputs: Mapping[str, Inputs],
    paths: tuple[tuple[str, str], ...],
    params: HeteParams,
    progress: Progress,
) -> tuple[dict[CellKey, Columns], dict[str, np.ndarray]]:
    """Pay for columns, and compute every node type's vectors.

    The columns are of every relation. Costs one Gaussian event of ``noise`` a relation, and one more for each
    of ``paths`` that ends with it.
    """
    cells: dict[CellKey, Columns] = {}
    blocks: dict[str, list[Block]] = {kind: [] for kind in inputs}
    found: dict[str, np.ndarray] = {}
    steps = len(noise) + len(paths)

    def summed(name: str, rows: np.ndarray, side: str) -> np.ndarray:
        progress("read", len(cells), steps)
        return graph.aggregate(
            rows, cells=[(name, None)], side=side, noise_multiplier=noise[name], purpose=SUMS
        )

    for name in noise:
        sides = sides_of(graph.schema, graph.schema.edge_type(name), params.rows)
        rows = row_of(inputs[sides.grouped].place)
        found[name] = summed(name, rows, sides.counted_side)
        blocks[sides.counted].append(_block(found[name], _variance(noise[name], sides)))
        cells[name, None] = {
            "rows": rows.ravel(),
            "sums": found[name].ravel(),
            "width": np.array([rows.shape[1]], dtype=np.int64),
        }
    for first, last in paths:
        side = returning_side(graph.schema, (first, last), params.rows)
        sides = sides_of(graph.schema, graph.schema.edge_type(last), params.rows)
        sums = summed(last, row_of(found[first][:, :-1]), side)
        blocks[end_type(graph.schema, (first, last), params.rows)].append(
            _block(sums, _variance(noise[last], sides))
        )
    progress("read", steps, steps)
    return cells, beside(inputs, blocks, params)


def pair_products(columns: Columns, sides: Sides, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Score how likely each pair is linked.

    It is the product of one end's row with the other's sum; float64.
    """
    width = int(columns["width"][0])
    rows, sums = (columns[name].reshape(-1, width) for name in ("rows", "sums"))
    counted, grouped = (source, target) if sides.counted_side == "source" else (target, source)
    found = np.einsum("ij,ij->i", rows[grouped], sums[counted])
    return np.asarray(
        found + np.einsum("ij,ij->i", rows[counted], sums[grouped]) if sides.undirected else found
    )


def _variance(multiplier: Fraction, sides: Sides) -> float:
    """Compute the variance of the noise in one entry."""
    return float(multiplier) ** 2 * (2 if sides.undirected else 1)


def _block(sums: np.ndarray, variance: float) -> Block:
    spread = float(sums.var(axis=0).sum())
    gate = 1 - sums.shape[1] * variance / spread if spread > 0 else 0.0
    constant = 1.0 if sums.shape[1] == 1 else np.sqrt(CONSTANT)
    return Block(standardised(sums), float(np.clip(gate, 0, 1)), float(sums[:, -1].mean() / constant))

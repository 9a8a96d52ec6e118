"""Vectors of nodes, public coordinates and noisy tables.

The tables say something of neighbours. Post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.hetesdg.inputs import Inputs
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sides import Sides
from papers.hetesdg.sound.attention import neighbour_attention, semantic_weights, standardised
from papers.hetesdg.sound.tables import Table, expected, gate


@dataclass(frozen=True)
class SecondHop:
    """The second hop along a meta-path.

    ``part`` (n,) of each node in between, and ``table`` of the nodes at its end.
    """

    path: tuple[str, str]
    part: np.ndarray
    table: Table


@dataclass(frozen=True)
class Block:
    """Columns of one node type along one path. For what weighs them see ``semantic_weights``."""

    columns: np.ndarray
    gate: float
    reach: float


def vectors(
    inputs: Mapping[str, Inputs],
    first: Mapping[str, tuple[Sides, Table]],
    hops: Sequence[SecondHop],
    params: HeteParams,
) -> dict[str, np.ndarray]:
    """Compute every node type's vectors, float32 (n, d).

    They are coordinates, then one block a relation or meta-path. A block is a table standardised, and the
    attention over it, all times how much of the table is not noise and times the path's semantic weight.
    ``first``: the histograms by relation.
    """
    blocks: dict[str, list[Block]] = {kind: [] for kind in inputs}
    attended = {}
    for name, (sides, table) in first.items():
        known = inputs[sides.grouped]
        blocks[sides.counted].append(_block(table, known.centre, params.way.heads))
        attended[name] = neighbour_attention(expected(table), known.centre, params.way.heads)
    for hop in hops:
        between = attended[hop.path[0]]
        centre = np.stack([_mean(between[hop.part == p]) for p in range(hop.table.noisy.shape[1])])
        blocks[_end(hop, first)].append(_block(hop.table, centre, params.way.heads))
    return beside(inputs, blocks, params)


def beside(
    inputs: Mapping[str, Inputs], blocks: Mapping[str, Sequence[Block]], params: HeteParams
) -> dict[str, np.ndarray]:
    """Append the weighed blocks to every type's coordinates. The result is float32 (n, d)."""
    return {
        kind: np.concatenate([known.place, *_weighed(blocks[kind], params)], axis=1).astype(np.float32)
        for kind, known in inputs.items()
    }


def _end(hop: SecondHop, first: Mapping[str, tuple[Sides, Table]]) -> str:
    """Return the node type at which a path ends: the other end of its last relation."""
    between = first[hop.path[0]][0].counted
    sides = first[hop.path[1]][0]
    return sides.grouped if sides.counted == between else sides.counted


def _mean(rows: np.ndarray) -> np.ndarray:
    return rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])


def _block(table: Table, centre: np.ndarray, heads: int) -> Block:
    counts = expected(table)
    attention = neighbour_attention(counts, centre, heads)
    columns = np.concatenate([standardised(counts), attention], axis=1)
    return Block(columns, gate(table), float(counts.sum()) / max(len(counts), 1))


def _weighed(blocks: Sequence[Block], params: HeteParams) -> list[np.ndarray]:
    """Weigh each block by its gate and by its semantic weight, which is 1 on average."""
    weights = semantic_weights([b.gate for b in blocks], [b.reach for b in blocks], params.debias)
    return [b.columns * b.gate * w * len(blocks) for b, w in zip(blocks, weights, strict=True)]

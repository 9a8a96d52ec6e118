"""A graph from DER's regions.

Distinct node pairs are placed uniformly in each. Free: it reads the model only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.degrees.counts import fill, integers
from core.methods._shared.matching.pairs import pack
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.ranks import distinct
from papers.comparators.der.params import DERParams
from papers.comparators.der.regions import rooms, starts

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns


def draw(columns: Columns, nodes: int, params: DERParams, rng: Rng) -> np.ndarray:
    """Sample sorted int64 keys ``low * nodes + high``.

    There are as many as the noisy number of edges. O(m log m).
    """
    level, row, column = (columns[name].astype(np.int64) for name in ("level", "row", "column"))
    room = rooms(level, row, column, nodes)
    mass = fill(columns["mass"].astype(np.float64), room, int(columns["edges"][0]))
    wanted = np.minimum(integers(mass, rng), room)
    region, rank = distinct(wanted, room, rng)
    order = columns["order"].astype(np.int64)
    a, b = pair_at(rank, region, level, row, column, nodes)
    return np.sort(pack(order[a], order[b], nodes))


def pair_at(
    rank: np.ndarray,
    region: np.ndarray,
    level: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    nodes: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return both positions of a region's pair of that rank.

    Off the diagonal row by row. On it, rank r is the pair (i, i + d mod s) with i = r mod s, d = r div s + 1:
    each pair of s positions once, in integers.
    """
    level, row, column = level[region], row[region], column[region]
    top, left = starts(row, level, nodes), starts(column, level, nodes)
    width = np.maximum(starts(column + 1, level, nodes) - left, 1)
    down, right = rank // width, rank % width
    diagonal = row == column
    first = np.where(diagonal, right, down)
    second = np.where(diagonal, (right + down + 1) % width, right)
    return top + first, left + second

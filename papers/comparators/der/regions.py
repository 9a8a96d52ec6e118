"""The regions of the quadtree. Level l cuts the ordered nodes into 2^l parts, a region is a pair of parts."""

from __future__ import annotations

import numpy as np


def starts(part: np.ndarray, level: np.ndarray | int, nodes: int) -> np.ndarray:
    """Return the first position of every part.

    Its positions p have floor(p 2^level / nodes) = part; int64.
    """
    cuts = np.left_shift(np.int64(1), np.asarray(level, dtype=np.int64))
    return -(-part.astype(np.int64) * nodes // cuts)


def rooms(level: np.ndarray | int, row: np.ndarray, column: np.ndarray, nodes: int) -> np.ndarray:
    """Count the node pairs in every region ``row <= column``; int64."""
    height = starts(row + 1, level, nodes) - starts(row, level, nodes)
    width = starts(column + 1, level, nodes) - starts(column, level, nodes)
    pairs: np.ndarray = np.where(row == column, height * (height - 1) // 2, height * width)
    return pairs


def place(row: np.ndarray, column: np.ndarray, level: int) -> np.ndarray:
    """Return a region's rank in its level's upper triangle.

    It goes row by row, as ``group_matrix`` has it.
    """
    places: np.ndarray = row * 2**level - row * (row - 1) // 2 + (column - row)
    return places


def children(row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (parent, row, column) of the quarters of every region.

    There are four, or three on the diagonal.
    """
    parent = np.repeat(np.arange(len(row)), 4)
    down, right = np.tile([0, 0, 1, 1], len(row)), np.tile([0, 1, 0, 1], len(row))
    r, c = 2 * row[parent] + down, 2 * column[parent] + right
    upper = r <= c
    return parent[upper], r[upper], c[upper]

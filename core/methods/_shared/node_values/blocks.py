"""Labels that combine a community and a group of values.

The community was read from edges, or is public. Post-processing: paid or public labels, paid blocks, and paid
shares of mixing.
"""

from __future__ import annotations

import math

import numpy as np

from core.methods._shared.blocks.whole import upper_triangle
from core.methods._shared.node_values.ends import Ends

MOST_LABELS = 1024
"""Communities times groups: of many communities fewer groups are told apart."""
ROUNDS = 30
NEVER = 1e-300


def joined(
    communities: np.ndarray, blocks: np.ndarray, groups: np.ndarray, shares: np.ndarray, degrees: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Cross communities with groups: labels (n,), and blocks.

    Sums of the blocks over either are what was paid for.

    ``blocks`` (c(c+1)/2,): edges between communities; ``shares`` (k(k+1)/2,): of the edges, between groups;
    ``degrees`` (n,). Where the two do not go together by chance, edges meet by the ends that both have:
    iterative proportional fitting from there. O(n + rounds * (c k)^2).
    """
    c, k = order_of(blocks), order_of(shares)
    total = float(blocks.sum())
    if c == 1 or total <= 0:
        return groups, shares * total
    labels = communities * k + groups
    # A hair everywhere: proportional fitting never leaves a cell that begins at 0.
    ends = np.bincount(labels, weights=degrees, minlength=c * k).reshape(c, k) + 1e-9
    meet = np.einsum("ab,cd->abcd", ends, ends)
    of_communities, of_groups = square(blocks), square(shares * total)
    for _ in range(ROUNDS):
        meet *= (of_communities / np.maximum(meet.sum(axis=(1, 3)), NEVER))[:, None, :, None]
        meet *= (of_groups / np.maximum(meet.sum(axis=(0, 2)), NEVER))[None, :, None, :]
    row, column = upper_triangle(c * k)
    # Of ends inside a label every edge has two.
    found = meet.reshape(c * k, c * k)[row, column] * np.where(row == column, 0.5, 1.0)
    return labels, found * (total / max(float(found.sum()), NEVER))


def order_of(blocks: np.ndarray) -> int:
    """Tell of how many labels the blocks are."""
    return (math.isqrt(8 * len(blocks) + 1) - 1) // 2


def square(blocks: np.ndarray) -> np.ndarray:
    """Turn blocks into edge ends between labels. They are (k, k), symmetric."""
    k = order_of(blocks)
    row, column = upper_triangle(k)
    found = np.zeros((k, k))
    found[row, column] = blocks
    return found + found.T


def shares_of_part(
    shares: np.ndarray, groups: np.ndarray, ends: Ends, own_groups: np.ndarray, own: Ends
) -> np.ndarray:
    """Restrict shares of edges by groups to some nodes.

    What each pair gains over chance stays.

    ``shares``: (k(k+1)/2,), of a directed relation (k k,). ``groups``, ``ends``: of all nodes;
    ``own_groups``, ``own``: of those.
    """
    found = shares * _by_chance(shares, own_groups, own) / _by_chance(shares, groups, ends)
    total = float(found.sum())
    return found / total if total > 0 else shares


def _by_chance(shares: np.ndarray, groups: np.ndarray, ends: Ends) -> np.ndarray:
    if ends.target is not None:
        k = math.isqrt(len(shares))
        sides = (np.bincount(groups, weights=side, minlength=k) for side in (ends.source, ends.target))
        crossed: np.ndarray = np.outer(*sides).ravel() + NEVER**0.5
        return crossed
    own = np.bincount(groups, weights=ends.source, minlength=order_of(shares))
    row, column = upper_triangle(order_of(shares))
    inside: np.ndarray = own[row] * own[column] * np.where(row == column, 0.5, 1.0) + NEVER**0.5
    return inside

"""Shares of a relation's edges between groups.

They are noisy counts shrunk to what is likely. Post-processing of noisy counts and of paid or sampled
numbers. What is likely: groups meet by chance, by the ends that each has; but inside one node type some share
of the edges, the same for all groups, is between nodes of one group. How far true counts are from that is
estimated from the counts themselves: what is left of their squared distances once the noise's variance is
taken off, in proportion to the counts that are likely, on the diagonal and off it. Each count then moves back
by as much as noise weighs against that: all the way where nothing stands out from the noise, and hardly where
there is little noise (empirical Bayes; Efron and Morris, JASA 68, 1973).
"""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.whole import upper_triangle

SMALLEST = 1e-12
ANYWHERE = 1e-6
"""Of the edges, what may lie anywhere."""


def shares_met(
    noisy: np.ndarray,
    scale: float,
    ends: np.ndarray,
    targets: np.ndarray | None = None,
    *,
    between: bool = False,
) -> np.ndarray:
    """Turn noisy counts of capped edges into shares of all.

    They are (k(k+1)/2,), on and above the diagonal; where ``targets`` are given, of a directed relation, (k
    k,), or ``between`` two types, (groups of sources * groups of targets,).
    * groups of targets,).

    ``scale``: of the noise. ``ends``, ``targets``: of the sampled edges, by group.
    """
    one = ends / max(float(ends.sum()), SMALLEST)
    other = one if targets is None else targets / max(float(targets.sum()), SMALLEST)
    if targets is None:
        row, column = (side.astype(np.int64) for side in upper_triangle(len(noisy)))
        # Undirected, a pair of groups is met either way round.
        by_chance = one[row] * other[column] * np.where(row == column, 1.0, 2.0)
        counts = noisy[row, column].astype(np.float64)
    else:
        row, column = (side.ravel() for side in np.indices(noisy.shape))
        by_chance, counts = np.outer(one, other).ravel(), noisy.ravel().astype(np.float64)
    by_chance = by_chance + SMALLEST
    alike = np.zeros(len(counts), dtype=bool) if between else row == column
    inside = np.where(alike, (one[row] + other[column]) / 2, 0.0)
    found = _drawn_back(counts, 2 * scale**2, by_chance / by_chance.sum(), inside, alike)
    found = found + ANYWHERE * by_chance / by_chance.sum()
    shares: np.ndarray = found / found.sum()
    return shares


def _drawn_back(
    counts: np.ndarray, variance: float, by_chance: np.ndarray, inside: np.ndarray, alike: np.ndarray
) -> np.ndarray:
    """Draw noisy counts towards what is likely, and return shares; see the module.

    ``variance`` of the noise; ``by_chance``: shares; ``inside``: what the groups' edges among themselves
    would be if there were no others, on the cells that are ``alike``.
    """
    # Noise may sum to nothing or less: no less than what it deviates by.
    total = max(float(counts.sum()), float(np.sqrt(variance * len(counts))), 1.0)
    expected = float(by_chance[alike].sum())
    # Solved for: total ((1 - h) expected + h) of the edges lie on the diagonal.
    homophily = (counts[alike].sum() / total - expected) / max(1 - expected, SMALLEST) if alike.any() else 0.0
    homophily = float(np.clip(homophily, 0, 1))
    likely = total * ((1 - homophily) * by_chance + homophily * inside)
    off, kept = counts - likely, np.zeros(len(counts))
    for part in (alike, ~alike):
        unexplained = float((off[part] ** 2).sum() - variance * part.sum())
        spread = max(unexplained, 0.0) / max(float(likely[part].sum()), SMALLEST) * likely[part]
        # The best linear estimate, cell by cell.
        kept[part] = spread / np.maximum(spread + variance, SMALLEST)
    found = np.maximum(likely + kept * off, 0)
    return found / max(float(found.sum()), SMALLEST)

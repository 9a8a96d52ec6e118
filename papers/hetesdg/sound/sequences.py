"""Ascending whole degrees from noisy ones.

Post-processing. For every degree d it is counted how many nodes reach it. Each noisy value is a vote by its
sign about d, worth epsilon over the sensitivity in log-likelihood, so the number of nodes has a posterior
that one cumulative sum gives; its median is taken. The prior of a number c of n nodes is 1 / ((c + 1) (n - c
+ 1)): few, or all but a few, are as likely as anything else. After the isotonic fit of Hay et al. (VLDB
2010), which is rounded above ``SINGLES``; where many nodes have one degree, votes leave half of its error or
less.
"""

from __future__ import annotations

import numpy as np

SINGLES = 128
"""Degrees up to here are voted on; larger ones are few, and their isotonic fit is rounded."""


def ascending(noisy: np.ndarray, scale: float, most: int, bound: int) -> np.ndarray:
    """Fit ascending whole degrees that sum to ``bound`` at most.

    They are in 0..``most``; int64 (n,). O(n * SINGLES).

    ``noisy``: the query ``sorted_degrees`` under discrete Laplace noise of ``scale``. No more than bound / d
    nodes can reach degree d, which holds the tail where noise is as wide as degrees are.
    """
    from scipy.optimize import isotonic_regression

    nodes = len(noisy)
    if not nodes:
        return np.empty(0, dtype=np.int64)
    smooth = np.clip(np.rint(isotonic_regression(noisy.astype(np.float64)).x), 0, most).astype(np.int64)
    count = nodes - np.arange(nodes + 1)
    prior = -np.log(count + 1.0) - np.log(nodes - count + 1.0)
    found = np.zeros(nodes, dtype=np.int64)
    highest = min(SINGLES, int(smooth[-1]), most)
    for degree in range(1, highest + 1):
        votes = np.where(noisy >= degree, 1.0, -1.0)
        log_odds = np.append(np.cumsum(votes[::-1])[::-1], 0.0) / scale + prior
        log_odds = np.where(count * degree <= bound, log_odds, -np.inf)
        weight = np.cumsum(np.exp(log_odds - log_odds.max()))
        found[np.searchsorted(weight, weight[-1] / 2) :] = degree
    large = found >= SINGLES
    found[large] = np.clip(smooth[large], SINGLES, np.maximum(bound // count[:-1][large], SINGLES))
    found = np.maximum.accumulate(found)
    return _cut(found, bound) if found.sum() > bound else found


def _cut(degrees: np.ndarray, bound: int) -> np.ndarray:
    """Shorten degrees alike to a sum of ``bound``, whole by largest remainders, ascending; int64."""
    exact = degrees * (bound / degrees.sum())
    whole = np.floor(exact).astype(np.int64)
    short = bound - int(whole.sum())
    if short > 0:
        whole[np.argsort(whole - exact, kind="stable")[:short]] += 1
    return np.sort(whole)

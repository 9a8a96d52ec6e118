"""The joint posterior means of thin noisy rows.

Post-processing: reads noisy tables only. At small epsilon a row of few neighbours is mostly noise, and its
entries say more of one another than of themselves: how many neighbours a node has, and in which clusters they
stand together. So the prior is over whole rows. Its support is every row of a small sum; its weights are
those under which the noisy rows are likeliest, computed by expectation-maximisation (the nonparametric
maximum likelihood of Kiefer and Wolfowitz, Annals of Mathematical Statistics 27, 1956), from a geometric law
of sums, shared out by Dirichlet laws.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.special import gammaln, logsumexp

from papers.hetesdg.sound.tables import Table, expected

SUPPORT, LARGEST = 2_000, 32
"""Rows in the prior's support at most, and their sum at most."""
THIN = 2 / 3
"""Of the largest sum in the support: a node that should have more neighbours keeps its own entries."""
LEAST_SCALE = 0.4
"""Noise is taken to be as wide as this at least. Counts without any say who is linked, not who will be; with
some, an empty entry is more where a node has neighbours elsewhere. Of .25, .4 and .7 each two of ACM, IMDB
and Amazon told .4 for the third: links held out gain up to 3 points, those that stayed in lose .4 at most."""
CONCENTRATIONS = (0.1, 1.0, 10.0)
ROUNDS, STEADY = 40, 20
"""Rounds of expectation-maximisation, and how many rows the first weights count for in each."""
LOOK, CHUNK = 2_500, 5_000
"""Rows that the weights are found from, at most, and rows that are worked on at once."""


def together(table: Table) -> np.ndarray:
    """Compute the posterior mean of every entry; float64 (n, k). Rows that are not thin, and tables of one
    column, as :func:`expected` has them. O(rows * SUPPORT * (k + ROUNDS))."""
    scale = max(table.scale, LEAST_SCALE)
    found = expected(table)
    if not len(found):
        return found
    sums = found.sum(axis=1)
    support = rows_of(table.noisy.shape[1])
    thin = np.flatnonzero(sums <= THIN * support.sum(axis=1).max())
    if table.noisy.shape[1] < 2 or not len(thin):
        return found
    step = -(-len(thin) // LOOK)
    weight = _weights(table.noisy[thin[::step]], scale, support, sums[thin])
    distinct, place = np.unique(table.noisy[thin], axis=0, return_inverse=True)
    means = np.empty(distinct.shape)
    for start in range(0, len(distinct), CHUNK):
        part = slice(start, start + CHUNK)
        share = _likelihood(distinct[part], scale, support) * weight
        means[part] = share @ support / share.sum(axis=1, keepdims=True)
    found[thin] = means[place.ravel()]
    return found


def rows_of(columns: int) -> np.ndarray:
    """List every whole-number row of small sum. It has ``columns`` columns; int64 (j, columns)."""
    largest = 1
    while largest < LARGEST and math.comb(largest + 1 + columns, columns) <= SUPPORT:
        largest += 1
    bars = np.array(list(combinations(range(largest + columns), columns)), dtype=np.int64)
    return np.diff(bars, axis=1, prepend=-1) - 1


def _weights(noisy: np.ndarray, scale: float, support: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Find the support's weights, float32 (j,), summing to 1."""
    rows, often = np.unique(noisy, axis=0, return_counts=True)
    base = np.maximum(noisy.sum(axis=0), 1.0)
    first = _first(support, max(float(sums.mean()), 0.05), base / base.sum())
    likelihood = _likelihood(rows, scale, support)
    weight, often = first, often.astype(np.float32)
    for _ in range(ROUNDS):
        weight = weight * ((often / (likelihood @ weight)) @ likelihood) + STEADY * first
        weight /= weight.sum()
    return weight


def _first(support: np.ndarray, mean: float, base: np.ndarray) -> np.ndarray:
    """Weigh the support by a geometric law of sums of that ``mean``, shared out by Dirichlet-multinomials of
    several concentrations about ``base`` (k,)."""
    total = support.sum(axis=1)
    laws = [
        gammaln(own.sum()) - gammaln(own.sum() + total) + (gammaln(own + support) - gammaln(own)).sum(axis=1)
        for own in (concentration * base for concentration in CONCENTRATIONS)
    ]
    ways = gammaln(total + 1) - gammaln(support + 1).sum(axis=1)
    log = logsumexp(laws, axis=0) + ways - total * math.log1p(1 / mean)
    weight = np.exp(log - log.max())
    return np.asarray(weight / weight.sum(), dtype=np.float32)


def _likelihood(noisy: np.ndarray, scale: float, support: np.ndarray) -> np.ndarray:
    """Compute the chance of each noisy row under each row of the support, up to a factor a row; (n, j)."""
    far = np.zeros((len(noisy), len(support)), dtype=np.float32)
    for column in range(support.shape[1]):
        far += np.abs(noisy[:, column, None] - support[None, :, column])
    likely: np.ndarray = np.exp((far.min(axis=1, keepdims=True) - far) / scale)
    return likely

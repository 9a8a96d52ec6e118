"""Which bins are kept apart.

For nodes they are fewer than for the whole relation, for pairs of classes fewer still. From public
declarations and a noisy histogram only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.graphs.schema.value_bins import ValueBins

MOST_BINS = 24
MOST_KINDS = 6
TOTAL = "total"
"""The column of how many records a histogram counted, and of that count's noise, where records are apart."""
MOST_ENTRIES = 2**25
"""Of a table of nodes and bins, of values without an order: of more nodes fewer bins are told apart. 256
MiB."""
SCORE = 8
"""Scores are whole numbers within so much of 0."""
REACH = 1.4
"""Standard deviations from the mean at which a score is largest: what lies beyond is cut. Chosen while
looking at bitcoin-otc, bitcoin-alpha and the months of ML-100k."""


class Division(NamedTuple):
    """A division of bins.

    ``bins`` (fine,): the bin of each fine one; ``kinds`` (bins,): the kind of each bin, of which there are
    fewest. ``score`` (bins,) float64: whole numbers, near for near values; empty where values have no order.
    """

    bins: np.ndarray
    kinds: np.ndarray
    score: np.ndarray


def divided(fine: ValueBins, histogram: np.ndarray, nodes: int) -> Division:
    """Divide bins by a noisy histogram.

    None of its entries is negative, and its sum is positive.

    ``nodes``: of the larger side. Inside a bin values follow the histogram.
    """
    ordered = fine.ordered
    most = MOST_BINS if ordered else max(1, min(MOST_BINS, MOST_ENTRIES // max(nodes, 1)))
    bins = merged(histogram, most, ordered)
    mass = np.bincount(bins, weights=histogram)
    kinds = merged(mass, MOST_KINDS, ordered)
    return Division(bins, kinds, _scores(fine, histogram, bins) if ordered else np.empty(0))


def merged(mass: np.ndarray, most: int, ordered: bool) -> np.ndarray:
    """Join entries to ``most`` at most.

    Neighbours are joined to like masses, or, without an order, the rarest ones. int64, the number of each
    entry's group, from 0 on.
    """
    if len(mass) <= most:
        return np.arange(len(mass))
    if ordered:
        before = (np.cumsum(mass) - mass / 2) / mass.sum()
        return np.unique(np.minimum((before * most).astype(np.int64), most - 1), return_inverse=True)[1]
    found = np.full(len(mass), most - 1)
    found[np.argsort(-mass, kind="stable")[: most - 1]] = np.arange(most - 1)
    return found


def _scores(fine: ValueBins, histogram: np.ndarray, bins: np.ndarray) -> np.ndarray:
    share = histogram / histogram.sum()
    mean = float(share @ fine.middles)
    away = fine.middles - mean
    mass = np.bincount(bins, weights=share)
    even = np.bincount(bins, weights=away) / np.bincount(bins)  # of bins that nothing fell into
    of_bin = np.where(mass > 0, np.bincount(bins, weights=share * away) / np.maximum(mass, 1e-300), even)
    reach = min(REACH * float(np.sqrt(share @ away**2)), float(np.abs(of_bin).max()))
    if reach <= 0:
        return np.zeros(len(of_bin))
    return np.rint(np.clip(of_bin / reach, -1, 1) * SCORE)

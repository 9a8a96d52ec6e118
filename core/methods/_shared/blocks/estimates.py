"""Consistent non-negative estimates from noisy counts.

Everything here is post-processing: it reads noisy values and public constants only.
"""

from __future__ import annotations

import numpy as np


def norm_sub(values: np.ndarray) -> np.ndarray:
    """Shift ``values`` to max(value - s, 0), keeping their sum.

    There is one such s; zeros where the sum is not positive. float64 of the same shape. O(L log L). Source:
    NormSub, Wang et al., NDSS 2020.
    """
    values = np.asarray(values, dtype=np.float64)
    total = values.sum()
    if total <= 0:
        return np.zeros(len(values))
    ranked = np.sort(values)[::-1]
    # With the q largest entries kept, the shift is (their sum - total)/q; entry q stays while it exceeds it.
    shift = (np.cumsum(ranked) - total) / np.arange(1, len(ranked) + 1)
    kept = int(np.count_nonzero(ranked > shift))
    raised: np.ndarray = np.maximum(values - shift[kept - 1], 0.0)
    return raised


def norm_sub_groups(values: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Apply NormSub inside every group at once.

    ``values`` (L,), ``groups`` (L,) in 0..count-1. In each group the result is non-negative and keeps the
    group's sum, or is zero where that sum is not positive. O(L log L), no loop over groups.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) == 0:
        return values.copy()
    order = np.lexsort((-values, groups))
    ranked, group = values[order], np.asarray(groups)[order]
    starts = np.searchsorted(group, np.arange(count))
    sums = np.bincount(group, weights=ranked, minlength=count)
    running = np.cumsum(ranked)
    # Sums inside each group, as differences of one running sum over all.
    before = np.where(starts > 0, running[np.maximum(starts, 1) - 1], 0.0)
    rank = np.arange(1, len(ranked) + 1) - starts[group]
    shift = (running - before[group] - sums[group]) / rank
    kept = np.bincount(group[ranked > shift], minlength=count)
    last = np.clip(starts + kept - 1, 0, len(ranked) - 1)
    alive = (sums > 0) & (kept > 0)
    # An infinite shift leaves nothing of a group with no positive sum.
    final = np.where(alive, shift[last], np.inf)
    result = np.empty_like(values)
    result[order] = np.maximum(ranked - final[group], 0.0)
    return result

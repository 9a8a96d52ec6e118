"""The compiled sampling of one strip, in integers only.

A strip is of rows; a part of :mod:`core.methods._shared.shards.draw`.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int

FEW = 48  # targets of a row that are sorted by insertion
SPARE = 64  # random words for those that are rejected
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@kernel
def guide_of(cumulative: np.ndarray, shift: int) -> np.ndarray:
    """Build a search guide over ``cumulative``.

    For every value with its ``shift`` lowest bits cut off, it has the place where a search for it begins.
    """
    guide = np.empty((cumulative[-1] >> shift) + 1, np.int32)
    place = 0
    for i in range(guide.size):
        while cumulative[place + 1] <= i << shift:
            place += 1
        guide[i] = place
    return guide


@kernel(inline="always")
def _place(cumulative: np.ndarray, guide: np.ndarray, shift: int, value: Int) -> np.int64:
    place = np.int64(guide[value >> shift])
    while cumulative[place + 1] <= value:
        place += 1
    return place


@kernel(inline="always")
def high_low(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Multiply two 64-bit numbers: the upper and the lower 64 bits of the product."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    # By halves of 32 bits: compiled code has no product of 128.
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), a * b


@kernel(inline="always")
def _below(words: np.ndarray, used: int, span: int) -> np.int64:
    """Take one of 0..span - 1, each equally likely, from the word at ``used``; or from a spare, at the end.

    Lemire, "Fast random integer generation in an interval" (2019), Algorithm 5: a word is rejected with
    probability span / 2^64 at most. More than SPARE of them in one strip come with probability 2^-800 for two
    million draws below 2^34.
    """
    size = np.uint64(span)
    high, low = high_low(words[used], size)
    if low < size:
        # 2^64 mod size: without it some results would have a word more than others.
        reject = (np.uint64(0) - size) % size
        while low < reject and words[-1] > np.uint64(1):
            high, low = high_low(words[-np.int64(words[-1])], size)
            words[-1] -= np.uint64(1)
    return np.int64(high)


@kernel
def strip(
    table: tuple[np.ndarray, np.ndarray, np.ndarray, int],
    first: np.ndarray,
    low: int,
    copies: np.ndarray,
    tally: np.ndarray,
    pairs: np.ndarray,
    words: np.ndarray,
) -> int:
    """Sample one strip into ``pairs``, and return its number.

    ``pairs`` (2, copies) is filled with its pairs, sorted, each once.

    ``table``: order and cumulative weights of the law, the guide to them and its shift. ``first`` (3, k):
    where each label's nodes of this strip begin, where they end, and where the label's nodes end. ``low``:
    the strip's first node. ``copies`` (k, k): pairs that are sampled with the smaller end in label i of the
    strip and the other in label j, from ``low`` on. ``tally``: zeros (rows, k). ``words``: two random words
    for each copy, SPARE, and the number SPARE + 1, by which the spare ones are counted down.
    """
    order, cumulative, guide, shift = table
    start, stop, ends = first[0], first[1], first[2]
    source, target = pairs[0], pairs[1]
    groups, used = start.size, 0
    for i in range(groups):
        if stop[i] == start[i]:
            continue
        base = cumulative[start[i]]
        span = cumulative[stop[i]] - base
        for j in range(groups):
            for _ in range(copies[i, j]):
                # First ends are only counted by row: second ends are sampled row by row, so that pairs come
                # sorted.
                place = _place(cumulative, guide, shift, base + _below(words, used, span))
                used += 1
                tally[order[place] - low, j] += 1
    count = 0
    for row in range(tally.shape[0]):
        begin = count
        for j in range(groups):
            if tally[row, j]:
                base = cumulative[start[j]]
                span = cumulative[ends[j]] - base
                for _ in range(tally[row, j]):
                    v = order[_place(cumulative, guide, shift, base + _below(words, used, span))]
                    used += 1
                    # The pair of a larger end with this one is sampled from both rows: kept from one; loops
                    # go too.
                    if v > row + low:
                        target[count] = v
                        count += 1
        if count - begin > 1:
            count = _distinct(target, begin, count)
        source[begin:count] = row + low
    return count


@kernel
def _distinct(values: np.ndarray, begin: int, end: int) -> int:
    """Sort this stretch, and keep each value once; return where it ends then."""
    # Numba's sort costs more than it saves on a few values, and nearly all rows have few.
    if end - begin <= FEW:
        for i in range(begin + 1, end):
            value = values[i]
            j = i
            while j > begin and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
    else:
        values[begin:end].sort()
    kept = begin + 1
    for i in range(begin + 1, end):
        if values[i] != values[kept - 1]:
            values[kept] = values[i]
            kept += 1
    return kept

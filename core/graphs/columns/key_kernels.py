"""The compiled part of sorting keys."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def spread(keys: np.ndarray) -> tuple[int, bool]:
    """Find the bits in which keys differ, and whether they are in order as they stand."""
    first, before, differ, ordered = keys[0], keys[0], keys[0] ^ keys[0], True
    for key in keys:
        differ |= key ^ first
        ordered &= before <= key
        before = key
    return differ, ordered


@kernel
def in_order(keys: np.ndarray, spare: np.ndarray, shifts: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Sort by the digits at ``shifts``, the highest first of them; returns ``spare``.

    By the first digit keys go to buckets. Each of these then has room in the processor's caches, where it is
    put in the order of one digit after the other, the lowest first: among equal digits the order stays.
    Half of that is done in the first places of ``keys``.
    """
    places, lower = np.zeros(masks[0] + np.uint64(1), np.int64), len(shifts) - 1
    for key in keys:
        places[key >> shifts[0] & masks[0]] += 1
    _begins(places)
    for key in keys:
        digit = key >> shifts[0] & masks[0]
        spare[places[digit]] = key
        places[digit] += 1
    counts, begin = np.empty((lower, masks.max() + np.uint64(1)), np.int64), 0
    for end in places:
        one, other = spare[begin:end], keys[: end - begin]
        begin = end
        counts[:] = 0
        for key in one:
            for number in range(lower):
                counts[number, key >> shifts[1 + number] & masks[1 + number]] += 1
        for number in range(lower - 1, -1, -1):
            place, shift, mask = counts[number], shifts[1 + number], masks[1 + number]
            _begins(place)
            for key in one:
                digit = key >> shift & mask
                other[place[digit]] = key
                place[digit] += 1
            one, other = other, one
        if lower % 2:
            other[:] = one
    return spare


@kernel(inline="always")
def _begins(sizes: np.ndarray) -> None:
    """Put in the place of each size how much comes before it."""
    before = 0
    for number in range(len(sizes)):
        size = sizes[number]
        sizes[number] = before
        before += size

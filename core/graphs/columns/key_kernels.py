"""The compiled part of sorting keys."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def in_order(keys: np.ndarray, spare: np.ndarray, shifts: np.ndarray, bits: int) -> np.ndarray:
    """Sort by the digits of ``bits`` bits at ``shifts``. It takes the lowest first; returns one of the
    arrays.

    Each pass puts the keys in the order of one digit and keeps, among equal digits, the order that they had.
    """
    size = 1 << bits
    mask = np.uint64(size - 1)
    places = np.zeros((len(shifts), size), np.int64)
    for key in keys:
        for number in range(len(shifts)):
            places[number, (key >> shifts[number]) & mask] += 1
    for number in range(len(shifts)):
        place, before, shift = places[number], 0, shifts[number]
        for digit in range(size):
            count = place[digit]
            place[digit] = before
            before += count
        for key in keys:
            digit = (key >> shift) & mask
            spare[place[digit]] = key
            place[digit] += 1
        keys, spare = spare, keys
    return keys

"""Sorting packed keys by their digits. Where there are many, it takes a quarter of NumPy's time or less."""

from __future__ import annotations

import numpy as np

from core.late import late

MANY = 1 << 19
"""From so many keys on compiled code is worth its loading."""

_in_order = late("core.graphs.columns.key_kernels:in_order")  # loading it takes longer than to sort few
_DIGIT_BITS = 10  # a place for each digit: few enough for the processor's nearest cache


def sorted_keys(keys: np.ndarray) -> np.ndarray:
    """Sort the unsigned 64-bit ``keys``. Their array is used up: it may or may not be the one returned.

    O(keys) for each digit in which a key has a bit, and as much memory again as the keys, from MANY on.
    """
    if len(keys) < MANY:
        keys.sort()
        return keys
    shifts = _shifts(int(np.bitwise_or.reduce(keys)))
    made: np.ndarray = _in_order(keys, np.empty_like(keys), np.array(shifts, dtype=np.uint64), _DIGIT_BITS)
    return made


def _shifts(used: int) -> list[int]:
    """Find where the digits stand that cover every bit of ``used``; what no key has needs none."""
    shifts = []
    position = 0
    while used >> position:
        if used >> position & 1:
            shifts.append(position)
            position += _DIGIT_BITS
        else:
            position += 1
    return shifts

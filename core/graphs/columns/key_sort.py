"""Sorting packed keys by their digits. Where there are many, it takes a fifth of NumPy's time or less."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.late import late

MANY = 1 << 19
"""From so many keys on compiled code is worth its loading."""
STRETCH = 1 << 16
"""So many rows that are looked at together stay in the processor's caches."""

_spread = late("core.graphs.columns.key_kernels:spread")  # loading them takes longer than to sort few
_in_order = late("core.graphs.columns.key_kernels:in_order")
_DIGIT_BITS = 10  # a place for each digit: few enough for the processor's nearest cache


def sorted_keys(keys: np.ndarray) -> np.ndarray:
    """Sort the unsigned 64-bit ``keys``. Their array is used up: it may or may not be the one returned.

    O(keys) for each digit in which keys differ, and as much memory again as the keys, from MANY on.
    """
    if len(keys) < max(MANY, 1):
        keys.sort()
        return keys
    differ, ordered = _spread(keys)
    if ordered:
        return keys
    shifts, masks = np.array(_digits(int(differ)), dtype=np.uint64).T.copy()
    made: np.ndarray = _in_order(keys, np.empty_like(keys), shifts, masks)
    return made


def distinct(keys: np.ndarray) -> Iterator[np.ndarray]:
    """Yield sorted keys a stretch at a time, each once."""
    for rows in stretches(len(keys)):
        own = keys[rows]
        first = np.empty(len(own), dtype=bool)
        # A stretch may begin with the last key of the one before.
        first[0] = rows.start == 0 or own[0] != keys[rows.start - 1]
        np.not_equal(own[1:], own[:-1], out=first[1:])
        yield own if first.all() else own[first]


def stretches(count: int) -> Iterator[slice]:
    """Cut rows into stretches."""
    for start in range(0, count, STRETCH):
        yield slice(start, min(start + STRETCH, count))


def _digits(differ: int) -> list[tuple[int, int]]:
    """List the shift and the mask of digits that cover every bit of ``differ``, the highest first.

    Bits in which no two keys differ need none.
    """
    digits = []
    while differ:
        shift = max(differ.bit_length() - _DIGIT_BITS, 0)
        digits.append((shift, (differ >> shift).bit_length()))
        differ &= (1 << shift) - 1
    return [(shift, (1 << bits) - 1) for shift, bits in digits]

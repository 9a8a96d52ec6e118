"""A set of non-negative int64 keys for compiled code.

Open addressing, linear probing, deletion by shifting. The table is an array whose length is a power of two;
EMPTY marks a free place. At most half full by construction, so that a look-up takes about two probes.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel

Int = int | np.int64
"""A whole number as compiled code has it."""

EMPTY = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: neighbouring keys fall far apart


@kernel
def table_for(most: int) -> np.ndarray:
    """Make an empty table for at most ``most`` keys."""
    size = 4
    while size < 2 * most:
        size *= 2
    return np.full(size, EMPTY, np.int64)


@kernel(inline="always")
def _home(table: np.ndarray, key: Int) -> np.int64:
    # The middle bits of the product: its lowest ones depend on few bits of the key.
    return np.int64((np.uint64(key) * _MULTIPLIER) >> np.uint64(20)) & (table.size - 1)


@kernel
def contains(table: np.ndarray, key: Int) -> bool:
    """Tell whether ``key`` is in the set."""
    place = _home(table, key)
    while table[place] != EMPTY:
        if table[place] == key:
            return True
        place = (place + 1) & (table.size - 1)
    return False


@kernel
def add(table: np.ndarray, key: Int) -> bool:
    """Put ``key`` into the set. True where it was not there."""
    place = _home(table, key)
    while table[place] != EMPTY:
        if table[place] == key:
            return False
        place = (place + 1) & (table.size - 1)
    table[place] = key
    return True


@kernel
def remove(table: np.ndarray, key: Int) -> None:
    """Take ``key``, which must be there, out of the set."""
    mask = table.size - 1
    gap = _home(table, key)
    while table[gap] != key:
        gap = (gap + 1) & mask
    place = (gap + 1) & mask
    while table[place] != EMPTY:
        # A key may fill the gap if its home does not lie behind the gap.
        if (place - _home(table, table[place])) & mask >= (place - gap) & mask:
            table[gap] = table[place]
            gap = place
        place = (place + 1) & mask
    table[gap] = EMPTY

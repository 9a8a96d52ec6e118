"""What a chain knows of slots, for compiled code.

It is whether one is occupied, and whether it is marked. Two bits a slot. Where slots are few, ``known`` is a
map, uint8, four slots a byte. Elsewhere it is a hash table, int64, of ``slot << 2 | bits`` for the slots that
have any: open addressing, linear probing, deletion by shifting, at most half full, as in
:mod:`core.methods._shared.matching.keyset`; one look finds both bits.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int

OCCUPIED, MARKED = 1, 2
EMPTY = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: neighbouring slots fall far apart
_SHIFT = np.uint64(20)


def map_of(slots: int) -> np.ndarray:
    """Make an empty map of so many slots."""
    return np.zeros(slots // 4 + 1, dtype=np.uint8)


def table_for(most: int) -> np.ndarray:
    """Make an empty table for at most ``most`` slots."""
    # At most half full, so that a look takes about two probes; never empty, as the mask needs a size.
    return np.full(2 ** max(2, (2 * most - 1).bit_length()), EMPTY, dtype=np.int64)


@kernel
def tell(known: np.ndarray, dense: bool, slots: np.ndarray, bit: int) -> None:
    """Note ``bit`` of every one of ``slots``."""
    for slot in slots:
        if dense:
            # Four slots in each byte: two bits each, the lowest first.
            known[slot >> 2] |= bit << ((slot & 3) * 2)
        else:
            _add(known, slot, bit)


@kernel(inline="always")
def look(known: np.ndarray, dense: bool, slot: Int) -> np.int64:
    """Look up the bits that hold of ``slot``."""
    if dense:
        return np.int64((known[slot >> 2] >> ((slot & 3) * 2)) & 3)
    place = _place(known, slot)
    return np.int64(0) if known[place] == EMPTY else np.int64(known[place] & 3)


@kernel(inline="always")
def enter(known: np.ndarray, dense: bool, slot: Int) -> None:
    """Mark ``slot`` as occupied."""
    if dense:
        known[slot >> 2] |= OCCUPIED << ((slot & 3) * 2)
    else:
        _add(known, slot, OCCUPIED)


@kernel(inline="always")
def leave(known: np.ndarray, dense: bool, slot: Int) -> None:
    """Free ``slot``, which must be occupied."""
    if dense:
        known[slot >> 2] &= 255 - (OCCUPIED << ((slot & 3) * 2))
    else:
        _vacate(known, slot)


@kernel(inline="always")
def _home(known: np.ndarray, slot: Int) -> np.int64:
    # The middle bits of the product: its lowest ones depend on few bits of the slot.
    return np.int64((np.uint64(slot) * _MULTIPLIER) >> _SHIFT) & (known.size - 1)


@kernel(inline="always")
def _place(known: np.ndarray, slot: Int) -> np.int64:
    """Find where ``slot`` stands, or the free place where it would."""
    place = _home(known, slot)
    while known[place] != EMPTY and known[place] >> 2 != slot:
        place = (place + 1) & (known.size - 1)
    return place


@kernel
def _add(known: np.ndarray, slot: Int, bit: int) -> None:
    place = _place(known, slot)
    known[place] = (slot << 2 | bit) if known[place] == EMPTY else known[place] | bit


@kernel
def _vacate(known: np.ndarray, slot: Int) -> None:
    mask = known.size - 1
    gap = _place(known, slot)
    # What the evidence says of the slot stays: only its edge is gone.
    if known[gap] & MARKED:
        known[gap] &= ~OCCUPIED
        return
    place = (gap + 1) & mask
    while known[place] != EMPTY:
        # A slot may fill the gap if its home does not lie behind the gap.
        if (place - _home(known, known[place] >> 2)) & mask >= (place - gap) & mask:
            known[gap] = known[place]
            gap = place
        place = (place + 1) & mask
    known[gap] = EMPTY

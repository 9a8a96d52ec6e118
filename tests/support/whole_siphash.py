"""SipHash-2-4 of any message, from the product's pieces of it."""

from __future__ import annotations

import numpy as np

from core.privacy.mechanisms import siphash


def hashed(key: bytes, message: bytes) -> int:
    """The hash, as the integer of its 8 bytes in little-endian order."""
    whole = len(message) // 8 * 8
    state = siphash.absorbed(siphash.keyed(key), message[:whole])
    last = int.from_bytes(message[whole:], "little") | (len(message) % 256) << 56
    return int(siphash.finished(*state, np.uint64(last)))

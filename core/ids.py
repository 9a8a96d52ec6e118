"""Identifiers that sort by time. They have a readable prefix and 128 bits (UUIDv7), from the operating
system."""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base 32: no i, l, o, u
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)  # of ten bits

(
    DATASET,
    VERSION,
    JOB,
    ACCOUNT,
    ENTRY,
    RESERVATION,
    ARTIFACT,
    KEY,
    AUDIT,
    STREAM,
    PROPOSAL,
    WEBHOOK,
    DELIVERY,
    LINKS,
    SESSION,
) = (
    "ds",
    "dv",
    "job",
    "acc",
    "le",
    "res",
    "art",
    "key",
    "aud",
    "st",
    "prop",
    "wh",
    "whd",
    "sl",
    "ses",
)


def new_id(prefix: str) -> str:
    """Make a fresh id that sorts by time. It is such as ``job_01j9...``: 48 bits of milliseconds, 80 random
    bits."""
    # 26 digits have room for 130 bits: the first is 7 at most, and texts sort as their numbers do.
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    return f"{prefix}_{''.join(_PAIRS[value >> place & 1_023] for place in range(120, -10, -10))}"

"""SipHash-2-4, a pseudo-random function with a key of 128 bits, as compiled code.

Aumasson and Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT 2012). Words are 64 bits, little-endian.
The state after a common beginning can be kept, so that many messages with one beginning cost their last words
alone.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.privacy import entropy

KEY_BYTES = 16
# The paper's constants: "somepseudorandomlygeneratedbytes" in ASCII.
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_SIXTEEN, _THIRTY_TWO, _SIXTY_FOUR = np.uint64(16), np.uint64(32), np.uint64(64)
_LAST = np.uint64(0xFF)


def fresh_key() -> bytes:
    """Draw a key that nobody knows, from the operating system's entropy."""
    return entropy.noise_generator().bytes(KEY_BYTES)


def keyed(key: bytes) -> np.ndarray:
    """Return the state before any message: four words, uint64."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    low, high = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    mixed = (low, high, low, high)
    return np.array([start ^ part for start, part in zip(_START, mixed, strict=True)], dtype=np.uint64)


def absorbed(state: np.ndarray, beginning: bytes) -> np.ndarray:
    """Return the state after ``beginning``, whole words; a new array."""
    if len(beginning) % 8:
        raise ValueError("a beginning is made of whole words of 8 bytes")
    return _absorbed(state, np.frombuffer(beginning, dtype="<u8").astype(np.uint64))


@kernel
def _rotated(x: np.uint64, bits: np.uint64) -> np.uint64:
    return (x << bits) | (x >> (_SIXTY_FOUR - bits))


@kernel
def _round(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a += b
    c += d
    b = _rotated(b, np.uint64(13)) ^ a
    d = _rotated(d, _SIXTEEN) ^ c
    a = _rotated(a, _THIRTY_TWO)
    c += b
    a += d
    b = _rotated(b, np.uint64(17)) ^ c
    d = _rotated(d, np.uint64(21)) ^ a
    c = _rotated(c, _THIRTY_TWO)
    return a, b, c, d


@kernel
def _word(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, word: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    d ^= word
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    return a ^ word, b, c, d


@kernel
def finished(a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, last: np.uint64) -> np.uint64:
    """Hash with ``last`` as closing word. It has the bytes that are left, and the length modulo 256 on top.

    ``a``, ``b``, ``c``, ``d``: the state after all whole words.
    """
    a, b, c, d = _word(a, b, c, d, last)
    c ^= _LAST
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@kernel
def after_word(state: np.ndarray, word: np.uint64, last: np.uint64) -> np.uint64:
    """Hash what ``state`` has absorbed, then ``word``, then the closing word ``last``. All uint64."""
    a, b, c, d = _word(state[0], state[1], state[2], state[3], word)
    return finished(a, b, c, d, last)


@kernel
def after_two_words(state: np.ndarray, first: np.uint64, second: np.uint64, last: np.uint64) -> np.uint64:
    """Hash what ``state`` has absorbed, then two words, then the closing word ``last``. All uint64."""
    a, b, c, d = _word(state[0], state[1], state[2], state[3], first)
    a, b, c, d = _word(a, b, c, d, second)
    return finished(a, b, c, d, last)


@kernel
def _absorbed(state: np.ndarray, words: np.ndarray) -> np.ndarray:
    a, b, c, d = state[0], state[1], state[2], state[3]
    for word in words:
        a, b, c, d = _word(a, b, c, d, word)
    return np.array([a, b, c, d], np.uint64)

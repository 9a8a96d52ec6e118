"""Streams of random words that a key and a number name."""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from core.privacy.entropy import CHUNK_BYTES, fresh_key, keyed_words

KEY = bytes(range(32))
WORDS = ["0x94b7ad523a7c217", "0x232346cd3a784264"]


def test_a_stream_is_the_same_each_time_and_its_beginning_does_not_depend_on_its_length():
    long = keyed_words(KEY, 5, CHUNK_BYTES // 8 * 2 + 3)
    assert np.array_equal(long, keyed_words(KEY, 5, len(long)))
    assert np.array_equal(long[:10], keyed_words(KEY, 5, 10))
    assert long.dtype == np.uint64
    assert len(np.unique(long)) == len(long)
    assert abs(np.unpackbits(long.view(np.uint8)).mean() - 0.5) < 0.002  # 5 standard deviations


def test_numbers_and_keys_name_different_streams():
    words = [keyed_words(key, number, 4).tobytes() for key in (KEY, bytes(32)) for number in (0, 1, 2**63)]
    assert len(set(words)) == 6


def test_the_words_are_these_on_every_machine():
    assert [hex(word) for word in keyed_words(KEY, 1, 2)] == WORDS


def test_the_stream_is_chacha20s():
    """The first block of RFC 8439's function under a zero key, which ``Cipher`` gives (its Appendix A.1)."""
    block = Cipher(algorithms.ChaCha20(bytes(32), bytes(16)), mode=None).encryptor().update(bytes(8))
    assert block.hex() == "76b8e0ada0f13d90"


def test_keys_are_fresh():
    assert len({fresh_key() for _ in range(100)}) == 100
    assert len(fresh_key()) == 32

"""SipHash-2-4 against its published vectors, and its parts against the whole."""

import numpy as np
import pytest

from core.privacy.mechanisms import siphash
from tests.support.whole_siphash import hashed

KEY = bytes(range(16))
PUBLISHED = {  # Aumasson and Bernstein: key 00..0f, message 00..(length - 1); the reference program's table
    0: "310e0edd47db6f72",
    1: "fd67dc93c539f874",
    2: "5a4fa9d909806c0d",
    3: "2d7efbd796666785",
    4: "b7877127e09427cf",
    5: "8da699cd64557618",
    6: "cee3fe586e46c9cb",
    7: "37d1018bf50002ab",
    8: "6224939a79f5f593",
}


@pytest.mark.parametrize("length", list(PUBLISHED))
def test_the_published_vectors(length):
    found = hashed(KEY, bytes(range(length)))
    assert found.to_bytes(8, "little").hex() == PUBLISHED[length]


def test_the_paper_s_own_example():
    assert hashed(KEY, bytes(range(15))) == 0xA129CA6149BE45E5


@pytest.mark.parametrize("words", [1, 2, 5])
def test_a_kept_beginning_gives_the_hash_of_the_whole(words):
    beginning, word = bytes(range(8 * words)), bytes(range(100, 108))
    state = siphash.absorbed(siphash.keyed(KEY), beginning)
    before = state.copy()
    closing = np.uint64((len(beginning) + 8) % 256 << 56)
    found = siphash.after_word(state, np.uint64(int.from_bytes(word, "little")), closing)
    assert int(found) == hashed(KEY, beginning + word)
    assert (state == before).all()


def test_another_key_gives_another_function():
    other = bytes(range(1, 17))
    assert hashed(KEY, b"graph") != hashed(other, b"graph")


def test_keys_and_beginnings_have_their_lengths():
    with pytest.raises(ValueError, match="16 bytes"):
        siphash.keyed(b"short")
    with pytest.raises(ValueError, match="whole words"):
        siphash.absorbed(siphash.keyed(KEY), b"seven..")

"""Sealed streams: exact round trips, and no damage goes unseen."""

from __future__ import annotations

import itertools
import os
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import StorageError
from core.storage.sealed import FRAME_BYTES, MAGIC, SALT_BYTES, TAG_BYTES, seal, unseal
from tests.support.groups import examples

KEY = os.urandom(32)
HEADER = len(MAGIC) + SALT_BYTES
SEALED_FRAME = FRAME_BYTES + TAG_BYTES


def sealed(data: bytes, *, context: str = "") -> bytes:
    return b"".join(seal([data], KEY, context=context))


def opened(data: bytes, *, key: bytes = KEY, context: str = "") -> bytes:
    return b"".join(unseal([data], key, context=context))


@pytest.mark.parametrize(
    "size",
    [0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES, 3 * FRAME_BYTES + 5],
)
def test_round_trip_at_frame_borders(size: int) -> None:
    data = os.urandom(size)
    box = sealed(data)
    assert opened(box) == data
    frames = max(1, -(-size // FRAME_BYTES))
    assert len(box) == HEADER + size + frames * TAG_BYTES


def test_no_chunks_at_all_is_an_empty_stream() -> None:
    assert opened(b"".join(seal([], KEY))) == b""


@settings(max_examples=examples(10), deadline=None)
@given(
    cuts=st.lists(st.integers(0, 2 * FRAME_BYTES), max_size=8),
    pieces=st.integers(1_000, 400_000),
)
def test_chunk_borders_do_not_matter(cuts: list[int], pieces: int) -> None:
    data = os.urandom(2 * FRAME_BYTES)
    bounds = [0, *sorted(cuts), len(data)]
    chunks = [data[a:b] for a, b in itertools.pairwise(bounds)]
    box = b"".join(seal(chunks, KEY))
    again = (box[start : start + pieces] for start in range(0, len(box), pieces))
    assert b"".join(unseal(again, KEY)) == data


@pytest.mark.parametrize("size", [0, 10, FRAME_BYTES, 2 * FRAME_BYTES + 10])
def test_every_truncation_is_detected(size: int) -> None:
    box = sealed(os.urandom(size))
    cuts = {0, 1, HEADER - 1, HEADER, HEADER + 1, HEADER + TAG_BYTES - 1, len(box) - 1, len(box) - TAG_BYTES}
    cuts |= {HEADER + n * SEALED_FRAME for n in range(3)} | {HEADER + n * SEALED_FRAME + 1 for n in range(3)}
    for cut in sorted(cuts):
        if cut < len(box):
            with pytest.raises(StorageError):
                opened(box[:cut])


def test_bytes_after_the_end_are_detected() -> None:
    box = sealed(b"x" * (FRAME_BYTES + 3))
    for tail in (b"\0", box[HEADER:], os.urandom(SEALED_FRAME)):
        with pytest.raises(StorageError):
            opened(box + tail)


def test_reordering_repeating_and_dropping_frames_are_detected() -> None:
    box = sealed(os.urandom(3 * FRAME_BYTES + 7))
    head, body = box[:HEADER], box[HEADER:]
    frames = [body[start : start + SEALED_FRAME] for start in range(0, len(body), SEALED_FRAME)]
    assert len(frames) == 4
    for order in (
        [1, 0, 2, 3],
        [0, 2, 1, 3],
        [0, 0, 1, 2, 3],
        [0, 1, 3],
        [1, 2, 3],
        [0, 1, 2],
        [3],
        [0, 1, 2, 3, 3],
    ):
        with pytest.raises(StorageError):
            opened(head + b"".join(frames[index] for index in order))


@settings(max_examples=examples(60), deadline=None)
@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_every_bit_flip_is_detected(position: float, bit: int) -> None:
    box = bytearray(sealed(os.urandom(3000)))
    box[int(position * len(box))] ^= 1 << bit
    with pytest.raises(StorageError):
        opened(bytes(box))


def test_another_key_or_context_opens_nothing() -> None:
    box = sealed(b"secret", context="a/b")
    assert opened(box, context="a/b") == b"secret"
    with pytest.raises(StorageError):
        opened(box, key=os.urandom(32), context="a/b")
    with pytest.raises(StorageError):
        opened(box, context="a/c")


def test_frames_of_two_streams_cannot_be_mixed() -> None:
    one, two = sealed(b"a" * (2 * FRAME_BYTES)), sealed(b"b" * (2 * FRAME_BYTES))
    with pytest.raises(StorageError):
        opened(one[: HEADER + SEALED_FRAME] + two[HEADER + SEALED_FRAME :])


def test_equal_plaintexts_look_different() -> None:
    one, two = sealed(b"same" * 1000), sealed(b"same" * 1000)
    assert one[HEADER:] != two[HEADER:]
    assert b"same" not in one


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        list(seal([b"x"], b"short"))


def test_memory_does_not_grow_with_the_stream() -> None:
    def chunks(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield bytes(2**18)

    def peak(count: int) -> int:
        tracemalloc.start()
        size = sum(len(part) for part in unseal(seal(chunks(count), KEY), KEY))
        assert size == count * 2**18
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(256) < peak(32) + 2 * FRAME_BYTES  # 64 MiB against 8 MiB
    assert peak(256) < 12 * FRAME_BYTES

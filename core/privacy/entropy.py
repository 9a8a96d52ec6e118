"""The only randomness of the product.

Everything that is released draws from :func:`noise_generator`: the ChaCha20 stream cipher, keyed with 256
bits of the operating system for each call. A generator is never kept, so a forked process never repeats its
parent's stream. What has to come out the same when it is repeated takes :func:`keyed_words`.
"""

from __future__ import annotations

import os
import random
import sys
from hashlib import blake2b

import numpy as np

from core.late import late

Generator = np.random.Generator
CHUNK_BYTES = 1 << 18  # of a keyed stream, at once

_cha_cha = late("randomgen:ChaCha")  # what only plans makes no noise, and need not have it
_cipher = late("cryptography.hazmat.primitives.ciphers:Cipher")  # brings asyncio with it
_cha_cha_20 = late("cryptography.hazmat.primitives.ciphers.algorithms:ChaCha20")


def noise_generator() -> np.random.Generator:
    """Make a fresh generator for anything that is released. It is over ChaCha20, keyed by the operating
    system.

    It cannot be seeded: a known seed voids every guarantee. About 50 microseconds to make.
    """
    # A key for each call: a generator that were kept would repeat itself in every fork.
    key = np.frombuffer(os.urandom(32), dtype=np.uint64)
    return np.random.Generator(_cha_cha(key=key, rounds=20))


def public_generator(seed: int | None) -> np.random.Generator:
    """Make a generator for post-processing. It is seeded and repeatable, or fresh when ``seed`` is None.

    The caller gives a seed only where the dataset is marked public.
    """
    if seed is None:
        return noise_generator()
    return np.random.Generator(np.random.PCG64(seed))


def keyed_words(key: bytes, number: int, count: int) -> np.ndarray:
    """Return words of the keyed stream. They are the first ``count`` words, uint64, of the stream that this
    secret key and number name.

    The same each time and everywhere: for post-processing that must come out the same when it is repeated, as
    the shards of one graph; never for noise. The stream is ChaCha20's (RFC 8439), whose key is BLAKE2b of the
    number (below 2^64) under ``key``, 32 bytes from :func:`fresh_key`: streams tell nothing of one another.
    """
    # The person keeps these streams apart from any other use of the same key.
    own = blake2b(number.to_bytes(8, "little"), key=key, digest_size=32, person=b"keyed words").digest()
    cipher = _cipher(_cha_cha_20(own, bytes(16)), mode=None).encryptor()
    # Little-endian by name: the words are the same on every machine.
    words, zeros = np.empty(count, dtype="<u8"), bytes(CHUNK_BYTES)
    stream = words.view(np.uint8).data
    # By pieces: zeros as long as the stream would take its memory twice.
    for begin in range(0, len(stream), CHUNK_BYTES):
        part = stream[begin : begin + CHUNK_BYTES]
        cipher.update_into(zeros[: len(part)], part)
    return words


def fresh_key() -> bytes:
    """Draw 32 bytes from the operating system, to name streams by (:func:`keyed_words`)."""
    return os.urandom(32)


def forget_random_states() -> None:
    """Reseed every generator that a library keeps. Those of its process begin anew, from the operating
    system.

    For a process that was just forked: its next draws would be its parent's, and its siblings'. Ours are
    never kept (above), OpenDP's and Numba's begin anew by themselves, and those here are seeded anew by
    whoever draws from them for a release: none that forgot to would repeat another process's draws.
    """
    random.seed()
    np.random.seed()
    if networkit := sys.modules.get("networkit"):
        networkit.setSeed(int.from_bytes(os.urandom(8)), False)
    if torch := sys.modules.get("torch"):
        torch.seed()

"""The only randomness of the product.

Everything that is released draws from :func:`noise_generator`: the ChaCha20 stream cipher, keyed with 256
bits of the operating system for each call. A generator is never kept, so a forked process never repeats its
parent's stream.
"""

from __future__ import annotations

import os
import random
import sys

import numpy as np

Generator = np.random.Generator


def noise_generator() -> np.random.Generator:
    """Make a fresh generator over ChaCha20, keyed by the operating system; for anything that is released.

    It cannot be seeded: a known seed voids every guarantee. About 50 microseconds to make.
    """
    from randomgen import ChaCha

    key = np.frombuffer(os.urandom(32), dtype=np.uint64)
    return np.random.Generator(ChaCha(key=key, rounds=20))


def public_generator(seed: int | None) -> np.random.Generator:
    """Make a generator for post-processing: seeded and repeatable, or fresh when ``seed`` is None.

    The caller gives a seed only where the dataset is marked public.
    """
    if seed is None:
        return noise_generator()
    return np.random.Generator(np.random.PCG64(seed))


def forget_random_states() -> None:
    """Let every generator that a library keeps for its process begin anew, from the operating system.

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

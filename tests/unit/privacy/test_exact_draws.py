"""Compiled uniform integers, word by word against Lemire's method and against arithmetic on the raw words."""

from __future__ import annotations

import inspect
from types import ModuleType

import numpy as np
import pytest

from core.privacy.mechanisms import communities, samplers

WORD = 2**64
WIDE = WORD // 16386 + 1
"""A scale below 2^50 with many words that an unbiased draw from 0..WIDE-1 must refuse, about one in 2^14."""


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def expected(seed: int, n: int) -> int:
    """The draw by hand: the leading bits of each raw word, until they lie below n."""
    words = np.random.PCG64(seed)
    while True:
        x = int(words.random_raw()) >> (64 - (n - 1).bit_length())
        if x < n:
            return x


@pytest.mark.parametrize("n", [2**32 + 1, 2**33, 3 * 2**40 + 7, WIDE, 2**61 + 1, 2**62])
def test_a_wide_draw_is_the_leading_bits_of_the_first_word_that_fits(n: int) -> None:
    drawn = [int(samplers.below(generator(seed), n)) for seed in range(300)]
    assert drawn == [expected(seed, n) for seed in range(300)]


@pytest.mark.parametrize("n", [1, 2, 45, 2**31 + 3, 2**32])
def test_a_narrow_draw_is_numpys(n: int) -> None:
    compiled, reference = generator(3), generator(3)
    drawn = [int(samplers.below(compiled, n)) for _ in range(300)]
    assert drawn == [int(reference.integers(0, n)) for _ in range(300)]


def test_a_word_that_must_be_refused_is_refused() -> None:
    """Lemire's method must refuse words whose low product lies below 2^64 mod n (2019, Algorithm 5)."""
    seed = next(
        s for s in range(1_000_000) if int(np.random.PCG64(s).random_raw()) * WIDE % WORD < WORD % WIDE
    )
    biased = int(np.random.PCG64(seed).random_raw()) * WIDE >> 64
    assert int(samplers.below(generator(seed), WIDE)) == expected(seed, WIDE) != biased


@pytest.mark.parametrize("module", [samplers, communities])
def test_every_kernel_draws_its_uniforms_through_the_exact_one(module: ModuleType) -> None:
    draws = [line for line in inspect.getsource(module).splitlines() if "rng.integers" in line]
    inside = inspect.getsource(samplers.below.py_func).splitlines() if module is samplers else []
    assert draws == [line for line in inside if "rng.integers" in line]

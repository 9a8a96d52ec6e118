"""Intervals of sums of noisy numbers: no narrower than the law allows, and hardly wider."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from core.reports.intervals import FINEST, MANY, sum_within
from core.reports.precision import within


def law(scale: Fraction, count: int, reach: int) -> np.ndarray:
    """The law of a sum from -reach to reach, folded one noise at a time."""
    at = np.arange(-reach, reach + 1)
    one = np.exp(-np.abs(at) / float(scale))
    one /= one.sum()
    found = one
    for _ in range(count - 1):
        found = np.convolve(found, one)[reach:-reach]
    return found


@pytest.mark.parametrize(("scale", "count"), [(Fraction(1, 3), 5), (Fraction(2), 2), (Fraction(7, 2), 6)])
def test_the_bound_of_a_sum_is_the_least_that_keeps_its_word(scale: Fraction, count: int) -> None:
    reach = 400
    found = law(scale, count, reach)
    limit = sum_within(scale, count, 0.95)
    inside = [found[reach - t : reach + t + 1].sum() for t in (limit - 1, limit)]
    assert inside[0] < 0.95 <= inside[1]


def test_one_noise_has_the_bound_of_one() -> None:
    assert sum_within(Fraction(10), 1, 0.95) == within(Fraction(10), 0.95)


def test_wide_noise_and_many_noises_have_bounds_that_follow_on() -> None:
    """Past a limit the law is taken in steps, or as normal: no jump of more than a thousandth there."""
    scale = Fraction(FINEST) * Fraction(1000, 2449)  # of three noises: a spread just above the limit
    wide, narrow = sum_within(scale, 3, 0.95), sum_within(scale * Fraction(999, 1000), 3, 0.95)
    assert 0 < wide - narrow < 0.003 * wide
    before, after = sum_within(Fraction(5), MANY - 1, 0.95), sum_within(Fraction(5), MANY, 0.95)
    assert 0 <= after - before < 0.003 * after + 3

"""Shares of edges between groups of values, from noisy counts that are drawn towards what is likely."""

from __future__ import annotations

import numpy as np
import pytest

from core.methods._shared.blocks.whole import upper_triangle
from core.methods._shared.node_values.meeting import shares_met


def test_what_was_read_without_noise_stays():
    upper = np.array([[60, 20], [0, 20]])
    assert shares_met(upper, 1e-6, np.array([140.0, 60.0])) == pytest.approx([0.6, 0.2, 0.2], abs=1e-5)
    counts = np.array([[50, 10, 3], [7, 20, 10]])
    sides = np.array([63.0, 37.0]), np.array([57.0, 30.0, 13.0])
    found = shares_met(counts, 1e-6, *sides, between=True)
    assert found == pytest.approx(counts.ravel() / 100, abs=1e-5)


def test_where_nothing_stands_out_from_noise_groups_meet_by_chance():
    ends = np.array([30.0, 10.0])
    found = shares_met(np.array([[-5, -9], [0, -1]]), 20.0, ends)
    assert found == pytest.approx([9 / 16, 6 / 16, 1 / 16], abs=1e-6)
    across = shares_met(
        np.array([[3, 40, -9], [0, -20, 15]]), 50.0, ends, np.array([1.0, 1, 2]), between=True
    )
    assert across == pytest.approx(np.outer([0.75, 0.25], [0.25, 0.25, 0.5]).ravel(), abs=1e-6)


def test_that_like_meets_like_is_told_where_no_single_count_stands_out():
    """Twelve groups: every count is below its noise, but those on the diagonal together are not."""
    k, scale, rng = 12, 150.0, np.random.default_rng(5)
    row, column = upper_triangle(k)
    truth = np.where(row == column, 0.7 / k, 0.3 / (k * (k - 1) / 2))
    off, plain = [], []
    for _ in range(40):
        noisy = np.zeros((k, k))
        noisy[row, column] = 4000 * truth + rng.laplace(0, scale, len(row))
        found = shares_met(noisy, scale, np.ones(k))
        cut = np.maximum(noisy[row, column], 0)
        off.append(np.abs(found - truth).sum() / 2)
        plain.append(np.abs(cut / cut.sum() - truth).sum() / 2)
    assert np.mean(off) < 0.5 * np.mean(plain)


@pytest.mark.parametrize("between", [False, True])
def test_shares_are_of_one_whole_whatever_was_read(between: bool):
    for counts in (np.zeros((2, 2)), np.full((2, 2), -1e6), np.array([[0, 1e9], [0, 0]])):
        for ends in (np.zeros(2), np.array([1.0, 0.0])):
            found = shares_met(counts, 3.0, ends, ends, between=between)
            assert found.sum() == pytest.approx(1)
            assert (found >= 0).all()

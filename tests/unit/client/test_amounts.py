"""Amounts are written exactly, without trailing zeros."""

from __future__ import annotations

import pytest

from graphveil.amounts import format_delta, format_epsilon


@pytest.mark.parametrize(
    ("nano", "text"),
    [(10**9, "1"), (1_500_000_000, "1.5"), (1, "0.000000001"), (0, "0"), (-250_000_000, "-0.25")],
)
def test_epsilon_is_exact_and_plain(nano, text):
    assert format_epsilon(nano) == text


@pytest.mark.parametrize(
    ("atto", "text"),
    [
        (0, "0"),
        (10**12, "0.000001"),
        (1, "0.000000000000000001"),
        (2**63 - 1, "9.223372036854775807"),
    ],
)
def test_delta_is_exact_and_plain(atto, text):
    assert format_delta(atto) == text

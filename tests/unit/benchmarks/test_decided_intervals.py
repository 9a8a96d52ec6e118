"""The interval of a total holds as often as it says wherever the truth lies beside a place of decision."""

from __future__ import annotations

import pytest

from benchmarks.decided_intervals import Asked, held

DRAWS = 100_000


@pytest.mark.parametrize(("nodes", "epsilon"), [(34, 1.0), (34, 2.0)])
def test_the_interval_holds_its_confidence_at_the_worst_true_number(nodes: int, epsilon: float) -> None:
    asked = Asked("psgraph", nodes, epsilon)
    shares = held(asked, nodes, DRAWS)
    assert asked.laws > 1
    assert min(shares.values()) >= 0.95

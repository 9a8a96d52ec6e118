"""Calibration: what intervals hold is near what they say, and far from it where noise is mis-stated."""

from __future__ import annotations

from benchmarks.attribute_tables import generated
from benchmarks.calibration import ADDED_UP, PROMISED, TOGETHER, fitted, shares
from core.reports.precision import QUANTITIES

NODE = QUANTITIES["degrees"].title


def test_intervals_are_calibrated_and_half_the_noise_is_caught() -> None:
    graph = generated(4_000)
    paid = fitted(graph, "anchored", 2.0, {"attribute_share": 0.5})
    right, wrong = (shares(graph, *paid, divided) for divided in (1, 2))
    # 6,400 degrees: five standard deviations of their share are .014; of 24 cells, any number may fail.
    assert 0.936 < right[NODE] < 0.975
    assert wrong[NODE] < 0.88
    assert {ADDED_UP, PROMISED, TOGETHER} <= right.keys()

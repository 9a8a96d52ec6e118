"""How finely run times are stated. How long a job and its stages take can depend on the private graph."""

from __future__ import annotations

from bisect import bisect_right

BOUNDS = (1.0, 5.0, 15.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0)
"""In seconds: from one to the next, two times are the same. Histograms and spans tell nothing finer."""


def reached(seconds: float) -> float:
    """Find the largest bound the time has reached. It is 0 before the first, multiples of the last after
    it."""
    if seconds >= BOUNDS[-1]:
        return seconds // BOUNDS[-1] * BOUNDS[-1]
    passed = bisect_right(BOUNDS, seconds)
    return BOUNDS[passed - 1] if passed else 0.0

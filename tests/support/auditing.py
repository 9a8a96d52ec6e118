"""How sure an audit of the suite must be, and when a broken copy counts as caught.

Noise has no seed, so both errors of a test must stay rare over years of runs: a sound mechanism is accused
once in a million looks, and a broken one is looked at again, with more runs, before it counts as missed.
"""

from collections.abc import Callable

import numpy as np
import pytest

from core.privacy.accounting.audit import MIN_RUNS

SOUND, CAUGHT = 1 - 1e-6, 0.999
LOOKS = 5

SMALLER = 8
in_both_forms = pytest.mark.parametrize(
    "part",
    [pytest.param(SMALLER, marks=pytest.mark.default, id="small"), pytest.param(1, id="large")],
)
"""The test hands ``part`` to :func:`caught`; the small form is in ``make test``."""


def caught(measure: Callable[[int, float], float], epsilon: float, runs: int, part: int = 1) -> bool:
    """Whether ``measure(runs, confidence)``, a lower bound on epsilon, passes ``epsilon``.

    It begins with one ``part``-th of the runs. Where the bound does not pass, it is measured anew with twice
    the runs, ``LOOKS`` times in all. A mechanism that keeps to ``epsilon`` is accused with probability at
    most ``LOOKS * (1 - CAUGHT)``: .005.
    """
    first = max(MIN_RUNS, runs // part)
    return any(measure(first << look, CAUGHT) > epsilon for look in range(LOOKS))


def laplace_divergence(moved: int, scale: float, order: float) -> float:
    """The Rényi divergence of discrete Laplace noise from the same, moved."""
    at = np.arange(-500, 501)
    still, shifted = -np.abs(at) / scale, -np.abs(at - moved) / scale
    weight = np.exp(order * still + (1 - order) * shifted).sum()
    return float(np.log(weight / np.exp(still).sum()) / (order - 1))

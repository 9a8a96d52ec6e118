"""How sure an audit of the suite must be, and when a broken copy counts as caught.

Noise has no seed, so both errors of a test must stay rare over years of runs: a sound mechanism is accused
once in a million looks, and a broken one is looked at again, with more runs, before it counts as missed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from core.privacy.accounting.audit import MIN_RUNS, audit_epsilon, repeated

SOUND, CAUGHT = 1 - 1e-6, 0.999
LOOKS = 5

SMALLER = 8
in_both_forms = pytest.mark.parametrize(
    "part",
    [
        pytest.param(SMALLER, marks=pytest.mark.default, id="small"),
        pytest.param(1, marks=pytest.mark.audits, id="large"),
    ],
)
"""The test hands ``part`` to :func:`caught`; the small form is in ``make test``."""


def caught(measure: Callable[[int, float], float], epsilon: float, runs: int, part: int = 1) -> bool:
    """Whether ``measure(runs, confidence)``, a lower bound on epsilon, passes ``epsilon``.

    It begins with one ``part``-th of the runs. Where the bound does not pass, it is measured with twice the
    runs, ``LOOKS`` times in all, anew or with those of before (:class:`Kept`). A mechanism that keeps to
    ``epsilon`` is accused with probability at most ``LOOKS * (1 - CAUGHT)``: .005.
    """
    first = max(MIN_RUNS, runs // part)
    return any(measure(first << look, CAUGHT) > epsilon for look in range(LOOKS))


class Kept:
    """Draws for an audit; what one look drew counts for the later ones, which add to it.

    Each bound holds as often as it says whatever the others found: it chooses an event by one half of
    independent rows, and estimates by the other.
    """

    def __init__(self, run: Callable[[Any, int], np.ndarray]) -> None:
        self._run, self._rows = run, dict[int, np.ndarray]()

    def __call__(self, graph: Any, count: int) -> np.ndarray:
        """As ``run``, for a graph that lives as long as this."""
        held = self._rows.get(id(graph))
        missing = count - (0 if held is None else len(held))
        if missing > 0:
            rows = self._run(graph, missing)
            held = self._rows[id(graph)] = rows if held is None else np.concatenate([held, rows])
        assert held is not None
        return held[:count]


def bounding(
    once: Callable[[Any], np.ndarray], graph: Any, neighbour: Any, delta: float = 0.0
) -> Callable[..., float]:
    """Return what :func:`caught` takes of ``once``, a run on a graph; its draws are kept."""
    kept = Kept(repeated(once))

    def bound(runs: int, confidence: float = SOUND) -> float:
        found = audit_epsilon(kept, graph, neighbour, runs=runs, delta=delta, confidence=confidence)
        return found.lower_bound

    return bound


def laplace_divergence(moved: int, scale: float, order: float) -> float:
    """The Rényi divergence of discrete Laplace noise from the same, moved."""
    at = np.arange(-500, 501)
    still, shifted = -np.abs(at) / scale, -np.abs(at - moved) / scale
    weight = np.exp(order * still + (1 - order) * shifted).sum()
    return float(np.log(weight / np.exp(still).sum()) / (order - 1))

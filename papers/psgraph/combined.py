"""Noisy vectors of several steps, combined. Reads noisy values only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A noisy vector. ``variance``: of the noise in each value. ``weight``: what the next combination goes
    by, epsilon (two steps) or precision (all past steps)."""

    values: np.ndarray
    variance: float
    weight: float

    def grown(self, factor: float) -> Estimate:
        """Scale the estimate to a vector that has grown by ``factor``."""
        return Estimate(self.values * factor, self.variance * factor**2, self.weight / factor**2)


def two_steps(now: Estimate, before: Estimate) -> Estimate:
    """Average both, weighted by epsilon.

    This is the paper's combination step.

    ``before`` is a combination already, so that the past fades by half a step while the budget is the same.
    """
    return _mixed(now, before, before.weight, now.weight)


def all_past(now: Estimate, before: Estimate, most: float) -> Estimate:
    """Average all steps, weighted by precision.

    Of least variance while the vector stays. The past counts for ``most`` present steps at most, so that it
    fades while the graph changes.
    """
    past = min(before.weight, most * now.weight)
    return _mixed(now, before, past, past + now.weight)


def _mixed(now: Estimate, before: Estimate, past: float, weight: float) -> Estimate:
    alpha = now.weight / (now.weight + past)
    values = alpha * now.values + (1 - alpha) * before.values
    # Independent noises: variances add with the squares of their weights.
    return Estimate(values, alpha**2 * now.variance + (1 - alpha) ** 2 * before.variance, weight)

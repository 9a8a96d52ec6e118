"""Bayesian estimates of the number of edges over time.

They are by Bayes' rule on a grid: the number drifts, and now and then it jumps.

What only drifts by a share of its level never rises from a night. So at every step the number may jump as
well: to exactly 0, or anywhere, with a density that beyond the noise falls as 1 / x. How many jumps end at 0
is learned from how often the stream was empty: one weak step of a busy stream is then not taken for a night,
and a night that came before is known again. Where the schema declares a period (a day of hours, a week of
days), the number may also be what it was one period ago. Post-processing of noisy values.

The chance of a jump was set on AS-733, email-Eu, CollegeMsg, bitcoin-otc, radoslaw-email and contacts of
offices and schools; what is assumed of jumps to 0 on email-Eu and on made days of 12 and 24 steps. Below two
standard deviations of the noise (47 edges at epsilon 1 and w = 5) a weak step and an empty one look alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.late import late
from core.methods.keyframe.filters import DRIFTS, FORGETTING, SMALLEST_LEVEL, Bank

REACH, POINTS = 12.0, 97  # the grid about a measurement: scales of its noise to either side, and points
JUMP = 0.1  # chance of a jump, a step
EMPTY, ASSUMED = 0.3, 4.0  # share of the jumps that end at 0, and the number of steps that it counts for
NIGHT = 0.5  # the chance of 0 above which 0 is the estimate
RECALLED, SIMILAR = 0.25, 0.4  # chance that a number is as one period ago, and how near, as a share of it


class Phase(NamedTuple):
    """What was known of one phase of a period: the chance of 0, and the number's mean and variance else."""

    empty: float
    mean: float
    variance: float


@dataclass(frozen=True)
class EdgeCount:
    """The posterior of the number of edges.

    It is that after its last measurement.

    ``point`` float64 (P,): 0, then the grid. ``weight`` float64 (drifts, P): chances by drift, rows sum to 1.
    ``evidence`` float64 (drifts,): log likelihood of the past. ``empty``: summed chances of 0 over the
    ``seen`` measurements.
    """

    point: np.ndarray
    weight: np.ndarray
    evidence: np.ndarray
    empty: float = 0.0
    seen: int = 0

    @classmethod
    def start(cls, measured: float, scale: float, slots: int) -> EdgeCount:
        """Start from one measurement under Laplace noise.

        It has ``scale``, and there are at most ``slots`` edges.
        """
        point, width = _grid(measured, scale, slots)
        chance = np.tile(_jumped(point, width, scale, slots, EMPTY), (len(DRIFTS), 1))
        return cls(point, chance, np.zeros(len(DRIFTS)))._after(measured, scale)

    @classmethod
    def of_bank(cls, bank: Bank) -> EdgeCount:
        """Take over a filter bank's estimate of one number. The bank knows it as normal laws cut off at 0."""
        level, spread = bank.level, np.sqrt(bank.variance)
        low = max(0.0, float((level - REACH * spread).min()))
        ends = np.linspace(low, max(float((level + REACH * spread).max()), low + SMALLEST_LEVEL), POINTS + 1)
        below = _ndtr((ends - level) / spread)
        # What a normal law has below 0 is the chance of 0.
        weight = np.hstack([below[:, :1], np.diff(below)])
        point = np.concatenate([[0.0], (ends[1:] + ends[:-1]) / 2])
        return cls(point, weight / weight.sum(axis=1, keepdims=True), bank.evidence[:, 0])

    def step(
        self, measured: float, scale: float, slots: int, steps: int, past: Phase | None = None
    ) -> EdgeCount:
        """Update it by a measurement ``steps`` steps later. O(drifts * P^2).

        ``past``: the same phase one period ago, where there is one.
        """
        point, width = _grid(measured, scale, slots)
        ends = np.append(point[1:] - width / 2, point[-1] + width / 2)
        # A random walk: its deviation grows with the root of the steps.
        drift = DRIFTS * np.sqrt(steps) * np.maximum(self.point[1:], SMALLEST_LEVEL)
        below = _ndtr((ends - self.point[1:, None]) / drift[..., None])
        drifted = np.einsum("di,dij->dj", self.weight[:, 1:], np.diff(below))
        stayed = np.hstack([self.weight[:, :1], drifted])
        stays = (1 - JUMP) ** steps
        # As if ASSUMED steps had been seen before, of which EMPTY were empty.
        share = (EMPTY * ASSUMED + self.empty) / (ASSUMED + self.seen)
        chance = stays * stayed + (1 - stays) * _jumped(point, width, scale, slots, share)
        if past is not None:
            chance = (1 - RECALLED) * chance + RECALLED * _alike(past, ends)
        held = EdgeCount(point, chance, self.evidence * FORGETTING**steps, self.empty, self.seen)
        return held._after(measured, scale)

    def _after(self, measured: float, scale: float) -> EdgeCount:
        far = np.abs(measured - self.point) / scale
        # Relative to the nearest point: the factor is the same for all drifts.
        joint = self.weight * np.exp(far.min() - far)
        found = joint.sum(axis=1)
        weight, evidence = joint / found[:, None], self.evidence + np.log(found)
        empty = float((_shares(evidence) @ weight)[0])
        return EdgeCount(self.point, weight, evidence, self.empty + empty, self.seen + 1)

    def phase(self) -> Phase:
        """Return what the next period may recall."""
        chance = _shares(self.evidence) @ self.weight
        some = max(float(chance[1:].sum()), np.finfo(float).tiny)
        mean = float(chance[1:] @ self.point[1:]) / some
        return Phase(float(chance[0]), mean, float(chance[1:] @ (self.point[1:] - mean) ** 2) / some)

    def estimate(self) -> tuple[float, float]:
        """Estimate the number, and its variance. It is exactly 0 where that is likely, else the mean."""
        chance = _shares(self.evidence) @ self.weight
        mean = float(chance @ self.point)
        return (0.0 if chance[0] > NIGHT else mean), float(chance @ (self.point - mean) ** 2)


def _shares(evidence: np.ndarray) -> np.ndarray:
    weight = np.exp(evidence - evidence.max())
    shares: np.ndarray = weight / weight.sum()
    return shares


def _grid(measured: float, scale: float, slots: int) -> tuple[np.ndarray, float]:
    """Lay 0 and the grid's points, middles of cells between 0 and ``slots``; and the width of a cell."""
    low = float(np.clip(measured - REACH * scale, 0, max(slots - scale, 0)))
    high = min(max(measured + REACH * scale, low + scale), float(slots))
    ends = np.linspace(low, high, POINTS + 1)
    return np.concatenate([[0.0], (ends[1:] + ends[:-1]) / 2]), (high - low) / POINTS


def _jumped(point: np.ndarray, width: float, scale: float, slots: int, empty: float) -> np.ndarray:
    """Compute the chances of every point after a jump, of which a share of ``empty`` ends at 0."""
    # The density 1 / (x + scale), whose integral over 0..slots is log(1 + slots / scale).
    anywhere = width / ((point[1:] + scale) * np.log1p(max(slots, 1) / scale))
    return np.concatenate([[empty], (1 - empty) * anywhere])


_ndtr = late("scipy.special:ndtr")


def _alike(past: Phase, ends: np.ndarray) -> np.ndarray:
    """Compute the chances of 0 and of the cells between ``ends`` for a number near what it was."""
    spread = np.sqrt(past.variance + (SIMILAR * past.mean) ** 2)
    below = _ndtr((np.append(0.0, ends) - past.mean) / max(spread, SMALLEST_LEVEL))
    # A normal law cut off at 0.
    return np.append(past.empty, (1 - past.empty) * np.diff(below[1:]) / (1 - below[0]))

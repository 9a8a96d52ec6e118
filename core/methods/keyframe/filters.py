"""Scalar filters over time.

Every number is followed by a bank of local-level Kalman filters. The filters of a bank differ in how fast
they take the number to drift, as a share of its level; they are averaged by how well each foretold the past
measurements. Post-processing of noisy values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DRIFTS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8])[:, None]  # per step, as a share of the level
FORGETTING = 0.95  # per step, of the evidence for each drift
SMALLEST_LEVEL = 1.0  # a level for the drift to be a share of


@dataclass(frozen=True)
class Bank:
    """Filters of J numbers after their last measurement.

    All are float64 (drifts, J).

    ``level`` and ``variance``: estimate and its squared error. ``evidence``: log likelihood of the past.
    """

    level: np.ndarray
    variance: np.ndarray
    evidence: np.ndarray

    @classmethod
    def start(cls, measured: np.ndarray, noise: float) -> Bank:
        """Start the filters from one measurement (J,).

        Its noise has variance ``noise``, and nothing more is known.
        """
        level = np.tile(np.asarray(measured, dtype=np.float64), (len(DRIFTS), 1))
        return cls(level, np.full_like(level, noise), np.zeros_like(level))

    def step(self, measured: np.ndarray, noise: float, steps: int, growth: float = 1.0) -> Bank:
        """Update the filters by a measurement ``steps`` steps later.

        In these the levels are known to have grown by the factor ``growth``.
        """
        level = self.level * growth
        drift = DRIFTS * np.maximum(level, SMALLEST_LEVEL)
        # Scaled levels have scaled errors; a random walk adds its variance step by step.
        before = self.variance * growth**2 + steps * drift**2
        surprise, spread = measured - level, before + noise
        gain = before / spread
        # The logarithm of the normal density of the surprise, but for what is the same in all filters.
        evidence = self.evidence * FORGETTING**steps - (np.log(spread) + surprise**2 / spread) / 2
        return Bank(level + gain * surprise, before * (1 - gain), evidence)

    def estimate(self) -> tuple[np.ndarray, np.ndarray]:
        """Estimate mean and variance of every number.

        Filters are weighted by their evidence; float64 (J,).
        """
        weight = np.exp(self.evidence - self.evidence.max(axis=0))
        weight /= weight.sum(axis=0)
        mean = (weight * self.level).sum(axis=0)
        # Variance inside filters, and between them.
        return mean, (weight * (self.variance + (self.level - mean) ** 2)).sum(axis=0)

"""Estimates from noisy neighbour histograms.

Posterior counts, and how alike neighbours are.

Reads noisy tables only: all of it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.methods._shared.degrees.fitted import degree_law, posterior_means


@dataclass(frozen=True)
class Table:
    """A noisy histogram of every counted node's neighbours.

    It is over the clusters of the other side.

    ``noisy`` (n, k) int64 under discrete Laplace noise of ``scale``; ``share`` (k,): the clusters' sizes, as
    shares of their type.
    """

    noisy: np.ndarray
    scale: float
    share: np.ndarray

    @property
    def variance(self) -> float:
        """Of the noise in one entry."""
        return laplace_variance(self.scale)


@dataclass(frozen=True)
class Mix:
    """How neighbours fall into clusters. ``base`` (k,): shares of all ends; ``same``: the chance that two
    neighbours of one node share a cluster, ``chance`` the same for two ends of any."""

    base: np.ndarray
    same: float
    chance: float


def laplace_variance(scale: float) -> float:
    """Compute the variance of discrete Laplace noise. It has P(z) proportional to exp(-|z| / scale)."""
    ratio = float(np.exp(-1 / scale))
    return 2 * ratio / (1 - ratio) ** 2


def expected(table: Table) -> np.ndarray:
    """Compute the posterior mean of every entry. Each column is under a law of its own; float64 (n, k)."""
    found = np.empty(table.noisy.shape)
    for column in range(table.noisy.shape[1]):
        noisy = table.noisy[:, column]
        law = degree_law(noisy, table.scale)
        found[:, column] = posterior_means(noisy, table.scale, law)
    return found


def mix(table: Table) -> Mix:
    """Measure how alike a node's neighbours are.

    It takes sums over all nodes with the noise's own share taken off. With H the noisy table: H'H counts
    ordered pairs of neighbours by their clusters, and its diagonal each neighbour with itself and n times the
    noise's variance besides.
    """
    rows = table.noisy.astype(np.float64)
    sums = rows.sum(axis=0)
    base = np.maximum(sums, 1.0)
    base = base / base.sum()
    chance = float(np.square(base).sum())
    together = rows.T @ rows - np.diag(len(rows) * table.variance + sums)
    total = float(together.sum())
    same = float(np.trace(together)) / total if total > 0 else chance
    return Mix(base, same, chance)


def gate(table: Table) -> float:
    """Compute the signal's part of the table's variance, 0..1. It is what is not noise."""
    spread = float(table.noisy.astype(np.float64).var(axis=0).sum())
    columns = table.noisy.shape[1]
    return float(np.clip(1 - columns * table.variance / spread, 0, 1)) if spread > 0 else 0.0

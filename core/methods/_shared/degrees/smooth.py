"""Smooth laws of degrees.

A prior on log masses over a grid, and the mode of a posterior by Newton steps. Under the prior the density is
smooth in the logarithm of the degree. Reads noisy values only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import scipy.linalg
from threadpoolctl import ThreadpoolController

from core.methods._shared.degrees.fitted import FLOOR

ROUGHNESS = 1.0  # standard deviation of the log density's second difference over one unit of log degree
CLOSE = 0.01  # of the log density: a step that gains less says nothing of the law


def softmax(logs: np.ndarray) -> np.ndarray:
    """Normalise log masses to masses that sum to 1."""
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())


def smooth_prior(grid: np.ndarray, loose: float) -> np.ndarray:
    """Build the prior's precision matrix of log masses.

    It is around a reference, smooth from degree 1 on; (g, g).

    ``loose``: the standard deviation around the reference.
    """
    size = len(grid)
    prior = np.eye(size) / loose**2
    if size < 4:
        return prior
    x = np.log(grid[1:].astype(np.float64))
    before, after = np.diff(x)[:-1], np.diff(x)[1:]
    second = np.zeros((size - 3, size))
    row = np.arange(size - 3)
    # The change of slope over a stretch of length h has standard deviation ROUGHNESS * sqrt(h).
    spread = ROUGHNESS * np.sqrt((before + after) / 2)
    second[row, row + 1] = 1 / before / spread
    second[row, row + 2] = -(1 / before + 1 / after) / spread
    second[row, row + 3] = 1 / after / spread
    return prior + second.T @ second


def newton_mode(
    log_mass: np.ndarray,
    cost: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    steps: int,
    longest_step: float = math.inf,
) -> np.ndarray:
    """Minimise ``cost`` by damped Newton steps from ``log_mass``.

    The result is the masses (g,).

    ``cost`` and ``derivatives`` take log masses; the latter gives a gradient (g,) and a positive definite
    curvature (g, g). No step moves a log mass by more than ``longest_step``. On one thread: with matrices so
    small others mostly wait, which on busy cores costs many times the work. O(steps * g^3).
    """
    with _threads().limit(limits=1, user_api="blas"):
        return softmax(_mode(log_mass, cost, derivatives, steps, longest_step))


@cache
def _threads() -> ThreadpoolController:
    """Find the libraries of linear algebra once: a search is a quarter of a small fit."""
    return ThreadpoolController()


def _mode(
    log_mass: np.ndarray,
    cost: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    steps: int,
    longest_step: float,
) -> np.ndarray:
    """The log masses that :func:`newton_mode` ends at."""
    here, damping = cost(log_mass), 1e-3
    diagonal = np.diag_indices(len(log_mass))
    for _ in range(steps):
        gradient, curvature = derivatives(log_mass)
        moved, there, step = False, here, np.zeros(0)
        for _ in range(12):
            damped = curvature.copy()
            damped[diagonal] *= 1 + damping
            step = scipy.linalg.solve(damped, -gradient, assume_a="pos")
            step *= min(1.0, longest_step / max(float(np.abs(step).max()), FLOOR))
            there = cost(log_mass + step)
            if there <= here:
                moved = True
                break
            damping *= 4
        if not moved:
            break
        gain, here = here - there, there
        log_mass = log_mass + step
        damping = max(damping / 4, 1e-6)
        if gain < CLOSE:
            break
    return log_mass

"""The law of degrees from noisy degrees and tail counts.

Noisy degrees say little about a sparse graph's law: the noise is as wide as the law. How many nodes have at
least so many edges is measured far better by the query ``tail_counts``, whose L1 sensitivity is 2 whatever
the thresholds, so that a counter stands at every point of the law's grid. The law is the mode of a posterior:
the multinomial likelihood of the noisy degrees, normal errors of the counters and of the number of edge ends,
and a prior under which the density is smooth in the logarithm of the degree. Hubs are left out of it and kept
as they were measured: a smooth density would spread a handful of nodes over the whole tail, or lose them, and
the sum of degrees would be made up by nodes of middling degree. Reads noisy values only: all of it is
post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.methods._shared.degrees.fitted import (
    FLOOR,
    SMALLEST_MEAN,
    DegreeLaw,
    grid_of,
    histogram,
    reference,
    stretches,
)
from core.methods._shared.degrees.smooth import newton_mode, smooth_prior, softmax
from core.privacy.accounting.events import NANO
from core.privacy.session.counted import CountedCell

LOOSE = (
    3.0  # standard deviation of the log density around the reference: what no number speaks of stays there
)
CELLS = 400  # noisy values are told apart in so many groups
STEPS = 100
LONGEST_STEP = 3.0  # of any log mass: farther, a tail's mass vanishes, and no node there pulls it back
HUB = 2.0  # times how far noise reaches: nodes beyond are known by their own numbers
FEW_HUBS, NODES_A_HUB = 30, 50  # so many are, and one in so many nodes, if noise alone does not reach so far
MOST_HUBS = 1000
TOLD = 10.0  # standard deviations of a tail count's noise: fewer nodes are told by their own degrees alone


@dataclass(frozen=True)
class Tails:
    """Noisy numbers of nodes with at least so many edges.

    They are ``count`` (t,) for ``at`` (t,) edges; ``variance``: of each.
    """

    at: np.ndarray
    count: np.ndarray
    variance: float


@dataclass(frozen=True)
class Ends:
    """A noisy sum of all degrees, and its variance."""

    total: float
    variance: float

    @classmethod
    def of_count(cls, edges: int, nano_epsilon: int) -> Ends:
        """Double an edge count that was read at this price. It has L1 sensitivity 1."""
        return cls(2.0 * edges, 8 * (NANO / nano_epsilon) ** 2)


def thresholds(noisy: np.ndarray) -> np.ndarray:
    """Choose where to count tails of the degrees.

    It is the least whole degree in every stretch of the grid beyond zero; int64, increasing. 1 at least.
    ``noisy``: degrees that are paid for.
    """
    low, _ = stretches(grid_of(noisy))
    return np.unique(np.maximum(np.ceil(low[1:]), 1).astype(np.int64)) if len(low) > 1 else np.array([1])


def tails_tell(nodes: int, edges: float, nano_epsilon: int) -> bool:
    """Tell whether tail counts are worth their price.

    They are where nodes that may have an edge stand out from their noise. By a noisy number of ``edges`` and
    public facts. Elsewhere the law would follow noise.
    """
    return nano_epsilon > 0 and min(nodes, 2 * edges) > TOLD * math.sqrt(_variance(nano_epsilon))


def counted_tails(cell: CountedCell, at: np.ndarray, nano_epsilon: int) -> Tails:
    """Count nodes with at least so many edges, with noise.

    The thresholds ``at`` are public or paid for.

    Sensitivity: L1 = 2 (:func:`core.privacy.queries.tail_counts`). Unit: one edge of the cell, or as many as
    the unit may have there.
    """
    count = cell.laplace("tail_counts", nano_epsilon=nano_epsilon, purpose="degree tails", thresholds=at)
    return Tails(at, count, _variance(nano_epsilon))


def _variance(nano_epsilon: int) -> float:
    return 2 * (2 * NANO / nano_epsilon) ** 2


def law_with_tails(noisy: np.ndarray, scale: float, tails: Tails, ends: Ends | None = None) -> DegreeLaw:
    """Estimate the law of degrees from degrees and tail counts.

    It explains ``noisy`` degrees (noise of ``scale``), the counters and the sum of degrees.

    ``tails`` stand at :func:`thresholds` of the same noisy degrees, or at :func:`public_thresholds`. Hubs
    each stand in the law where they were measured: nodes beyond HUB times the noise's reach, MOST_HUBS at
    most, and only those beyond its reach where they are few. O(STEPS * grid^3 + CELLS * grid^2).
    """
    nodes = len(noisy)
    reach = reach_of(nodes, scale)
    beyond = float(np.clip(_largest(noisy, min(FEW_HUBS, nodes // NODES_A_HUB)), reach, HUB * reach))
    beyond = max(beyond, _largest(noisy, MOST_HUBS))
    hub = noisy > beyond
    if not hub.any() or hub.all() or beyond > nodes - 1:
        return _smooth_law(noisy, scale, tails, ends)
    at, rest = np.minimum(noisy[hub], nodes - 1), noisy[~hub]
    if ends is not None:
        ends = Ends(ends.total - float(at.sum()), ends.variance + len(at) * 2 * scale**2)
    below = tails.at <= max(int(rest.max()), 1)
    others = Tails(tails.at[below], tails.count[below] - len(at), tails.variance)
    law = _smooth_law(rest, scale, others, ends)
    points, counts = np.unique(at.astype(np.int64), return_counts=True)
    mass = np.concatenate([law.mass * (len(rest) / nodes), counts / nodes])
    return DegreeLaw(np.concatenate([law.grid, points]), mass)


def _largest(noisy: np.ndarray, number: int) -> float:
    """What so many of ``noisy`` lie above, ties aside; minus infinity where there are no more."""
    place = len(noisy) - number - 1
    return float(np.partition(noisy, place)[place]) if place >= 0 else -math.inf


def _smooth_law(noisy: np.ndarray, scale: float, tails: Tails, ends: Ends | None) -> DegreeLaw:
    """The mode of the posterior, by damped Newton steps."""
    grid, nodes = grid_of(noisy), len(noisy)
    values, counts = histogram(noisy, CELLS)
    far = np.abs(values[:, None] - grid[None, :])
    kernel = np.exp((far.min(axis=1, keepdims=True) - far) / scale)
    mean = max(float(noisy.mean()) if ends is None else ends.total / nodes, SMALLEST_MEAN)
    start = np.maximum(reference(grid, kernel, counts, mean), FLOOR)
    rows, measured, weight = _linear(grid, nodes, tails, ends)
    prior, reference_log = smooth_prior(grid, LOOSE), np.log(start)
    often, weighing = np.sqrt(counts)[:, None], np.sqrt(weight)[:, None]

    def cost(log_mass: np.ndarray) -> float:
        mass = softmax(log_mass)
        miss = rows @ mass * nodes - measured
        off = log_mass - reference_log
        fit = counts @ np.log(np.maximum(kernel @ mass, FLOOR))
        return float(-fit + 0.5 * (weight * miss * miss).sum() + 0.5 * off @ prior @ off)

    def derivatives(log_mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mass = softmax(log_mass)
        shown = kernel * mass
        shown /= np.maximum(shown.sum(axis=1, keepdims=True), FLOOR)
        centred = shown - mass
        slopes = nodes * mass * (rows - (rows @ mass)[:, None])
        miss = rows @ mass * nodes - measured
        gradient = -(counts @ centred) + slopes.T @ (weight * miss) + prior @ (log_mass - reference_log)
        root = np.vstack([centred * often, slopes * weighing])
        return gradient, root.T @ root + prior  # of one matrix with itself: half the work

    return DegreeLaw(grid, newton_mode(reference_log, cost, derivatives, STEPS, LONGEST_STEP))


def reach_of(nodes: int, scale: float) -> float:
    """Bound how far noise of ``scale`` goes over the nodes.

    It goes farther with probability e^-3 for any of them together.
    """
    return scale * (math.log(nodes) + 3)


def _linear(
    grid: np.ndarray, nodes: int, tails: Tails, ends: Ends | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is told of linear functions of the law: rows (t, g), noisy values (t,), one over variance (t,)."""
    rows = (grid[None, :] >= tails.at[:, None]).astype(np.float64)
    measured, weight = tails.count.astype(np.float64), np.full(len(tails.at), 1 / tails.variance)
    if ends is None:
        return rows, measured, weight
    return (
        np.vstack([rows, grid.astype(np.float64)]),
        np.append(measured, ends.total),
        np.append(weight, 1 / ends.variance),
    )

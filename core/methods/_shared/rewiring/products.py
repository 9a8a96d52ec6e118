"""Degree product sums: from a noisy sum to an aim.

The noisy one is over edges; the aim is what a sampled graph should have. What carries over is the covariance
of the degrees at an edge's two ends: a sampled graph's degrees are not the noisy ones, so the sum itself
would be off. Reads noisy values only.
"""

from __future__ import annotations

import math

import numpy as np

from core.methods._shared.matching.ends import degrees_in, products_in
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms.product_sum import caps

LEAST_KEPT = 0.5  # of the drawn graph's own sum: less cannot be reached, or leaves no room for triangles


def degree_covariance(total: int, edges: float, noisy: np.ndarray, degree: int, product: int) -> np.ndarray:
    """Estimate the covariance of degrees at an edge's ends.

    Returned too is the standard deviation of its noise; (2,).

    ``total``: noisy sum of degree products over ``edges`` edges. The mean degree at an edge's end comes from
    the squares of the noisy degrees, less the noise's variance. ``degree`` and ``product``: nano-epsilon.
    """
    edges, nodes = max(float(edges), 1.0), len(noisy)
    # A noisy square is too large by the variance of the noise, 2 (2 / epsilon)^2, on the mean.
    squares = float((noisy.astype(np.float64) ** 2).sum()) - nodes * 2 * (2 * NANO / degree) ** 2
    # A random end of an edge has degree d in proportion to d.
    mean = max(squares, 0.0) / max(float(noisy.sum()), 1.0)
    high, low = caps(noisy)
    # The sum's noise has the scale high * low / epsilon; a Laplace law's deviation is sqrt(2) times its
    # scale.
    spread = math.sqrt(2) * high * low * NANO / product / edges
    return np.array([total / edges - mean**2, spread])


def product_aim(keys: np.ndarray, nodes: int, covariance: float, spread: float, model_spread: float) -> int:
    """Compute the sum of degree products to aim at.

    It is over edges, given the noisy ``covariance`` and its ``spread``. See :func:`product_goal`, which also
    says how sure it is.
    """
    return product_goal(keys, nodes, covariance, spread, model_spread)[0]


def product_goal(
    keys: np.ndarray, nodes: int, covariance: float, spread: float, model_spread: float
) -> tuple[int, float]:
    """Compute the sum of degree products, and its relative error.

    The sum is that over edges to aim at, its standard deviation a share of that sum. The noisy
    ``covariance``, whose noise has the deviation ``spread``, is one estimate; that of the graph ``keys`` is a
    second; the two are weighed by their precision. ``model_spread``: the standard deviation of the
    assortativity that a sampled graph gets wrong by itself. The sum is then taken at this graph's own
    degrees, and is at least LEAST_KEPT of this graph's: where few hubs hold most edges, a covariance that is
    taken at other degrees asks for a sum below 0. O(n + m).
    """
    degree = degrees_in(keys, nodes).astype(np.float64)
    edges, ends = len(keys), 2.0 * len(keys)
    # Over ends of edges, where degree d counts d times.
    mean, variance = (degree**2).sum() / ends, (degree**3).sum() / ends
    variance = max(variance - mean**2, 0.0)
    own = products_in(keys, degree) / edges - mean**2
    # Assortativity is the covariance over the variance.
    known = (model_spread * variance) ** 2
    # By precision: of two estimates each counts by the other's variance.
    weight = known / max(known + spread**2, np.finfo(float).tiny)
    # A covariance is never more than the variance, whatever noise says.
    wanted = weight * np.clip(covariance, -variance, variance) + (1 - weight) * own
    aim = max(mean**2 + wanted, LEAST_KEPT * (mean**2 + own))
    # The deviation of the weighted mean: sqrt(weight) * spread = 1 / sqrt(1 / known + 1 / spread^2).
    return int(edges * aim), math.sqrt(weight) * spread / max(aim, np.finfo(float).tiny)

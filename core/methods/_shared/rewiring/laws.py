"""Laws of clustering by degree, and their expected triangles.

They are those that groups by such a law bring, by formula. A law: the coefficients e^s d^-b of nodes of
degree d. For :mod:`core.methods._shared.rewiring.groups`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.late import late
from core.methods._shared.rewiring.groups import by_degree

DENSITY = 0.9  # of a group
MOST_INSIDE = 0.6  # of a node's edges, in its group
FEWEST_INSIDE = 5.0  # edges in a group: where a node's coefficient asks for fewer, it is in one by chance
USUAL_SLOPE = 0.5  # the b of the law where clustering is not told
SLOPES = -1.0, 3.0
LOG_SCALES = -20.0, 20.0
PRECISION = 0.002  # of the law's parameters

Law = tuple[np.ndarray, np.ndarray]
"""By degree: edges in a group, and the chance of being in one."""


def law_of(degrees: np.ndarray, log_scale: float, slope: float) -> Law:
    """Make a group law from clustering coefficients by degree.

    By degree: edges in a group, and the chance of being in one, for coefficients e^``log_scale`` d^-slope. A
    node with k of its d edges in a group of density r closes r k (k - r) / 2 of its C(d, 2) paths.
    """
    degree = np.maximum(degrees, 2).astype(np.float64)
    # No more than what MOST_INSIDE of a node's edges would close: about r (k / d)^2 of its paths.
    wanted = np.minimum(np.exp(log_scale - slope * np.log(degree)), DENSITY * MOST_INSIDE**2)
    least = np.clip(MOST_INSIDE * degree, 2, FEWEST_INSIDE)
    # That law solved for k; too few edges would make groups smaller than any triangle.
    inside = np.maximum(degree * np.sqrt(wanted / DENSITY), least)
    # The coefficient that so many edges really bring: r k (k - r) / 2 over C(d, 2).
    grouped = DENSITY * inside * (inside - DENSITY) / (degree * (degree - 1))
    # Where a group would close more than wanted, a node is in one only with the chance that is left.
    share = np.where(degrees >= 2, wanted / np.maximum(grouped, wanted), 0)
    return inside, share


def brought(law: Law, nodes: np.ndarray, weight: np.ndarray, circles: int) -> tuple[float, float, float]:
    """Compute triangles, corners' weight and edges of a law.

    Its groups have ``nodes`` of each degree; all by degree. As if each of the circles had its part of the
    nodes of every degree. O(degrees).
    """
    found = by_degree(*law, nodes / circles, weight, DENSITY)
    return circles * found[0], circles * found[1], circles * found[2]


def fitted_law(
    nodes: np.ndarray, weight: np.ndarray, circles: int, triangles: float, clustering: float | None
) -> Law:
    """Fit the law to triangles, and to clustering if given.

    It brings so many, and that weight, as near as can be.
    """
    degrees = np.arange(len(nodes))

    # At a given slope the scale decides the triangles, which grow with it.
    def scale(slope: float) -> float:
        def miss(log: float) -> float:
            return brought(law_of(degrees, log, slope), nodes, weight, circles)[0] - triangles

        return _root(miss, *LOG_SCALES)

    # Of these laws, all with the right triangles, steeper ones have them at nodes of few edges, whose corners
    # weigh more: it rises, so that a root is the only one.
    def miss(slope: float) -> float:
        law = law_of(degrees, scale(slope), slope)
        return brought(law, nodes, weight, circles)[1] - float(clustering or 0)

    slope = USUAL_SLOPE if clustering is None else _root(miss, *SLOPES)
    return law_of(degrees, scale(slope), slope)


_brentq = late("scipy.optimize:brentq")


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is 0; the nearer end where it is nowhere."""
    if function(low) >= 0:
        return low
    # Out of reach: the nearer end leaves as little as can be.
    if function(high) <= 0:
        return high
    return float(_brentq(function, low, high, xtol=PRECISION))

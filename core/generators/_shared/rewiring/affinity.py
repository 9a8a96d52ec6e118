"""Most triangles of a large graph at once: groups of nodes of like degree and one circle, densely linked.

The affinity blocks of BTER (Seshadhri, Kolda and Pinar, "Community structure and scale-free collections of
Erdős-Rényi graphs", Physical Review E 85, 2012), put into a graph that has its degrees and block totals
already: two edges are given up for one in a group, as :mod:`core.generators._shared.rewiring.triangles` moves
them. Which share of its edges a node of degree d has in its group follows from a law of clustering
coefficients, A d^-b: A brings the triangles and b the damped sum of clustering. Both grow with the groups by
formula; what the graph has beside is estimated from random paths of length two, between rounds of groups.

Its time is linear in edges. All of it reads noisy values only, so it is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.generators._shared.rewiring import groups as kernels
from core.generators._shared.rewiring.rows import Arrays, Rows
from core.privacy.entropy import Generator as Rng

# Chosen on generated graphs of 2M and 20M edges (`benchmarks.graphs`) and on cit-HepPh and mathoverflow.
DENSITY = 0.9  # of a group
MOST_INSIDE = 0.6  # of a node's edges, in its group
FEWEST_INSIDE = 5.0  # edges in a group: where a node's coefficient asks for fewer, it is in one by chance
USUAL_SLOPE = 0.5  # the b of the law where clustering is not told
SLOPES = -1.0, 3.0
LOG_SCALES = -20.0, 20.0
PRECISION = 0.002  # of the law's parameters
SHARES = 0.4, 0.3, 0.2, 0.1  # of the nodes, which are grouped in a round: the last mends what the others left
ERRORS = 0.02, 0.02, 0.01, 0.01  # of an estimate, as a share of the aim, after each round
CHUNK, MOST_PATHS = 20_000, 4_000_000  # random paths that an estimate rests on
MET = 0.03  # of an aim: nearer is not sought
UNIFORM = 2.0  # never below what a node's share is: such a node has no turn

Groups = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Members, where each group begins, and the probability of its pairs, see ``groups.divided``."""
Law = tuple[np.ndarray, np.ndarray]
"""By degree: edges in a group, and the chance of being in one."""


@dataclass(frozen=True)
class Standing:
    """Triangles, and what their corners weigh."""

    triangles: float
    clustering: float

    def towards(self, aim: Standing, part: float) -> Standing:
        """That part of what is missing to the aim; none where there is too much."""
        return Standing(
            max(part * (aim.triangles - self.triangles), 0.0),
            max(part * (aim.clustering - self.clustering), 0.0),
        )

    def near(self, aim: Standing, told: bool) -> bool:
        """Whether both are within what the estimate is sure of, the second where it is aimed at."""
        of_triangles = abs(self.triangles - aim.triangles) <= MET * aim.triangles
        return of_triangles and (not told or abs(self.clustering - aim.clustering) <= MET * aim.clustering)


class Grouping:
    """Puts groups into ``rows`` that were made with ``falling``; ``weight`` (n,): of a triangle's corners.

    ``rows.closed`` says from here on which entries are of edges in groups.
    """

    def __init__(self, rows: Rows, weight: np.ndarray, rng: Rng) -> None:
        self._rows, self._weight, self._rng = rows, weight, rng
        rows.closed = np.zeros(len(rows.others), dtype=np.uint8)
        degree = np.diff(rows.start).astype(np.float64)
        self._paths = np.cumsum(degree * (degree - 1) / 2)
        self._degrees = np.arange(int(degree.max(initial=0)) + 1)
        self._chance = rng.random(len(degree))
        self._turn = np.searchsorted(np.cumsum(SHARES)[:-1], rng.random(len(degree)), side="right")

    def standing(self, aim: float, error: float) -> Standing:
        """Estimate what the graph has, from random paths: triangles within about ``error`` of ``aim``."""
        arrays, nodes = self._rows.arrays(), len(self._weight)
        share = 3 * max(aim, 1.0) / max(self._paths[-1], 1.0)
        met, total, paths = 0, 0.0, 0
        while not paths or (paths < MOST_PATHS and met > (error * share * paths) ** 2):
            paths += CHUNK
            met += kernels.closed_wedges(arrays, self._paths, CHUNK, self._rng)
            total += kernels.closed_weight(arrays, self._weight, CHUNK // 4, self._rng) * CHUNK
        return Standing(met / paths * float(self._paths[-1]) / 3, total / paths * nodes)

    def usual(self, triangles: float) -> float:
        """What the corners of so many triangles would weigh, put into groups by the usual law."""
        law = self._law(triangles, None, self._chance)
        return self._expected(self._divided(law, self._chance)).clustering

    def add(self, number: int, now: Standing, aim: Standing, told: bool, most: int) -> int:
        """Groups the nodes whose turn it is, towards ``aim``; the edges put in, ``most`` at most.

        ``told``: whether clustering is aimed at too.
        """
        need = now.towards(aim, SHARES[number] / sum(SHARES[number:]))
        if need.triangles < 1:
            return 0
        chance = np.where(self._turn == number, self._chance, UNIFORM)
        law = self._law(need.triangles, need.clustering if told else None, chance)
        return int(kernels.filled(self._rows.arrays(), self._divided(law, chance), most, self._rng))

    def _law(self, triangles: float, clustering: float | None, chance: np.ndarray) -> Law:
        """The law whose groups have so many triangles, and that weight if one is given, as near as can be."""

        def scale(slope: float) -> float:
            def miss(logarithm: float) -> float:
                law = law_of(self._degrees, logarithm, slope)
                return self._expected(self._divided(law, chance)).triangles - triangles

            return _root(miss, *LOG_SCALES)

        def miss(slope: float) -> float:
            law = law_of(self._degrees, scale(slope), slope)
            return self._expected(self._divided(law, chance)).clustering - float(clustering or 0)

        slope = USUAL_SLOPE if clustering is None else _root(miss, *SLOPES)
        return law_of(self._degrees, scale(slope), slope)

    def _divided(self, law: Law, chance: np.ndarray) -> Groups:
        begin = self._rows.begin
        stretches = np.stack([begin[:-1], begin[1:]], axis=1)
        found: Groups = kernels.divided(self._rows.start, stretches, *law, chance, DENSITY)
        return found

    def _expected(self, groups: Groups) -> Standing:
        return Standing(*kernels.expected(groups, self._weight))


def law_of(degrees: np.ndarray, log_scale: float, slope: float) -> Law:
    """By degree: edges in a group, and the chance of being in one, for coefficients e^``log_scale`` d^-slope.

    A node with k of its d edges in a group of density r closes r k (k - r) / 2 of its C(d, 2) paths.
    """
    degree = np.maximum(degrees, 2).astype(np.float64)
    wanted = np.minimum(np.exp(log_scale - slope * np.log(degree)), DENSITY * MOST_INSIDE**2)
    least = np.clip(MOST_INSIDE * degree, 2, FEWEST_INSIDE)
    inside = np.maximum(degree * np.sqrt(wanted / DENSITY), least)
    grouped = DENSITY * inside * (inside - DENSITY) / (degree * (degree - 1))
    share = np.where(degrees >= 2, wanted / np.maximum(grouped, wanted), 0)
    return inside, share


def within_circles(rows: Rows) -> Arrays:
    """What compiled code takes, for swaps that leave every end in its circle."""
    start, others, back, owner, _, _, *rest = rows.arrays()
    return start, others, back, owner, start[rows.begin], rows.circles, *rest


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is 0; the nearer end where it is nowhere."""
    from scipy.optimize import brentq

    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    return float(brentq(function, low, high, xtol=PRECISION))

"""Triangles of a large graph, added by dense groups.

These give most of them at once: nodes of like degree and one circle, densely linked. The affinity blocks of
BTER (Seshadhri, Kolda and Pinar, "Community structure and scale-free collections of Erdős-Rényi graphs",
Physical Review E 85, 2012), put into a graph that has its degrees and block totals already: two edges are
given up for one in a group, as :mod:`core.methods._shared.rewiring.triangles` moves them. Which share of its
edges a node of degree d has in its group follows from a law of clustering coefficients, A d^-b: A brings the
triangles and b the damped sum of clustering. Both grow with the groups by formula; what the graph has in
addition is estimated from random paths of length two, between rounds of groups.

Groups by themselves leave a graph with fewer communities than moves do, which link nodes of a circle one by
one. So edges are gathered into circles first, in proportion to those that groups will have.

Its time is linear in edges. All of it reads noisy values only, so it is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.methods._shared.rewiring import groups as kernels
from core.methods._shared.rewiring import paths
from core.methods._shared.rewiring.laws import DENSITY, Law, brought, fitted_law
from core.methods._shared.rewiring.rows import Arrays, Products, Rows
from core.privacy.entropy import Generator as Rng

# Chosen on generated graphs of 2M and 20M edges (`benchmarks.graphs`) and on cit-HepPh and mathoverflow.
SHARES = 0.35, 0.25, 0.2, 0.12, 0.08  # of the nodes, grouped in a round: the last mend what others left
ERRORS = 0.02, 0.02, 0.02, 0.01, 0.01  # of an estimate, as a share of the aim, after each round
CHUNK, MOST_PATHS = 20_000, 4_000_000  # random paths that an estimate rests on
MET = 0.03  # of an aim: nearer is not sought
UNIFORM = 2.0  # never below what a node's share is: such a node has no turn
BROUGHT = 0.75, 1.25  # of what was asked of the rounds so far: the next is asked for as much more or less
GATHERED = 1.0  # edges that circles gain beforehand, for each edge in a group; chosen on the 2M graph alone
CHANCES = 8  # tries for each such edge

Groups = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Members, where each group begins, and the probability of its pairs, see ``groups.divided``."""


@dataclass(frozen=True)
class Standing:
    """Triangles, and what their corners weigh."""

    triangles: float
    clustering: float

    def towards(self, aim: Standing, part: float) -> Standing:
        """Return that part of what is missing to the aim. None where there is too much."""
        return Standing(
            max(part * (aim.triangles - self.triangles), 0.0),
            max(part * (aim.clustering - self.clustering), 0.0),
        )

    def brought(self, asked: Standing, before: Standing) -> Standing:
        """Return the achieved part of what was requested.

        It is of ``asked`` since ``before``, within BROUGHT; 1 of nothing.
        """
        return Standing(
            _part(self.triangles - before.triangles, asked.triangles),
            _part(self.clustering - before.clustering, asked.clustering),
        )

    def plus(self, other: Standing) -> Standing:
        """The sums of both."""
        return Standing(self.triangles + other.triangles, self.clustering + other.clustering)

    def over(self, parts: Standing) -> Standing:
        """As much that those ``parts`` of it are this."""
        return Standing(self.triangles / parts.triangles, self.clustering / parts.clustering)

    def near(self, aim: Standing, told: bool) -> bool:
        """Tell whether both are within the estimate's error. The second counts where it is aimed at."""
        of_triangles = abs(self.triangles - aim.triangles) <= MET * aim.triangles
        return of_triangles and (not told or abs(self.clustering - aim.clustering) <= MET * aim.clustering)


class Grouping:
    """Groups put into ``rows`` that were made with ``falling``.

    ``weight`` (n,): of a triangle's corners, the same for nodes of one degree. ``rows.closed`` says from here
    on which entries are of edges in groups.
    """

    def __init__(self, rows: Rows, weight: np.ndarray, rng: Rng) -> None:
        self._rows, self._weight, self._rng = rows, weight, rng
        # Until ``rows.count`` ``closed`` is a flag: moves of this module do not keep numbers of triangles
        # true.
        rows.closed = np.zeros(len(rows.others), dtype=np.uint8)
        self._degree, self._circles = np.diff(rows.start), len(rows.begin) - 1
        self._by_degree = np.zeros(int(self._degree.max(initial=0)) + 1)
        self._by_degree[self._degree] = weight
        # A node of degree d is in the middle of C(d, 2) paths; each that is closed is a corner of a triangle.
        self._weighed = np.cumsum(weight * (self._degree * (self._degree - 1) / 2))
        # Sampled once for all rounds: a node is grouped in one round at most, whatever later laws ask for.
        self._chance = rng.random(len(weight))
        self._turn = np.searchsorted(np.cumsum(SHARES)[:-1], rng.random(len(weight)), side="right")

    def standing(self, aim: Standing, error: float) -> Standing:
        """Estimate the graph's triangles from random paths.

        It is within about ``error`` of each ``aim``, above 0.
        """
        arrays = self._rows.arrays()
        # A triangle has one corner that both others are ahead of: it is counted there, and only there.
        ahead = paths.ahead_of(arrays).astype(np.float64)
        pairs = np.cumsum(ahead * (ahead - 1) / 2)
        return Standing(
            self._estimated(paths.closed_ahead, pairs, aim.triangles, error),
            self._estimated(paths.closed_around, self._weighed, aim.clustering, error),
        )

    def _estimated(self, closed: Callable[..., int], until: np.ndarray, aim: float, error: float) -> float:
        """The part of ``until``'s whole that is ``closed``."""
        if aim <= 0 or not until[-1]:
            return 0.0
        arrays, share, met, looks = self._rows.arrays(), aim / until[-1], 0, 0
        # ``met`` deviates by about its root: more paths are needed while that is above the error of the aim.
        while not looks or (looks < MOST_PATHS and met > (error * share * looks) ** 2):
            looks += CHUNK
            met += closed(arrays, until, CHUNK, self._rng)
        return met / looks * float(until[-1])

    def usual(self, triangles: float) -> tuple[float, float]:
        """Compute corners' weight and edges of usual groups.

        They are what the corners of so many triangles would weigh, put into groups by the usual law, and how
        many edges these groups would have.
        """
        nodes = np.bincount(self._degree)
        given = nodes, self._by_degree, self._circles
        _, clustering, edges = brought(fitted_law(*given, triangles, None), *given)
        return clustering, edges

    def gather(self, edges: float, products: Products, most: int) -> tuple[int, int]:
        """Gather edges into circles; return product sum and moves.

        Circles gain GATHERED times so many ``edges``; ``most`` moves are made at most.
        """
        wanted = int(GATHERED * edges)
        tries = min(most, CHANCES * wanted)
        return kernels.gathered(self._rows.arrays(), products, wanted, tries, self._rng)

    def add(self, number: int, need: Standing, told: bool, products: Products, most: int) -> tuple[int, int]:
        """Group the next nodes to bring what is needed.

        They are those whose turn it is; returned are the product sum, and the edges put in, ``most`` at most.
        ``told``: whether clustering is aimed at too.
        """
        if need.triangles < 1:
            return products[0], 0
        # Nodes of other rounds are above any share, so that no law puts them into a group.
        chance = np.where(self._turn == number, self._chance, UNIFORM)
        found = self._divided(self._law(need, told, chance), chance)
        made, product = kernels.filled(self._rows.arrays(), found, products, most, self._rng)
        return product, made

    def _law(self, need: Standing, told: bool, chance: np.ndarray) -> Law:
        """The law whose groups have what is needed, as near as can be."""
        nodes = np.bincount(self._degree[chance < UNIFORM], minlength=len(self._by_degree))
        return fitted_law(
            nodes, self._by_degree, self._circles, need.triangles, need.clustering if told else None
        )

    def _divided(self, law: Law, chance: np.ndarray) -> Groups:
        begin = self._rows.begin
        stretches = np.stack([begin[:-1], begin[1:]], axis=1)
        found: Groups = kernels.divided(self._rows.start, stretches, *law, chance, DENSITY)
        return found


def within_circles(rows: Rows) -> Arrays:
    """Return what compiled swaps within circles take. They leave every end in its circle."""
    # Circles stand in for labels here: one circle is of one label, so that block totals stay as well.
    start, others, back, _, _, *rest = rows.arrays()
    return start, others, back, start[rows.begin], rows.circles, *rest


def _part(came: float, asked: float) -> float:
    # An estimate is noisy, and a graph may be unable to hold more: requests react within bounds.
    return float(np.clip(came / asked, *BROUGHT)) if asked else 1.0

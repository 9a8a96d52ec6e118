"""The damped sum of clustering coefficients, and its aim.

It is paid for; the aim is a sampled graph's. A sparse graph's ladder says next to nothing of it, so what was
measured is weighed against what a graph has that was rewired only to its triangles; how far the noise reaches
is judged from that graph too, as the private graph's own rungs are never put out. But for
:func:`told_clustering`, all of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.methods._shared.rewiring.rows import Rows
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms.clustering import damping_of
from core.privacy.session.private_graph import PrivateCell

FINE, COARSE = 8, 16  # dampings; the finer one where nodes times epsilon exceeds ENOUGH
ENOUGH = 600
CLOSED, OPENED = 0.3, 0.8  # what adding or losing triangles alone gets wrong: the sum's logarithm's deviation
TELLING = 0.5  # of the sum, as noise at most, for it to lead from the start
FARTHEST, STEPS = 4.0, 321  # deviations within which the sum is sought, and places that are looked at


@dataclass(frozen=True)
class ToldClustering:
    """A noisy damped sum of clustering, and its cost.

    The sum is over nodes of triangles over C(max(degree, ``damping``), 2).
    """

    total: float
    damping: int
    nano_epsilon: int

    def column(self) -> np.ndarray:
        """float64 (3,), for a model's file."""
        return np.array([self.total, self.damping, self.nano_epsilon], dtype=np.float64)

    @classmethod
    def of(cls, column: Sequence[float] | np.ndarray) -> ToldClustering | None:
        """What :meth:`column` wrote; None of an empty one."""
        return cls(float(column[0]), int(column[1]), int(column[2])) if len(column) else None

    def weights(self, degrees: np.ndarray) -> np.ndarray:
        """What a triangle at each node counts; float64 (n,)."""
        damped = np.maximum(degrees, self.damping).astype(np.float64)
        return np.asarray(2 / (damped * (damped - 1)))

    def aim(self, own: float, spread: float, variance: float, nodes: int) -> float:
        """Compute the clustering to aim at.

        Given are the measured sum, the ``variance`` of its noise and ``own``, a sampled graph's.

        ``spread``: the deviation of its logarithm, CLOSED or OPENED as the graph came to its triangles.
        The median of what it may be: as likely as its logarithm's distance from ``own``'s lets a normal law
        expect, and as the ladder's noise of both signs is. No noise leads to 0 or below so.
        """
        # Laplace noise of that variance has the scale sqrt(variance / 2); this is one over it.
        rate = math.sqrt(2 / variance)
        steps = np.linspace(-FARTHEST, FARTHEST, STEPS)
        sums = max(own, 1.0) * np.exp(spread * steps)
        # Normal in the logarithm, Laplace in the sum; constant factors cancel in the median.
        log = -(steps**2) / 2 - rate * np.abs(sums - self.total)
        # Relative to the likeliest place, so that not all of them underflow to 0.
        likely = np.cumsum(np.exp(log - log.max()))
        # A node's coefficient is 1 at most, so their sum is no more than the nodes.
        return float(min(sums[np.searchsorted(likely, likely[-1] / 2)], nodes))

    def tells(self, variance: float) -> bool:
        """Tell whether the measured sum is precise enough to follow."""
        return variance < (TELLING * max(self.total, 0)) ** 2

    def variance_of(self, rows: Rows) -> float:
        """Bound the noise's variance.

        It is the square of sqrt(2) rungs of 2 / epsilon, as wide as this graph's first one.
        """
        damping = damping_of(len(rows.labels), self.damping)
        return self._variance(rows.first_rung(damping) / damping.unit)

    def variance_at_hubs(self, rows: Rows) -> float:
        """Bound the variance from paths around a few nodes.

        Mostly it is the same, for graphs of many edges, where nearly all paths lie around these.
        """
        damping = damping_of(len(rows.labels), self.damping)
        return self._variance(rows.first_rung_at_hubs(damping) / damping.unit)

    def _variance(self, rung: float) -> float:
        return 2 * (2 * NANO / self.nano_epsilon * rung) ** 2


def damping_for(nodes: int, nano_epsilon: int) -> int:
    """Choose the damping by a public rule."""
    return FINE if nodes * nano_epsilon / NANO > ENOUGH else COARSE


def told_clustering(cell: PrivateCell, nodes: int, nano_epsilon: int) -> ToldClustering:
    """Measure the damped sum by the ladder mechanism.

    A public rule gives the damping.

    Sensitivity, proof: :func:`core.privacy.mechanisms.clustering.clustering_ladder`. Unit: one undirected
    edge.
    """
    damping = damping_for(nodes, nano_epsilon)
    total = cell.clustering_sum(damping=damping, nano_epsilon=nano_epsilon, purpose="clustering")
    return ToldClustering(total, damping, nano_epsilon)

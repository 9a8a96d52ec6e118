"""Pooled estimates of a collection's graphs.

They are mean degrees, and shapes of degree laws. A small graph's own noisy values say little; those of all
graphs together say how such graphs are. Both steps are empirical Bayes: a law over the graphs is estimated
first, then each graph's value given its own noisy one. Reads noisy values only, of disjoint relations: all of
it is post-processing. Where noise is small compared with what the graphs differ by, nothing moves. Source:
Robbins, "An empirical Bayes approach to statistics", 1956; Morris, JASA 78 (1983).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.methods._shared.degrees.fitted import shape_fits
from core.methods._shared.triangles.draw import Paid
from core.privacy.accounting.events import NANO

FEWEST_GRAPHS = 8
"""With fewer, the law over the graphs would itself be a guess."""
ROUNDS = 50
LEAST_SPREAD = 1e-4  # variance of the graphs' mean degrees over two


@dataclass(frozen=True)
class NoisyGraph:
    """The noisy measurements of one graph.

    Its number of edges and its degrees (n,), and the scales of noise.
    """

    edges: int
    degrees: np.ndarray
    edges_scale: float
    degrees_scale: float

    @classmethod
    def of(cls, paid: Paid) -> NoisyGraph:
        """Take what one relation's price bought."""
        scales = NANO / paid.budget["count"], 2 * NANO / paid.budget["degree"]
        return cls(paid.edges, paid.degrees, *scales)

    @property
    def nodes(self) -> int:
        return len(self.degrees)


@dataclass(frozen=True)
class Hint:
    """A pooled estimate of one graph. Its number of edges, and weights (shapes,) of degree laws."""

    edges: int
    shapes: np.ndarray | None


def hints(graphs: Sequence[NoisyGraph]) -> list[Hint]:
    """Make a pooled estimate for each graph.

    Where there are too few graphs to pool it is the graph's own number of edges, without weights.
    """
    usable = [graph for graph in graphs if graph.nodes > 1]
    if len(usable) < FEWEST_GRAPHS:
        return [Hint(graph.edges, None) for graph in graphs]
    counts = iter(pooled_counts(usable))
    edges = [int(next(counts)) if graph.nodes > 1 else graph.edges for graph in graphs]
    means = [2 * count / max(graph.nodes, 1) for graph, count in zip(graphs, edges, strict=True)]
    fits = [
        shape_fits(graph.degrees, graph.degrees_scale, mean)
        for graph, mean in zip(graphs, means, strict=True)
        if graph.nodes > 1
    ]
    weights = mixture(np.array(fits))
    return [Hint(count, weights) for count in edges]


def pooled_counts(graphs: Sequence[NoisyGraph]) -> np.ndarray:
    """Estimate a number of edges for each graph.

    The result is int64 (graphs,), in 1..n(n-1)/2. The noisy count and half the sum of the noisy degrees by
    their variances; then the edges a node shrunk towards the graphs' mean, by the noise relative to the
    spread that the graphs show beyond it.
    """
    nodes = np.array([graph.nodes for graph in graphs], dtype=np.float64)
    estimates = np.array([(graph.edges, graph.degrees.sum() / 2) for graph in graphs], dtype=np.float64)
    # A discrete Laplace draw of scale s has a variance of about 2 s^2.
    noise = np.array([(2 * g.edges_scale**2, g.nodes * g.degrees_scale**2 / 2) for g in graphs])
    variance = 1 / (1 / noise).sum(axis=1)
    rate, noise_of_rate = (estimates / noise).sum(axis=1) * variance / nodes, variance / nodes**2
    spread = float(rate.var())
    centre = float(rate.mean())
    for _ in range(ROUNDS):
        weight = 1 / (max(spread, LEAST_SPREAD) + noise_of_rate)
        centre = float((weight * rate).sum() / weight.sum())
        beyond = weight**2 * ((rate - centre) ** 2 - noise_of_rate)
        spread = float(beyond.sum() / (weight**2).sum())
    spread = max(spread, LEAST_SPREAD)
    drawn = (spread * rate + noise_of_rate * centre) / (spread + noise_of_rate)
    most = nodes * (nodes - 1) / 2
    edges: np.ndarray = np.clip(np.rint(drawn * nodes), 1, most).astype(np.int64)
    return edges


def mixture(fits: np.ndarray) -> np.ndarray:
    """Fit mixture weights (shapes,) of largest likelihood, summing to 1.

    The log likelihoods are ``fits`` (graphs, shapes). Expectation-maximisation; one graph more is supposed
    that has all shapes alike.
    """
    graphs, shapes = fits.shape
    likelihood = np.exp(fits - fits.max(axis=1, keepdims=True))
    weights = np.full(shapes, 1 / shapes)
    for _ in range(ROUNDS):
        share = weights * likelihood
        share /= share.sum(axis=1, keepdims=True)
        weights = (share.sum(axis=0) + 1 / shapes) / (graphs + 1)
    return weights

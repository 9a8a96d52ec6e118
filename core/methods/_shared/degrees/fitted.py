"""Degrees fitted to noisy degrees.

Their law by deconvolution, its quantiles, and which node gets which. Noisy degrees spread: the smallest are
too small, the largest too large. The degrees' common law is estimated first, by expectation-maximisation for
"noisy = degree + discrete Laplace noise" from a parametric start, then its quantiles are given to the nodes
in the order of their posterior means. Reads noisy values only: all of it is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from core.methods._shared.degrees.posterior import means
from core.privacy.entropy import Generator as Rng
from core.privacy.mechanisms.threads import cut, on_threads

SINGLES = 100  # degrees that have a grid point of their own; beyond, points are spaced by ratio
SPACED = 150
ROUNDS = 10
PRIOR = 100  # nodes that the reference counts for where noise and degrees spread alike
SHAPES = (0.3, 0.5, 1.0, 2.0, 4.0, 10.0, 50.0)
SMALLEST_MEAN = 0.05
SMALLEST_MASS = 1e-12
MAX_VALUES = 4096  # distinct noisy degrees that the deconvolution tells apart; beyond, neighbours are merged
FLOOR = 1e-300
LEAST_MEANS = 2**14  # posterior means in a piece of the work


@dataclass(frozen=True)
class DegreeLaw:
    """The distribution of the nodes' degrees.

    ``mass`` (g,), summing to 1, at ascending integers ``grid`` (g,).
    """

    grid: np.ndarray
    mass: np.ndarray

    def quantiles(self, nodes: int) -> np.ndarray:
        """Compute ``nodes`` ascending degrees, the law's quantiles.

        They are at (i + 1/2) / nodes; float64, whole numbers.
        """
        edges = np.concatenate([[0], np.cumsum(self.mass)]) / self.mass.sum()
        at = (np.arange(nodes) + 0.5) / max(nodes, 1)
        place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(self.grid) - 1)
        low, high = stretches(self.grid)
        # A point stands for its stretch: ranks inside it are spread over it evenly, else sparse points would
        # repeat.
        part = (at - edges[place]) / np.maximum(self.mass[place] / self.mass.sum(), FLOOR)
        rounded: np.ndarray = np.clip(
            np.rint(low[place] + part * (high - low)[place]), self.grid[0], self.grid[-1]
        )
        return rounded

    def density(self, degrees: np.ndarray) -> np.ndarray:
        """Compute the share of nodes by degree, per unit length.

        It is that in a stretch of length one around each of ``degrees``; float64.
        """
        low, high = stretches(self.grid)
        place = np.clip(np.searchsorted(high, degrees), 0, len(self.grid) - 1)
        return np.asarray(self.mass[place] / (high - low)[place])


@dataclass(frozen=True)
class Evidence:
    """A second noisy look at every node's edges.

    The first is its noisy degree.

    ``seen`` (n,): a noisy number of those of its edges that were read; ``share`` (n,) in 0..1: the part of
    them that was read on average; ``variance``: of the noise in ``seen``; ``spread``: relative standard
    deviation of the unread part, which keeps hubs from being judged by what nodes of their rank have.
    """

    seen: np.ndarray
    share: np.ndarray
    variance: float
    spread: float = 0.6


def fitted_degrees(
    noisy: np.ndarray,
    nano_epsilon: int,
    rng: Rng,
    evidence: Evidence | None = None,
    mean: float | None = None,
    shapes: np.ndarray | None = None,
    law: DegreeLaw | None = None,
) -> np.ndarray:
    """Estimate a degree for every node, whole, in 0..n-1.

    The result is float64 (n,); ties of rank fall at random.

    ``noisy``: the query ``degrees`` (L1 sensitivity 2) at ``nano_epsilon``; ``mean``, ``shapes``: see
    :func:`degree_law`; ``law``: the degrees' law, where more was measured of it than ``noisy`` does: nodes
    that stand by themselves under it, as hubs do, then keep what their own numbers say. With next to no noise
    degrees come back as they are. O(n log n + n * grid), memory O(n).
    """
    scale, nodes = 2e9 / nano_epsilon, len(noisy)
    if not nodes:
        return np.empty(0)
    given, law = law, law or degree_law(noisy, scale, mean, shapes)
    means = posterior_means(noisy, scale, law, evidence)
    order = np.lexsort((rng.random(nodes), means))
    degrees = np.empty(nodes)
    degrees[order] = law.quantiles(nodes)
    if given is not None:
        # Where nodes stand farther apart than the noise reaches, as hubs do, each is known by its own number.
        alone = 1 / (1 + (nodes * law.density(means) * scale) ** 2)
        degrees += alone * (means - degrees)
    # Noise goes farther than this with probability e^-3 for any of the nodes together.
    reach = scale * (math.log(nodes) + 3)
    return np.clip(np.rint(np.clip(degrees, noisy - reach, noisy + reach)), 0, nodes - 1)


def degree_law(
    noisy: np.ndarray, scale: float, mean: float | None = None, shapes: np.ndarray | None = None
) -> DegreeLaw:
    """Estimate the law of degrees from ``noisy`` ones.

    Their noise is discrete Laplace of ``scale``.

    ``mean``: a better guess of the mean degree than the noisy degrees give, if one was paid for; ``shapes``
    (laws,): how likely :func:`reference`'s laws are to begin with, if other graphs tell. Starts from
    :func:`reference`, to which it stays close where the noise is wide compared with the degrees' own spread
    (as if so many nodes more had been seen that follow it), and leaves it by a few rounds of
    expectation-maximisation, each smoothed relative to it: deconvolution by itself gathers the mass in
    spikes. The grid ends at the largest noisy degree, which is paid for; nothing is cut at a true one.
    O(rounds * distinct noisy values * grid). After Silverman, Jones, Wilson, Nychka, "A smoothed EM
    approach", JRSS B 52 (1990).
    """
    grid, kernel, counts = _kernel(noisy, scale)
    mean = max(float(noisy.mean()) if mean is None else mean, SMALLEST_MEAN)
    start = reference(grid, kernel, counts, mean, shapes)
    # Laplace noise of that scale has the variance 2 scale^2; the rest is the degrees' own, a Poisson law's at
    # least.
    spread = max(float(noisy.var()) - 2 * scale**2, mean)
    weight, blur = PRIOR * scale**2 / spread, 0.5 * min(1.0, (scale / 2) ** 4)
    mass = start
    for _ in range(ROUNDS):
        # The reference counts as nodes that were seen too, which keeps few nodes from deciding the law.
        mass = mass * ((counts / np.maximum(kernel @ mass, FLOOR)) @ kernel) + weight * start
        # What is smoothed is the ratio to the reference: the mass itself falls by orders of magnitude between
        # points.
        ratio = np.pad(mass / start, 1, mode="edge")
        mass = start * ((1 - blur) * ratio[1:-1] + blur / 2 * (ratio[:-2] + ratio[2:]))
        mass /= mass.sum()
    return DegreeLaw(grid, mass)


def shape_fits(noisy: np.ndarray, scale: float, mean: float) -> np.ndarray:
    """Compute the log likelihood of ``noisy`` under each reference law.

    The laws are :func:`reference`'s; (laws,).
    """
    grid, kernel, counts = _kernel(noisy, scale)
    return _fits(_laws(grid, max(mean, SMALLEST_MEAN)), kernel, counts)


def _kernel(noisy: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The grid, the likelihood of each distinct noisy value at its points, and how often it was seen."""
    grid = grid_of(noisy)
    values, counts = histogram(noisy)
    # Likelihoods relative to the nearest grid point, so that none vanishes altogether.
    far = np.abs(values[:, None] - grid[None, :])
    return grid, np.exp((far.min(axis=1, keepdims=True) - far) / scale), counts


def reference(
    grid: np.ndarray,
    kernel: np.ndarray,
    counts: np.ndarray,
    mean: float,
    shapes: np.ndarray | None = None,
) -> np.ndarray:
    """Average negative binomial laws of that ``mean``, by likelihood.

    They are laws over ``grid``; (g,), sum 1. They differ in their shape, from very unequal degrees to a
    Poisson law's, and in whether every node has an edge. ``kernel`` (v, g): the likelihood of each noisy
    value, ``counts`` (v,) how often it was seen; ``shapes``: weights of the laws, alike unless given.
    """
    laws = _laws(grid, mean)
    fit = _fits(laws, kernel, counts)
    weights = np.exp(fit - fit.max()) * (1.0 if shapes is None else shapes)
    mixture = weights @ laws
    return np.asarray(mixture / mixture.sum())


def _fits(laws: np.ndarray, kernel: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.asarray((np.log(np.maximum(kernel @ laws.T, FLOOR)) * counts[:, None]).sum(axis=0))


def _laws(grid: np.ndarray, mean: float) -> np.ndarray:
    """(laws, g)."""
    last = np.floor(stretches(grid)[1])
    laws = []
    for least in (0, 1):
        for shape in SHAPES:
            above = max(mean - least, SMALLEST_MEAN)
            below = np.where(last >= least, betainc(shape, last - least + 1, shape / (shape + above)), 0.0)
            below[-1] = 1
            laws.append(np.diff(below, prepend=0))
    masses: np.ndarray = np.maximum(np.array(laws), SMALLEST_MASS)
    return masses


def posterior_means(
    noisy: np.ndarray, scale: float, law: DegreeLaw, evidence: Evidence | None = None
) -> np.ndarray:
    """Compute posterior mean degrees given noisy degrees and ``evidence``.

    They are under ``law``; float64 (n,). O(n * grid) with evidence, O(distinct noisy degrees * grid) without;
    memory O(n).
    """
    prior = np.log(np.maximum(law.mass, FLOOR))
    grid = law.grid.astype(np.float64)
    if evidence is None:
        values, place = np.unique(noisy, return_inverse=True)
        nothing = np.zeros(len(values))
        return means(values.astype(np.float64), scale, grid, prior, nothing, nothing, math.inf, 0.0)[place]
    seen, share = (np.asarray(look, dtype=np.float64) for look in (evidence.seen, evidence.share))
    floats, posterior = noisy.astype(np.float64), np.empty(len(noisy))
    order = np.argsort(share, kind="stable")  # what rests on the share alone is computed once for each

    def part(low: int, high: int) -> np.ndarray:
        own = order[low:high]
        look = floats[own], scale, grid, prior, seen[own], share[own]
        return np.asarray(means(*look, float(evidence.variance), evidence.spread))

    posterior[order] = np.concatenate(on_threads(part, cut(len(order), LEAST_MEANS)))
    return posterior


def scaled_to(degrees: np.ndarray, total: int, most: int | None = None) -> np.ndarray:
    """Scale ``degrees`` by one factor to sum to ``total``.

    They are cut to 0..``most`` (n - 1 unless given), and have the sum where they can; float64. Keeps zeros
    and the shape of the law, where a shift would not. Where all of them are zero, every node gets the same.
    O(n log n).
    """
    ceiling = max(len(degrees) - 1, 0) if most is None else most
    total = min(total, ceiling * len(degrees))
    if total and not degrees.any():
        degrees = np.ones(len(degrees))
    low, high = 0.0, 1.0
    # The sum grows with the factor, so an upper end is found by doubling and the factor by bisection.
    while np.minimum(degrees * high, ceiling).sum() < total and high < 2**60:
        low, high = high, high * 2
    for _ in range(64):
        middle = (low + high) / 2
        if np.minimum(degrees * middle, ceiling).sum() < total:
            low = middle
        else:
            high = middle
    return np.minimum(degrees * high, ceiling)


def grid_of(noisy: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... and then by ratio up to the largest noisy degree; int64."""
    last = max(min(int(noisy.max(initial=0)), len(noisy) - 1), 0)
    spaced = np.geomspace(SINGLES, max(last, SINGLES), SPACED)
    points = np.concatenate([np.arange(min(last + 1, SINGLES)), np.rint(spaced), [last]]).astype(np.int64)
    return np.unique(points[points <= last])


def stretches(grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the stretch of every grid point begins and ends. That is half way to its neighbours."""
    middle = (grid[1:] + grid[:-1]) / 2
    return np.concatenate([[grid[0] - 0.5], middle]), np.concatenate([middle, [grid[-1] + 0.5]])


def histogram(noisy: np.ndarray, most: int = MAX_VALUES) -> tuple[np.ndarray, np.ndarray]:
    """Count the nodes of each distinct noisy degree. Neighbours are merged beyond ``most`` of them."""
    values, counts = np.unique(noisy, return_counts=True)
    if len(values) <= most:
        return values.astype(np.float64), counts.astype(np.float64)
    # Neighbours are merged by rank: a merged group's values lie close where there are many.
    group = np.arange(len(values)) * most // len(values)
    weight = np.bincount(group, weights=counts)
    return np.bincount(group, weights=counts * values) / weight, weight

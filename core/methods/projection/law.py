"""The law of degrees from measurements of projected graphs.

The projection is undone. A projection at theta takes more from nodes of many edges, and something from their
neighbours. On a graph whose edges join ends at random that loss can be computed: an edge has its other end
open with a probability that sinks as edges are taken, and a node of degree d keeps min(theta, X) of its
edges, where X is binomial of d and the share of ends that were open on average. So noisy tail counts at a
small theta, where noise is small, tell of true degrees; noisy numbers of edges at larger ones tell of the
tail. The law is the mode of a posterior: normal errors of all noisy numbers, and a prior under which the
density is smooth in the logarithm of the degree, so that beyond what is measured it goes on as a power law.
Reads noisy values only: all of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from core.methods._shared.degrees.fitted import FLOOR, DegreeLaw
from core.methods._shared.degrees.smooth import newton_mode, smooth_prior, softmax

SINGLES = 48  # degrees that have a grid point of their own; beyond, points are spaced by ratio
RATIO = 1.06
LOOSE = 1.5  # standard deviation of the log density around a first guess
MODEL = 0.1  # relative error of the projection's model, where it takes edges
ABOVE = 0.01  # relative error of a number of edges beside its noise
LOST = 0.5  # relative error of what the largest theta cuts off by the law
ROUNDS = 8
CLOSE = 1e-3  # of the nodes: laws that move less have been found
PACES = 64  # steps of a double cover's equations
STEPS = 40
OPEN_POINTS = 33


@dataclass(frozen=True)
class CappedEdges:
    """A noisy edge count after a projection, and its variance.

    The projection at ``theta`` keeps the edges; the variance is of its noise.
    """

    theta: int
    count: float
    variance: float


@dataclass(frozen=True)
class CappedTails:
    """Noisy tail counts after a projection.

    They are ``count`` (t,) of nodes with at least ``at`` (t,) edges kept at ``theta``, and the variance of
    each.
    """

    theta: int
    at: np.ndarray
    count: np.ndarray
    variance: float


def degree_grid(most: int) -> np.ndarray:
    """0, 1, 2, ... and then by ratio up to ``most``; int64."""
    steps = max(2, int(np.ceil(np.log(max(most, SINGLES) / SINGLES) / np.log(RATIO))) + 1)
    spaced = np.geomspace(SINGLES, max(most, SINGLES), steps)
    points = np.concatenate([np.arange(min(most + 1, SINGLES)), np.rint(spaced), [most]]).astype(np.int64)
    return np.unique(points[points <= most])


def widths(grid: np.ndarray) -> np.ndarray:
    """Count the whole degrees of each grid point. The result is float64 (g,)."""
    middle = (grid[1:] + grid[:-1]) / 2
    return np.diff(np.concatenate([[grid[0] - 0.5], middle, [grid[-1] + 0.5]]))


def reached(grid: np.ndarray, share: float, at: np.ndarray) -> np.ndarray:
    """Compute the probability that a binomial reaches ``at``.

    It is one of ``grid`` (g,) and ``share``, and is at least ``at`` (t,); (t, g).
    """
    d, j = grid[None, :].astype(np.float64), np.asarray(at, dtype=np.float64)[:, None]
    # P(Bin(d, p) >= j) is the regularised incomplete beta function of p at j and d - j + 1.
    found = betainc(np.maximum(j, 1), np.maximum(d - j + 1, FLOOR), min(share, 1.0))
    return np.where(j <= 0, 1.0, np.where(j > d, 0.0, found))


class Openness:
    """How often an edge's other end has room. It is in a projection at ``theta`` of graphs over ``grid``."""

    def __init__(self, grid: np.ndarray, theta: int) -> None:
        self.grid, self.theta = grid, theta
        self.shares = np.linspace(0, 1, OPEN_POINTS)
        others = np.maximum(grid - 1, 0).astype(np.float64)[None, :]
        fits = np.maximum(others - theta + 1, FLOOR)
        full = betainc(float(theta), fits, self.shares[:, None])
        self.full = np.where(others < theta, 0.0, full)

    def filled(self, mass: np.ndarray) -> np.ndarray:
        """Compute how likely an end chosen by degree is full.

        It is for each of ``shares`` of its others open.
        """
        ends = self.grid * mass
        total = ends.sum()
        if self.theta >= self.grid[-1] or total <= 0:
            return np.zeros(len(self.shares))
        return np.asarray(self.full @ ends / total)

    def share(self, mass: np.ndarray) -> float:
        """Compute the share of edges with room at the other end.

        They are a node's, over the whole projection; in 0..1. Solves dQ/dt = P(an end chosen by its degree
        has fewer than theta of its other edges kept), Q(0) = 0, at t = 1: edges come in random order and ends
        are joined at random.
        """
        # dt = dQ / P(room): time as a function of Q, by trapezoids, read backwards at t = 1.
        pace = 1 / np.maximum(1 - self.filled(mass), 1e-6)
        time = np.concatenate([[0], np.cumsum((pace[1:] + pace[:-1]) / 2 * np.diff(self.shares))])
        return float(np.interp(1.0, time, self.shares))


def kept_mean(grid: np.ndarray, share: float, theta: int) -> np.ndarray:
    """Compute the expected kept edges of each degree; (g,)."""
    # E min(theta, X) is the sum of P(X >= j) over j up to theta; far out by spaced trapezoids.
    near = min(theta, SINGLES)
    spaced = np.rint(np.geomspace(near, theta, 40))
    at = np.unique(np.concatenate([np.arange(1, near + 1), spaced])).astype(np.int64)
    weight = np.diff(np.concatenate([[0], at]))  # each tail stands for those since the last one
    upper = reached(grid, share, at)
    lower = np.vstack([reached(grid, share, np.array([1])), upper[:-1]])
    steps = np.where(weight[:, None] == 1, upper, (upper + lower) / 2)
    kept: np.ndarray = (steps * weight[:, None]).sum(axis=0)
    return kept


def kept_share(law: DegreeLaw, part: float, theta: int) -> float:
    """Compute the share of edges that a projection keeps.

    It is at ``theta`` and sees ``part`` of each node's edges.
    """
    exact = law.grid * part
    low = np.floor(exact).astype(np.int64)
    # A part of a degree is no whole number: shared between both neighbours, so that the mean stays.
    split = np.concatenate([law.mass * (1 - (exact - low)), law.mass * (exact - low)])
    values, place = np.unique(np.concatenate([low, low + 1]), return_inverse=True)
    mass = np.bincount(place, weights=split)
    ends = float(values @ mass)
    if len(values) < 2 or ends <= 0:
        return 1.0
    share = Openness(values, theta).share(mass)
    return float(np.clip(kept_mean(values, share, theta) @ mass / ends, 0.05, 1.0))


def fitted_law(
    nodes: int, most: int, edges: Sequence[CappedEdges], tails: Sequence[CappedTails], ends: int = 2
) -> DegreeLaw:
    """Fit the law of degrees to the noisy numbers.

    It is of ``nodes`` degrees of at most ``most``.

    ``ends``: how many ends of an edge a degree counts; 1 where both sides have one law.
    """
    side = _Side(nodes, degree_grid(most), edges, tails, ends)
    # Openness depends on the law and the law on openness: in turns, until neither moves.
    for _ in range(ROUNDS):
        if side.moved({theta: model.share(side.mass) for theta, model in side.models.items()}) < CLOSE:
            break
    return DegreeLaw(side.grid, side.mass)


def fitted_laws(
    nodes: int, most: int, arcs: Sequence[CappedEdges], tails: tuple[CappedTails, CappedTails]
) -> tuple[DegreeLaw, DegreeLaw]:
    """Fit laws of out- and in-degrees to noisy numbers.

    These are of double covers, the same theta each side. Each side's openness is what the other side's law
    gives.
    """
    grid = degree_grid(most)
    out, into = (_Side(nodes, grid, arcs, [tail], ends=1) for tail in tails)
    for _ in range(ROUNDS):
        shares = {
            theta: shares_of((model, out.mass), (into.models[theta], into.mass))
            for theta, model in out.models.items()
        }
        change = [
            side.moved({theta: share[place] for theta, share in shares.items()})
            for place, side in enumerate((out, into))
        ]
        if max(change) < CLOSE:
            break
    return DegreeLaw(grid, out.mass), DegreeLaw(grid, into.mass)


def shares_of(out: tuple[Openness, np.ndarray], into: tuple[Openness, np.ndarray]) -> tuple[float, float]:
    """Compute shares of arcs with room, out and in.

    They are a node's arcs with room at the other end, over a whole double cover. Solves dQ/dt = P(the other
    side's end has room), as :meth:`Openness.share`, for both sides together.
    """
    full = [model.filled(mass) for model, mass in (out, into)]
    points, own, other = out[0].shares, 0.0, 0.0
    for _ in range(PACES):
        # Each side's openness is the other's room: two equations in small steps, side by side.
        room = [1 - float(np.interp(at, points, side)) for at, side in zip((own, other), full, strict=True)]
        own, other = own + room[1] / PACES, other + room[0] / PACES
    return own, other


class _Side:
    """One side's law on its way: what was told of it, and the projections behind it.

    ``ends``: how many ends of a kept edge are of this side.
    """

    def __init__(
        self,
        nodes: int,
        grid: np.ndarray,
        edges: Sequence[CappedEdges],
        tails: Sequence[CappedTails],
        ends: int,
    ) -> None:
        self.nodes, self.grid, self.ends = nodes, grid, ends
        self._edges, self._tails = edges, tails
        self.mass = first_guess(grid, nodes, edges, ends)
        self._reference = np.log(np.maximum(self.mass, FLOOR))
        self._prior = smooth_prior(grid, LOOSE)
        thetas = {each.theta for each in edges} | {each.theta for each in tails}
        self.models = {theta: Openness(grid, theta) for theta in sorted(thetas)}

    def moved(self, shares: Mapping[int, float]) -> float:
        """Fit the law anew, where ``shares`` of other ends have room at each theta: how far it moved."""
        nodes, grid, mass = self.nodes, self.grid, self.mass
        rows: list[np.ndarray] = []
        measured: list[np.ndarray | list[float]] = []
        variance: list[float | np.ndarray | list[float]] = []
        widest, cut = max(self._edges, key=lambda each: each.theta), 0.0
        for each in self._edges:
            row = kept_mean(grid, shares[each.theta], each.theta) / self.ends
            lost = nodes * float(mass @ (grid / self.ends - row))
            rows.append(row[None, :])
            measured.append([each.count])
            # The projection's model errs by a part of what it takes away; one more, lest it rule alone.
            variance.append([each.variance + (MODEL * lost) ** 2 + 1])
            cut = lost if each is widest else cut
        rows.append(grid[None, :] / self.ends)
        # What the widest theta cuts off is known by the law alone, and trusted as little as that.
        measured.append([widest.count + cut])
        variance.append([widest.variance + (ABOVE * widest.count) ** 2 + (LOST * cut) ** 2 + 1])
        for tail in self._tails:
            upper = reached(grid, shares[tail.theta], tail.at)
            lost = nodes * ((grid[None, :] >= tail.at[:, None]) - upper) @ mass
            rows.append(upper)
            measured.append(tail.count)
            variance.append(tail.variance + (MODEL * lost) ** 2 + 1)
        weight = 1 / np.concatenate(
            [np.broadcast_to(each, np.shape(a)) for each, a in zip(variance, measured, strict=True)]
        )
        self.mass = posterior_mode(
            np.log(np.maximum(mass, FLOOR)),
            self._reference,
            self._prior,
            nodes,
            np.vstack(rows),
            np.concatenate(measured),
            weight,
        )
        return float(np.abs(self.mass - mass).sum() / 2)


def first_guess(grid: np.ndarray, nodes: int, edges: Sequence[CappedEdges], ends: int) -> np.ndarray:
    """Make a smooth law with about the right mean.

    It is a power law that is flat below the mean; (g,), sums to 1.
    """
    best = max(edges, key=lambda each: each.theta)
    mean = float(np.clip(ends * best.count / nodes, 0.1, max(grid[-1] / 2, 0.1)))
    # The mean falls as the slope grows: halving finds it.
    low, high = 1.05, 12.0
    for _ in range(50):
        slope = (low + high) / 2
        density = (1 + grid / mean) ** -slope
        mass = density * widths(grid)
        mass /= mass.sum()
        if mass @ grid > mean:
            low = slope
        else:
            high = slope
    guess: np.ndarray = np.maximum(mass, 1e-12) / np.maximum(mass, 1e-12).sum()
    return guess


def posterior_mode(
    log_mass: np.ndarray,
    reference: np.ndarray,
    prior: np.ndarray,
    nodes: int,
    rows: np.ndarray,
    measured: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """Fit the law near measurements by damped Newton steps.

    At it ``rows`` @ law * nodes is near ``measured``; sums to 1.
    """

    def cost(log_mass: np.ndarray) -> float:
        miss = rows @ softmax(log_mass) * nodes - measured
        off = log_mass - reference
        return float(0.5 * (weight * miss * miss).sum() + 0.5 * off @ prior @ off)

    def derivatives(log_mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mass = softmax(log_mass)
        # Derivatives by logarithms of masses that are scaled to sum to 1.
        slopes = nodes * mass * (rows - (rows @ mass)[:, None])
        miss = rows @ mass * nodes - measured
        gradient = slopes.T @ (weight * miss) + prior @ (log_mass - reference)
        # Gauss and Newton: second derivatives of the measurements are left out.
        return gradient, (slopes.T * weight) @ slopes + prior

    return newton_mode(log_mass, cost, derivatives, STEPS)

"""Epsilon by privacy-loss distributions. It is what a composition of known events costs, without Rényi's
slack.

The loss of an output is ln(P(output) / P'(output)), for a pair of neighbouring graphs; a release is
(epsilon, delta) when E[(1 - e^(epsilon - loss))+] is at most delta, for both members of the pair. Losses of
events that happen one after another add up, so their laws are convolved (Sommer, Meiser, Mohammadi 2019;
Koskela, Jälkö, Honkela 2020). What is computed is never below the truth; every place that rounds says so.

Each event is replaced by a pair of laws that dominates it whatever the graph: at every epsilon no pair of
neighbours is told apart better. Dominating pairs may be composed, adaptively too, and events may be taken in
any order that earlier outputs suggest (Zhu, Dong, Wang, AISTATS 2022, Theorem 10, by induction over what is
left).

* Pure events of a cell, added up: randomised response at that epsilon dominates everything that is
  epsilon-DP (Kairouz, Oh, Viswanath 2015), however the sum is split.
* Gaussian: N(1, s^2) against N(0, s^2). Noise is discrete, on a grid of which its standard deviation is at
  least FINEST steps. N_Z(v, S^2) equals, but for a factor 1 +- 10^-130 in every coordinate, what one gets by
  drawing from N(v, S^2 - 16) and then from the discrete Gaussian of variance 16 around that (Peikert 2010,
  Theorem 3.1): post-processing of continuous noise, of which only the L2 length of a shift matters. So
  ROUNDED times the multiplier is counted, and all those factors together stay below SLACK.
* Poisson-sampled Gaussian: (1 - q) N(0, s^2) + q N(1, s^2) against N(0, s^2) where the unit is removed, the
  other way round where it is added; each way is composed by itself and the dearer one counts (Zhu, Dong,
  Wang 2022, Theorem 11). The argument about discrete noise is the same: both laws of the mixture pass through
  one post-processing.

Gaussian events alone (with pure ones) have a closed form. A sampled event is put onto a grid of losses: an
output whose loss lies between two grid points is split into one at each, with the same probabilities under
both laws. Merging the two is post-processing, so the split pair dominates (the "connect the dots" of
Doroshenko et al. 2022). The grid's law is tilted by e^(t loss) before the Fourier transform: the error of the
transform is then small beside the tail that delta asks for, and it is bounded and added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import log_ndtr, ndtr, ndtri

from core.privacy.accounting.events import NANO, Event, GaussianEvent, PoissonSampled

ROUNDED = 1 - 1e-5
"""Of a noise multiplier: sqrt(1 - 16 / FINEST^2) is 1 - 7.7e-6."""

SLACK = 1e-10
GRAIN = 1e-6
"""Epsilon is rounded up to a whole multiple: coarser than what two processors may differ in."""

DETAIL = 16
"""Grid points for the root mean square loss of one step, about."""
MOST_POINTS = 2**18
LEAST_SIGMA, MOST_SIGMA = 0.04, 2_000.0
_OUTSIDE = 1e-9
_TILTS = tuple(2.0 ** (k / 4) for k in range(-28, 49))


def epsilon(pure_nano: int, counts: Mapping[Event, int], delta: float) -> float:
    """Find the least (epsilon, delta)-DP epsilon of a cell's events. It is rounded up, and may be infinite.

    ``pure_nano``: its pure events' nano-epsilon, added up; ``counts``: how often each other event happens.
    Infinite means that nothing is known here (an event without a dominating pair, a grid too large), not
    that nothing holds. Remembered; some hundredths of a second where something is sampled.
    """
    sampled: dict[tuple[float, float], int] = {}
    squared = 0.0
    for event, count in counts.items():
        match event:
            case GaussianEvent(noise_multiplier=sigma):
                # Gaussian shifts compose as lengths: mu^2 is the sum of 1 / sigma^2.
                squared += count / (float(sigma) * ROUNDED) ** 2
            case PoissonSampled(rate=rate, event=GaussianEvent(noise_multiplier=sigma)):
                # Rounded up, which costs more: the float of a fraction may lie below it.
                key = math.nextafter(float(rate), 1.0), float(sigma) * ROUNDED
                sampled[key] = sampled.get(key, 0) + count
            case _:
                return math.inf
    return _epsilon(pure_nano, math.sqrt(squared), tuple(sorted(sampled.items())), delta)


@lru_cache(maxsize=4096)
def _epsilon(
    pure_nano: int, mu: float, sampled: tuple[tuple[tuple[float, float], int], ...], delta: float
) -> float:
    pure = pure_nano / NANO
    curves: list[_Gaussian | _Convolved] = []
    if not sampled:
        curves = [_Gaussian(mu)]
    else:
        kept = [(rate, sigma, count) for (rate, sigma), count in sampled]
        # Gaussian events beside sampled ones are one sampled event of rate 1.
        if mu:
            kept.append((1.0, 1 / mu, 1))
        if not all(LEAST_SIGMA <= sigma <= MOST_SIGMA for _, sigma, _ in kept):
            return math.inf
        # Which way round is dearer is known only once both are composed.
        found = [_convolved(kept, delta, added) for added in (False, True)]
        curves = [each for each in found if each is not None]
        if len(curves) < 2:
            return math.inf
    worst = max(_solved(curve, pure, delta) for curve in curves)
    return math.ceil((worst + SLACK) * (1 + SLACK) / GRAIN) * GRAIN if math.isfinite(worst) else math.inf


def _solved(curve: _Gaussian | _Convolved, pure: float, delta: float) -> float:
    """Find the epsilon at which the curve, after randomised response of ``pure``, comes down to delta."""
    # Randomised response is right with probability e^pure / (1 + e^pure): its loss is then pure, else -pure.
    share = 1 / (1 + math.exp(-pure))

    def enough(epsilon: float) -> bool:
        whole = share * curve.delta(epsilon - pure) + (1 - share) * curve.delta(epsilon + pure)
        return whole * (1 + SLACK) <= delta

    if enough(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
        # Past the most that an event may cost (MAX_NANO_EPSILON), twice.
        if high > 2_000:
            return math.inf
    while high - low > GRAIN / 64:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Gaussian:
    """Gaussian events alone; together they are one of multiplier 1 / mu."""

    mu: float

    def delta(self, epsilon: float) -> float:
        """Compute delta by Balle and Wang 2018, Theorem 8; above the truth by the rounding of both terms."""
        # Two equal laws: only a negative epsilon asks for any delta.
        if not self.mu:
            return max(0.0, -math.expm1(epsilon))
        first = float(ndtr(self.mu / 2 - epsilon / self.mu))
        log_second = epsilon + float(log_ndtr(-self.mu / 2 - epsilon / self.mu))
        # The second term is less than the first, and so than 1: the cap only keeps exp from overflowing.
        return max(0.0, first * (1 + 1e-12) - math.exp(min(log_second, 1.0)) * (1 - 1e-12))


@dataclass(frozen=True)
class _Convolved:
    """A composed law of losses on a grid: outputs' probabilities, those of the other law, and what may lack.

    ``above[i]`` and ``below[i]`` are sums over the losses from ``start + i * width`` on, the latter of
    probability times e^-(loss - centre). An error of the transform weighs e^(log_error - tilt * epsilon).
    """

    start: float
    width: float
    centre: float
    above: np.ndarray
    below: np.ndarray
    tilt: float
    log_error: float
    infinite: float

    def delta(self, epsilon: float) -> float:
        """Bound E[(1 - e^(epsilon - loss))+] from above."""
        # Capped at 700: exp overflows past 709.
        lacking = self.infinite + math.exp(min(self.log_error - self.tilt * epsilon, 700.0))
        first = max(0, math.floor((epsilon - self.start) / self.width))
        if first >= len(self.above):
            return lacking
        # A loss of exactly epsilon weighs nothing: the sums begin behind it.
        first += self.start + first * self.width <= epsilon and first + 1 < len(self.above)
        ratio = math.exp(min(epsilon - self.centre, 700.0))
        seen = self.above[first] * (1 + SLACK) - ratio * self.below[first] * (1 - SLACK)
        return lacking + max(0.0, float(seen))


@dataclass(frozen=True)
class _Step:
    """One event on the grid: loss (first + i) * width has ``masses[i]``, an infinite loss ``infinite``."""

    first: int
    masses: np.ndarray
    infinite: float
    count: int

    def moments(self, tilt: float, width: float) -> tuple[float, float]:
        """Compute the logarithm of E[e^(tilt loss)], and the loss's variance under the law tilted so."""
        losses = (self.first + np.arange(len(self.masses))) * width
        top = tilt * losses
        # Relative to the largest exponent, so that no exponential overflows.
        most = float(top[self.masses > 0].max())
        weights = self.masses * np.exp(top - most)
        whole = float(weights.sum())
        mean = float((weights * losses).sum()) / whole
        return most + math.log(whole), float((weights * np.square(losses - mean)).sum()) / whole


def _convolved(kept: Sequence[tuple[float, float, int]], delta: float, added: bool) -> _Convolved | None:
    """Compose ``kept`` (rate, sigma, count), one way; None where the grid would be too large.

    Widths shrink until the grid shows a step's losses in detail. Losses far below zero are lifted to a floor
    where they weigh nothing in the tail that delta asks for.
    """
    count = sum(each for _, _, each in kept)
    # All that lies farther out, over all steps, is some hundred-thousandths of delta.
    reach = -float(ndtri(delta * 1e-5 / count))
    ranges = [_range(rate, sigma, reach, added) for rate, sigma, _ in kept]
    highest, floor = max(high for _, high in ranges), min(low for low, _ in ranges)
    width = (highest - floor) / 256
    while (highest - floor) / width < MOST_POINTS:
        steps = [_step(rate, sigma, width, reach, floor, added, each) for rate, sigma, each in kept]
        tilt = _nearest_tilt(steps, width, delta)
        spread, bulk = (math.sqrt(sum(s.count * s.moments(t, width)[1] for s in steps)) for t in (tilt, 0.0))
        wanted = min(spread, bulk) / DETAIL / math.sqrt(count)
        if width <= 1.5 * wanted:
            return _transformed(steps, width, tilt, spread)
        # Losses below -60 / tilt weigh e^-60 under the tilt:
        # lifting them to the floor costs nothing that shows.
        width, floor = max(wanted, width / 16), max(floor, -60 / tilt)
    return None


def _nearest_tilt(steps: Sequence[_Step], width: float, delta: float) -> float:
    """Choose of _TILTS the one whose Chernoff bound gives the least epsilon at delta: it falls, then rises.

    Any tilt gives a sound result; this one has the smallest error beside it.
    """

    def bound(tilt: float) -> float:
        return (_log_moment(steps, tilt, width) - math.log(delta)) / tilt

    low, high = 0, len(_TILTS) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if bound(_TILTS[middle]) <= bound(_TILTS[middle + 1]) else (middle + 1, high)
        )
    chosen: float = _TILTS[low]
    return chosen


def _log_moment(steps: Sequence[_Step], tilt: float, width: float) -> float:
    return sum(step.count * step.moments(tilt, width)[0] for step in steps)


def _transformed(steps: Sequence[_Step], width: float, tilt: float, spread: float) -> _Convolved | None:
    """Convolve all steps' laws, circularly over a window.

    The tilted sum lies outside the window with probability _OUTSIDE at most on either side (Chernoff); there
    it is counted at a wrong place. The transform errs by u log2 N in the L2 norm, relative (Higham 2002,
    Theorem 24.2, with room), the power by as many times as there are steps, and the L1 norm is at most
    sqrt(N) times the L2 norm. Whatever the L1 error e of the tilted law, it changes
    E[(1 - e^(epsilon - loss))+] by at most e M e^(-tilt epsilon), M the moment.
    """
    log_moment = _log_moment(steps, tilt, width)
    # Any of these gives a bound (Chernoff); the best of a few lies near the best of all.
    tails = [k / spread for k in (0.25, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12)]
    out = -math.log(_OUTSIDE)
    high = min((_log_moment(steps, tilt + s, width) - log_moment + out) / s for s in tails)
    low = max(-(_log_moment(steps, tilt - s, width) - log_moment + out) / s for s in tails)
    first = math.floor(low / width)
    # Not <= with the sides exchanged: NaN must be refused too.
    if not (high - low) / width < MOST_POINTS:
        return None
    size = next_fast_len(math.ceil((high - low) / width) + 4, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for step in steps:
        place = step.first + np.arange(len(step.masses))
        tilted = step.masses * np.exp(tilt * width * place - step.moments(tilt, width)[0])
        # Circular: what passes the end of the window comes in
        # at its beginning, and the roll restores the order.
        folded = np.bincount(place % size, weights=tilted, minlength=size)
        spectrum *= np.fft.rfft(folded) ** step.count
    # The transform leaves small negative numbers where the law is zero.
    law = np.roll(np.fft.irfft(spectrum, size), -(first % size)).clip(min=0.0)
    losses = (first + np.arange(size)) * width
    centre = (low + high) / 2
    exponents = log_moment - tilt * losses
    law *= np.exp(np.minimum(exponents, 600.0))
    count = sum(step.count for step in steps)
    error = 2.0**-53 * math.sqrt(size) * count * (8 * math.log2(size) + 40) + 4 * _OUTSIDE
    return _Convolved(
        start=first * width,
        width=width,
        centre=centre,
        above=law[::-1].cumsum()[::-1],
        below=(law * np.exp(np.minimum(centre - losses, 600.0)))[::-1].cumsum()[::-1],
        tilt=tilt,
        log_error=log_moment + math.log(error),
        infinite=sum(step.count * step.infinite for step in steps),
    )


def _range(rate: float, sigma: float, reach: float, added: bool) -> tuple[float, float]:
    """Compute the least and the largest loss between ``reach`` sigmas below 0 and as many above 1."""
    low, high = (_loss(x, rate, sigma) for x in (-reach * sigma, 1 + reach * sigma))
    return (-high, -low) if added else (low, high)


def _loss(x: float, rate: float, sigma: float) -> float:
    """Compute ln of the mixture's density over that of N(0, sigma^2) at x; it grows with x."""
    exponent = (2 * x - 1) / (2 * sigma * sigma)
    if rate >= 1:
        return exponent
    # The same value without e^exponent, which would overflow.
    if exponent > 30:
        return exponent + math.log(rate) + math.log1p((1 - rate) / rate * math.exp(-exponent))
    return math.log1p(rate * math.expm1(exponent))


def _step(
    rate: float, sigma: float, width: float, reach: float, floor: float, added: bool, count: int
) -> _Step:
    """Put one Poisson-sampled Gaussian on the grid; at rate 1, a Gaussian. Losses below ``floor`` are lifted.

    What lies beyond ``reach`` sigmas counts as an infinite loss.

    The places where the loss crosses a grid point cut the line into buckets. What a bucket weighs under both
    laws is a difference of normal tails: their relative error is 10^-14 over the bucket's width in sigmas at
    most, which is ``width * sigma`` or more. Twice that is added to the mass, and to the share that goes to
    the upper end.
    """
    low, high = _range(rate, sigma, reach, added)
    # One point more at either end, so that every loss lies between two grid points.
    first, last = math.floor(max(low, floor) / width) - 1, math.ceil(high / width) + 1
    edges = np.arange(first, last + 1) * width
    losses = -edges if added else edges
    if rate >= 1:
        # Where the loss is that of a grid point: the inverse of ``_loss``.
        cuts = losses * sigma**2 + 0.5
    else:
        reached = np.maximum(np.expm1(np.minimum(losses, 700.0)) + rate, 0.0)
        with np.errstate(divide="ignore"):
            cuts = (np.log(reached) - math.log(rate)) * sigma**2 + 0.5
    cuts = np.clip(cuts, -reach * sigma, 1 + reach * sigma)
    # Before the first grid point lies what is lifted to it.
    ends = np.concatenate([[1 + reach * sigma if added else -reach * sigma], cuts])
    left, right = (ends[1:], ends[:-1]) if added else (ends[:-1], ends[1:])

    def between(mean: float) -> np.ndarray:
        a, b = (left - mean) / sigma, (right - mean) / sigma
        # By the tails on the side where they are small: a difference of numbers near 1 would lose its digits.
        mass: np.ndarray = np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a)).clip(min=0.0)
        return mass

    absent = between(0.0)
    mixed = (1 - min(rate, 1.0)) * absent + rate * between(1.0)
    own, other = (absent, mixed) if added else (mixed, absent)
    inexact = 2e-14 / (width * sigma)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The share u of the upper end solves own (1 - u) e^-a
        # + own u e^-(a + width) = other, a the lower end.
        upper = (1 - other[1:] / own[1:] * np.exp(edges[:-1])) / -math.expm1(-width)
    upper = np.clip(np.nan_to_num(upper, nan=1.0, posinf=1.0, neginf=0.0) + inexact / width, 0.0, 1.0)
    own = own * (1 + inexact)
    masses = np.append(own[1:] * (1 - upper), 0.0)
    masses[0] += own[0]
    masses[1:] += own[1:] * upper
    kept = np.flatnonzero(masses)
    beyond = 4 * float(ndtr(-reach))
    return _Step(first + int(kept[0]), masses[kept[0] : kept[-1] + 1], beyond, count)

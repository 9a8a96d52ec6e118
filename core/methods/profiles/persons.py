"""Anonymous persons, sampled from paid histograms.

Degrees, first steps and active steps are sampled. Post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.methods._shared.degrees.counts import integers, to_total
from core.methods.profiles.law import believed
from core.privacy.entropy import Generator as Rng

RATIO = 1.25
"""Bins of degrees grow by this, from the point where they hold more than one."""
ACTIVE_RATIO = 1.5
MOST_PERIODS = 64
MOST_CELLS = 2**23
TIED = 1.0
"""How loosely persons with more edges are active in more steps: deviations of the noise on ranks."""
EVEN = 1.0
"""How evenly a person's edges fall on its steps."""


def bins(first: int, last: int, ratio: float) -> np.ndarray:
    """List where bins begin.

    They begin at first, first + 1, ..., then by ratio, up to ``last``; int64, ascending.
    """
    found = [first]
    while found[-1] < last:
        found.append(max(found[-1] + 1, math.ceil(found[-1] * ratio)))
    return np.array([each for each in found if each <= last] or [first], dtype=np.int64)


def degree_bins(most: int) -> np.ndarray:
    """List where the bins of persons' degrees begin."""
    return bins(0, most, RATIO)


def active_bins(steps: int) -> np.ndarray:
    """List where the bins of numbers of active steps begin."""
    return bins(1, steps, ACTIVE_RATIO)


def periods_of(steps: int, things: int) -> np.ndarray:
    """Group steps so that tables of things stay small.

    They are tables by periods; (steps,) ascending from 0.
    """
    count = max(1, min(steps, MOST_PERIODS, MOST_CELLS // max(things, 1)))
    return np.arange(steps, dtype=np.int64) * count // steps


def degrees_from(counts: np.ndarray, bounds: np.ndarray, last: int, rng: Rng) -> np.ndarray:
    """Sample ascending degrees, as many as ``counts`` sum to.

    They are even in each bin's logarithm; int64.
    """
    whole = integers(counts, rng)
    low = np.repeat(bounds, whole).astype(np.float64)
    high = np.repeat(np.minimum(np.append(bounds[1:], last + 1), last + 1), whole).astype(np.float64)
    starts = np.repeat(np.cumsum(whole) - whole, whole)
    # Even in the logarithm: inside a bin degrees fall about as a power law.
    part = (np.arange(len(low)) - starts + 0.5) / np.maximum(np.repeat(whole, whole), 1)
    found = np.floor((low + 0.5) * ((high + 0.5) / (low + 0.5)) ** part - 0.5 + 1e-9)
    degrees: np.ndarray = np.clip(found, low, np.maximum(high - 1, low)).astype(np.int64)
    return degrees


def activity_counts(
    noisy: np.ndarray,
    deviation: float,
    periods: np.ndarray,
    bounds: np.ndarray,
    idle: float,
    total: int,
) -> np.ndarray:
    """Fit how many persons begin when, and stay active.

    They begin in a period and are active in so many steps; (1 + periods * bins,). Of noise's own size is
    whatever no product of both margins explains. ``idle``: the persons without edges, by another paid count.
    Persons cannot be active in more steps than are left.
    """
    count = int(periods[-1]) + 1
    first = np.searchsorted(periods, np.arange(count))
    left = len(periods) - first
    table = noisy[1:].reshape(count, len(bounds))
    possible = bounds[None, :] <= left[:, None]
    out = int(np.clip(np.rint(idle), 0, total))
    people = total - out
    rows = to_total(np.where(possible, table, 0).sum(axis=1), people, people)
    columns = to_total(np.where(possible, table, 0).sum(axis=0), people, people)
    fit = possible * np.maximum(rows, 1e-9)[:, None] * np.maximum(columns, 1e-9)[None, :]
    # Proportional fitting to both margins, inside what is possible.
    for _ in range(30):
        fit *= (columns / np.maximum(fit.sum(axis=0), 1e-12))[None, :]
        fit *= (rows / np.maximum(fit.sum(axis=1), 1e-12))[:, None]
    flat = possible.ravel()
    found = np.zeros(len(noisy))
    found[0] = out
    found[1:][flat] = believed(table.ravel()[flat], fit.ravel()[flat], deviation, people)
    return found


@dataclass(frozen=True)
class Active:
    """Who has how many edges when. ``person``, ``step`` and ``edges`` of every step in which one has any."""

    person: np.ndarray
    step: np.ndarray
    edges: np.ndarray

    def of_first(self, count: int) -> Active:
        """Leave only the first ``count`` persons."""
        kept = self.person < count
        return Active(self.person[kept], self.step[kept], self.edges[kept])


def spread_over_steps(
    degrees: np.ndarray, activity: np.ndarray, periods: np.ndarray, bounds: np.ndarray, rng: Rng
) -> Active:
    """Give every person of ``degrees`` steps by ``activity`` counts.

    Busier ones tend to have more. O(edges log edges) at most.
    """
    steps, count = len(periods), int(periods[-1]) + 1
    whole = integers(activity[1:], rng)
    place = np.repeat(np.arange(len(whole)), whole)
    period, row = np.divmod(place, len(bounds))
    starts = np.searchsorted(periods, np.arange(count))
    first = starts[period] + np.floor(
        rng.random(len(place)) * (np.append(starts[1:], steps) - starts)[period]
    ).astype(np.int64)
    high = np.append(bounds[1:], bounds[-1] + 1)
    active = bounds[row] + np.floor(rng.random(len(place)) * (high - bounds)[row]).astype(np.int64)
    busy = np.flatnonzero(degrees)
    size = min(len(busy), len(place))
    keep = rng.permutation(len(place))[:size]
    first, active = first[keep], active[keep]
    # By activity; among equals, first steps take even turns.
    order = np.lexsort((_evenly(active * steps + first, rng), active))
    first, active = first[order], active[order]
    spread = float(np.log(degrees[busy]).std()) if len(busy) else 0.0
    noise = rng.standard_normal(len(busy)) * TIED * max(spread, 0.3)
    rank = np.argsort(np.log(np.maximum(degrees[busy], 1)) + noise, kind="stable")[len(busy) - size :]
    person = busy[rank]
    # Of those who are active in as many steps, every first step gets its share of busy ones.
    person = person[np.lexsort((degrees[person], active))]
    return _split(person, degrees[person], first, active, steps, rng)


def _evenly(group: np.ndarray, rng: Rng) -> np.ndarray:
    """Place the members of every group evenly in 0..1, each group from a start of its own; float64."""
    order = np.argsort(group, kind="stable")
    _, begins, sizes = np.unique(group[order], return_index=True, return_counts=True)
    found = np.empty(len(group))
    turn = np.arange(len(group)) - np.repeat(begins, sizes)
    found[order] = (turn + np.repeat(rng.random(len(sizes)), sizes)) / np.repeat(sizes, sizes)
    return found


def _split(
    person: np.ndarray, degree: np.ndarray, first: np.ndarray, active: np.ndarray, steps: int, rng: Rng
) -> Active:
    """Choose each person's later steps, soon after its first, and share its edges among all of them."""
    active = np.minimum(np.minimum(active, degree), steps - first)
    more = active - 1
    room = np.minimum(steps - 1 - first, 2 * more)
    who = np.repeat(np.arange(len(person)), active)
    turn = np.arange(len(who)) - np.repeat(np.cumsum(active) - active, active)  # 0 is the first step
    start = np.repeat(rng.random(len(person)), active)
    gap = np.repeat(room / np.maximum(more, 1), active)
    later = np.floor((turn - 1 + start) * gap).astype(np.int64) + 1
    step = np.repeat(first, active) + np.where(turn > 0, later, 0)
    weight = rng.gamma(EVEN, size=len(who)) + 1e-9
    mass = weight / np.bincount(who, weights=weight, minlength=len(person))[who]
    edges = 1 + integers(mass * (degree - active)[who], rng)
    return Active(person[who], np.minimum(step, steps - 1), edges)

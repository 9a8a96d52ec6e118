"""Degrees of one side of a relation over all of its steps, out of noisy degrees; and their sum put right.

Noise makes idle nodes look active and the active ones more so. The law of the degrees is found first, by
expectation-maximisation for "noisy = degree + discrete Laplace noise": for all steps together, where many
values leave little room for chance, and then in a few rounds for each step by itself. The nodes of a step get
the quantiles of its law in the order of their posterior means. All of it is post-processing.
"""

from __future__ import annotations

import math

import numpy as np

from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.deconvolution import deconvolved, posterior_means
from core.methods._shared.degrees.fitted import scaled_to
from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng

POOLED_ROUNDS = 200
OWN_ROUNDS = 5
SMOOTH_BELOW = 3 * NANO  # above this epsilon of a side the noise is too narrow to invent spikes
REACH = 2**16  # degrees beyond are kept as they are read: there the noise is small beside them


def fitted_sides(
    noisy: list[np.ndarray],
    nano_epsilon: int,
    rng: Rng,
    *,
    l1: int = 1,
    most: int,
    deconvolve: bool = True,
) -> list[np.ndarray]:
    """A degree in 0..``most`` for every node in every step; int64, ties of rank broken at random.

    ``noisy``: one int64 vector a step, over one node universe, each with discrete Laplace noise of scale
    ``l1`` / epsilon. ``deconvolve=False`` only cuts them to the range. With next to no noise they come back
    as they are. O(rounds * largest noisy degree + n log n) a step, memory O(n + largest). After Silverman,
    Jones, Wilson, Nychka, "A smoothed EM approach", JRSS B 52 (1990).
    """
    cut = [np.clip(values, -REACH, REACH).astype(np.int64) for values in noisy]
    if not deconvolve or not cut or not cut[0].size or most < 1:
        return [np.clip(values, 0, max(most, 0)).astype(np.int64) for values in noisy]
    scale = l1 * NANO / nano_epsilon
    smooth = nano_epsilon < SMOOTH_BELOW
    lowest = min(int(values.min()) for values in cut)
    highest = max(int(values.max()) for values in cut)
    top = min(max(highest, 0), most)
    everything = np.concatenate(cut)
    law = _law(everything, lowest, highest, top, scale, POOLED_ROUNDS, smooth, None)
    return [
        _ranked(values, each, lowest, highest, top, scale, smooth, law, most, rng)
        for values, each in zip(noisy, cut, strict=True)
    ]


def _law(
    values: np.ndarray,
    lowest: int,
    highest: int,
    top: int,
    scale: float,
    rounds: int,
    smooth: bool,
    start: np.ndarray | None,
) -> np.ndarray:
    """The mass of degrees 0..``top`` that explains ``values``, all of which lie in lowest..highest."""
    zero = max(-lowest, 0)
    counts = np.bincount(values + zero, minlength=zero + max(highest, top) + 1).astype(np.float64)
    if start is None:
        start = 1 / (1 + np.arange(top + 1.0))
    return deconvolved(counts, zero, start / start.sum(), math.exp(-1 / scale), rounds, smooth)


def _ranked(
    noisy: np.ndarray,
    cut: np.ndarray,
    lowest: int,
    highest: int,
    top: int,
    scale: float,
    smooth: bool,
    pooled: np.ndarray,
    most: int,
    rng: Rng,
) -> np.ndarray:
    """The degrees of one step."""
    law = _law(cut, lowest, highest, top, scale, OWN_ROUNDS, smooth, pooled)
    zero, nodes = max(-lowest, 0), len(noisy)
    means = posterior_means(zero + max(highest, top) + 1, zero, law, math.exp(-1 / scale))[cut + zero]
    order = np.lexsort((rng.random(nodes), means))
    steps = np.cumsum(law)
    at = (np.arange(nodes) + 0.5) / nodes * steps[-1]
    degrees = np.empty(nodes)
    degrees[order] = np.minimum(np.searchsorted(steps, at, side="left"), top)
    # Noise goes farther than this with probability e^-3 for any of the nodes together.
    reach = scale * (math.log(max(nodes, 1)) + 3)
    degrees = np.where(noisy > REACH, noisy, np.clip(degrees, noisy - reach, noisy + reach))
    return np.clip(np.rint(degrees), 0, most).astype(np.int64)


def summing_to(degrees: np.ndarray, total: int, most: int, rng: Rng) -> np.ndarray:
    """``degrees`` times one factor, rounded at random, so that they sum to ``total``; int64 in 0..``most``.

    Zeros stay zero as long as the others have room. O(n log n).
    """
    degrees = np.clip(degrees, 0, most).astype(np.float64)
    total = min(int(total), most * len(degrees))
    active = degrees > 0
    if total > most * int(active.sum()):
        degrees = np.where(active, most, (total - most * int(active.sum())) / max(int((~active).sum()), 1))
    capped: np.ndarray = np.minimum(integers(scaled_to(degrees, total, most), rng), most)
    return capped

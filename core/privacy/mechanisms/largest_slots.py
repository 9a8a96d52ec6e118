"""The largest entries of a noisy adjacency matrix, without the matrix.

Every slot of a cell gets discrete Laplace noise; the slots with the largest values are put out, their values
are not. Noise of absent edges is drawn only where it can matter: the number of those above a threshold is
binomial, and what they exceed it by is geometric.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np

from core.errors import InvalidInput
from core.kernels.decorator import kernel
from core.privacy import entropy
from core.privacy.accounting.events import NANO, check_nano_epsilon
from core.privacy.accounting.flips import WORD, Flips, check_size
from core.privacy.entropy import Generator
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.randomised_response import flip
from core.privacy.queries import Shape

RESOLUTION = 2**20
"""One edge in steps of the noise's grid: ties between slots are rare."""

MAX_KEEP = 2**25
"""Most slots that one call puts out."""

_SPARE = 10  # standard deviations by which candidates are expected to exceed what is kept
_DENSE = 4  # below this many slots for each candidate, every slot is drawn


def check_keep(shape: Shape, keep: int, nano_epsilon: int) -> None:
    """Raise InvalidInput unless ``keep`` lies in 0..slots and within MAX_KEEP. Public facts only."""
    check_nano_epsilon(nano_epsilon)
    if nano_epsilon < 2:
        raise InvalidInput("an epsilon of at least 2e-9 is needed", field="epsilon")
    if type(keep) is not int or not 0 <= keep <= min(MAX_KEEP, shape.slots):
        raise InvalidInput(f"keep is an integer from 0 to the slots, at most {MAX_KEEP}", field="keep")


def largest(
    source: np.ndarray,
    target: np.ndarray,
    shape: Shape,
    keep: int,
    nano_epsilon: int,
    *,
    rng: Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the ``keep`` slots of largest noisy value. They are (source, target) int64, sorted; ties fall at
    random.

    A slot's value is RESOLUTION where its edge is present and 0 elsewhere, plus noise with P(z) proportional
    to exp(-|z| (epsilon - 1e-9) / RESOLUTION). ``source`` and ``target`` are the edges of a canonical cell;
    ``keep`` is public or paid for. With probability below e^-40, fewer slots come out (never more). ``rng``
    is for tests of the law alone. O((m + keep) log(m + keep)).

    Sensitivity: one edge moves one value by RESOLUTION. Unit: one edge of the cell.
    Proof: all noisy values together cost epsilon - 1e-9 (discrete Laplace); a choice among them, and cutting
    them at a threshold that depends on ``keep`` and the shape alone, is post-processing. Where not every slot
    is drawn, an absent one passes the threshold with a probability between q and q (1 + 2^-63), q < 0.26
    being the exact one, and its value beyond the threshold is exact. So each of its outcomes (a value that
    passes, or none) has its exact probability times a factor in 1 +- 2^-63, which the spared 1e-9 covers in
    both directions.
    Number: each slot passes with probability q at least, present or not, so the number of candidates is at
    least binomial with mean keep + 10 sqrt(keep) + 100.
    """
    check_keep(shape, keep, nano_epsilon)
    rng = rng or entropy.noise_generator()
    # numerator <= 2^20 * 10^9 < 2^50: the kernels' bounds hold
    # One nano-epsilon is spared for the coins of absent slots (see the proof).
    scale = Fraction(RESOLUTION * NANO, nano_epsilon - 1)
    taken = np.asarray(source, dtype=np.int64) * shape.target_count + np.asarray(target, dtype=np.int64)
    # Ten standard deviations and 100 more than what is kept.
    candidates = _SPARE * (math.isqrt(keep) + _SPARE) + keep
    # Where about as many would pass anyhow, drawing a value for every slot costs no more.
    if shape.slots <= _DENSE * candidates:
        keys, values = _every(taken, shape, scale, rng)
    else:
        keys, values = _passing(taken, shape, scale, candidates, rng)
    order = np.argsort(keys)  # so that nothing below depends on which keys were edges
    keys, values = keys[order], values[order]
    # Equal values are decided by lot: the order of keys would prefer small numbers of nodes.
    lots = rng.integers(0, WORD, size=len(keys), dtype=np.uint64)
    best = np.sort(keys[np.lexsort((lots, -values))[:keep]])
    return np.divmod(best, shape.target_count)


def _every(taken: np.ndarray, shape: Shape, scale: Fraction, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return keys ``source * targets + target`` and noisy values of all slots; O(sources * targets)."""
    keys = np.arange(shape.source_count * shape.target_count, dtype=np.int64)
    if shape.edge_type.homogeneous:
        s, t = np.divmod(keys, shape.target_count)
        keys = keys[s < t if shape.undirected else s != t]
    exact = np.zeros(len(keys), dtype=np.int64)
    exact[np.searchsorted(keys, taken)] = RESOLUTION
    return keys, samplers.add_discrete_laplace(rng, exact, scale.numerator, scale.denominator)


def _passing(
    taken: np.ndarray, shape: Shape, scale: Fraction, candidates: int, rng: Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return keys and noisy values of all slots that reach a threshold; ``candidates`` or more expected."""
    threshold, add, drop = threshold_for(shape, scale, candidates)
    edges = np.full(len(taken), RESOLUTION, dtype=np.int64)
    edges = samplers.add_discrete_laplace(rng, edges, scale.numerator, scale.denominator)
    high = edges >= threshold
    # Coins on all slots; those of present edges are thrown away, which leaves the others as they are.
    nothing = np.empty(0, dtype=np.int64)
    # ``drop`` is 1, the least that there is: no edge is present that could go.
    s, t = flip(nothing, nothing, shape, Flips(add, 1), rng=rng)
    absent = s * shape.target_count + t
    if len(taken):
        place = np.minimum(np.searchsorted(taken, absent), len(taken) - 1)
        absent = absent[taken[place] != absent]
    absent = absent[rng.integers(0, WORD, size=len(absent), dtype=np.uint64) >= np.uint64(drop)]
    beyond = _geometric(rng, len(absent), scale.numerator, scale.denominator)
    return np.concatenate([taken[high], absent]), np.concatenate([edges[high], threshold + beyond])


def threshold_for(shape: Shape, scale: Fraction, candidates: int) -> tuple[int, int, int]:
    """Choose the threshold of noise and two coins. It is the value that noise alone reaches with probability
    q = ``candidates / slots`` or a little more, and two coins in units of 2^-64: a slot passes when ``add``
    succeeds and ``drop`` fails.

    P(Z >= t) = a^t / (1 + a) with a = exp(-1 / scale). ``add`` is q rounded up, which at 2^50 slots is far
    from q itself; ``drop`` takes the excess away. Together they make q at least, q (1 + 2^-63) at most.
    Raises InvalidInput when too many slots would pass.
    """
    with localcontext(prec=60):
        rate = Decimal(scale.denominator) / scale.numerator
        room = 1 + (-rate).exp()
        # Rounded down: no fewer pass than are wanted.
        threshold = int(-(room * candidates / shape.slots).ln() / rate)
        q = (-rate * threshold).exp() / room * WORD * (1 + Decimal("1e-50"))
        flips = Flips(int(q.to_integral_value(ROUND_CEILING)), 1)
        drop = int((flips.add - q) / flips.add * WORD)
    check_size(shape, flips)
    return threshold, flips.add, drop


@kernel
def _geometric(rng: Generator, count: int, t: int, s: int) -> np.ndarray:
    """Draw ``count`` integers y >= 0 with probability proportional to exp(-y s / t)."""
    drawn = np.empty(count, np.int64)
    for i in range(count):
        drawn[i] = samplers.geometric_draw(rng, t, s)
    return drawn

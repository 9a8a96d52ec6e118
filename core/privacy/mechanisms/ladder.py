"""The number of triangles by the ladder mechanism, sampled exactly.

Zhang, Cormode, Procopiuc, Srivastava and Xiao, "Private release of graph statistics using ladder functions",
SIGMOD 2015. Integers around the true count stand on rungs; a rung's integers are drawn with probability
falling by exp(-epsilon/2) from rung to rung. How far a rung reaches follows the local sensitivity, which is
never put out.
"""

from __future__ import annotations

import math

from core.errors import InvalidInput
from core.kernels.decorator import kernel
from core.privacy import entropy
from core.privacy.accounting.events import NANO, check_nano_epsilon
from core.privacy.entropy import Generator
from core.privacy.mechanisms.samplers import LIMIT, MAX_RUN, below, bernoulli_exp, geometric_draw

MAX_WIDTH = 2**50
MAX_STEP = 2**16


def cap_of(nodes: int) -> int:
    """Bound the triangles that one edge can close. The bound is 1 at least. Public."""
    return max(1, nodes - 2)


def ladder(
    count: int, most_common: int, nodes: int, nano_epsilon: int, *, rng: Generator | None = None
) -> int:
    """Sample an integer near ``count``. Any integer may come out, negative ones too.

    ``count``: the triangles of a simple undirected graph of ``nodes`` nodes; ``most_common``: the most common
    neighbours of ANY two of its nodes, linked or not. Both private. Rung 0 holds ``count``; rung t >= 1 the
    next min(cap, most_common + t - 1) integers on each side; an integer of rung t is drawn with weight
    exp(-t epsilon / 2). Rungs never end: past the cap the tail is geometric.

    Sensitivity: an integer's rung moves by at most 1. Unit: one undirected edge. Costs ``nano_epsilon``.
    Proof: let G' be G with one edge more or less, C(G) = min(cap, most common neighbours), width I_s(G) =
    min(cap, C(G) + s), and a_t(G) = I_0 + ... + I_(t-1), how far rung t reaches. (i) The edge {i, j} makes or
    breaks as many triangles as i and j have common neighbours, in G as in G', hence at most C(G'). (ii) It
    moves the common neighbours of any pair by at most 1, so C(G) <= C(G') + 1 and I_s(G) <= I_(s+1)(G').
    Therefore an integer within a_t(G) of G's count lies within a_t(G) + C(G') <= a_(t+1)(G') of that of G'.
    So every weight changes by a factor exp(+-epsilon/2) at most, and so does their sum, which makes epsilon.
    Pairs that are not linked must count: between them the edge may appear.

    Exact (:func:`climbed`).
    """
    cap = cap_of(nodes)
    first = min(cap, most_common)
    return climbed(count, first, 1, cap - first, nano_epsilon, rng=rng)


def climbed(
    value: int, first: int, step: int, growth: int | None, nano_epsilon: int, *, rng: Generator | None = None
) -> int:
    """Sample an integer near ``value``. On rung t >= 1 stand the next ``first`` + ``step`` min(t - 1, growth)
    integers on each side, with weight exp(-t epsilon / 2); ``growth`` None: rungs widen without end.

    Sensitivity: the caller's: with one unit more or less no integer's rung may move by more than 1. That
    makes ``nano_epsilon``, as every weight and their sum then change by a factor exp(+-epsilon/2) at most.
    Unit: the caller's. Exact (:func:`_rung`): integers and fair coins alone. Sums past +-2^62 are cut, which
    is post-processing. ``first`` at most 2^50, ``step`` at most 2^16.
    """
    check_nano_epsilon(nano_epsilon)
    if not 0 <= first <= MAX_WIDTH or not 1 <= step <= MAX_STEP:
        raise InvalidInput("a rung is too wide to be drawn from", field="nodes")
    # q = exp(-epsilon / 2) in lowest terms: the kernel's products stay small.
    shared = math.gcd(nano_epsilon, 2 * NANO)
    numerator, denominator = nano_epsilon // shared, 2 * NANO // shared
    rng = rng or entropy.noise_generator()
    rung = int(_rung(rng, first, step, -1 if growth is None else growth, numerator, denominator))
    if not rung:
        return value
    widened = rung - 1 if growth is None else min(growth, rung - 1)
    inner, width = reached(first, step, growth, rung - 1), first + step * widened
    # One draw for both: its parity decides the side, its half the place.
    place = int(below(rng, 2 * width))
    offset = inner + 1 + place // 2
    return max(-LIMIT, min(LIMIT, value + (offset if place % 2 else -offset)))


def reached(first: int, step: int, growth: int | None, rungs: int) -> int:
    """Sum how far widening rungs reach on one side. It is the sum of first + step min(s, growth) for s <
    rungs."""
    # 0 + 1 + ... while rungs widen; from ``growth`` rungs on each is as wide as the last.
    growing = rungs if growth is None else min(rungs, growth)
    whole = rungs * first + step * (growing * (growing - 1) // 2)
    return whole if growth is None else whole + step * growth * (rungs - growing)


def reach(first: int, cap: int, rungs: int) -> int:
    """Sum how far rungs reach on one side. It is the sum of min(cap, first + s) for s < rungs."""
    return reached(first, 1, cap - first, rungs)


@kernel
def _rung(rng: Generator, first: int, step: int, growth: int, numerator: int, denominator: int) -> int:
    """A rung t >= 0, its weight q^t times its integers, q = exp(-numerator / denominator), exactly.

    Rung 0 has one integer; rung t has 2 (first + step min(t - 1, growth)) of them; a negative ``growth`` has
    no end. Summed over what is left of t past a slot's own power, a geometric tail of weight 1 / (1 - q), the
    law is a mixture of slots: one of weight 1 - q for rung 0; 2 first of weight q; and for every j in
    1..growth 2 step of weight q^(j+1), for the integers that rungs from j + 1 on have more. A slot is
    proposed evenly and accepted with its weight. For large growth, j = 1 + r + R a with r below
    R >= 1 / log(1/q), and a is geometric with q^R: all other slots are then accepted only with a = 0, which
    has probability 1 - q^R, so that weights keep their ratios. A proposal is accepted with a probability
    bounded from below whatever the arguments.
    """
    block = (denominator - 1) // numerator + 1
    cut = growth < 0 or growth > block
    if not cut:
        block = growth
    while True:
        slot = below(rng, 1 + 2 * first + 2 * step * block)
        blocks = 0
        while cut and blocks < MAX_RUN and bernoulli_exp(rng, block * numerator, denominator):
            blocks += 1
        if slot <= 2 * first:
            if blocks:
                continue
            if slot == 0:
                if not bernoulli_exp(rng, numerator, denominator):
                    return 0
                continue
            power, rung = 1, 1
        else:
            r = (slot - 2 * first - 1) % block
            j = 1 + r + block * blocks
            if 0 <= growth < j:
                continue
            power, rung = r + 2, j + 1
        if bernoulli_exp(rng, power * numerator, denominator):
            return rung + geometric_draw(rng, denominator, numerator)

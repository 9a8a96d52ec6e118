"""Compiled moves that balance triangles and clustering.

They bring the number of triangles and the damped sum of clustering to their aims together. Graphs and
arguments are those of :mod:`core.methods._shared.rewiring.moves`. A triangle counts one in the first number,
and in the second as much as its three corners weigh. Moves that add triangles and moves that lose some take
turns; one is made if both relative misses together become smaller.
"""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.exchange import (
    Places,
    exchange,
    gained,
    joined,
    lost,
    most_gained,
    places_for,
    weighed,
    worth,
)
from core.methods._shared.rewiring.moves import VISIT, closing, linkable, near, scattered, swapping
from core.methods._shared.rewiring.rows import Arrays, Move, Products, degree_of, mark
from core.privacy.entropy import Generator

# How edges are chosen that x and y give up, see `moves.closing`: more are looked at than while triangles are
# closed, as most edges are in some by now. Chosen at epsilon 1 on graphs of `benchmarks.regret`.
LOOKS = 4, 6, False
NEAR = 0.02  # both misses together: nearer is not sought
STALLED = 0.98  # of the miss, after as many proposals as there are ends: what is left is out of reach
TINY = 1e-9


@kernel
def balance(
    rows: Arrays,
    weight: np.ndarray,
    triangles: tuple[Int, Int],
    clustering: tuple[float, float],
    products: Products,
    proposals: int,
    rng: Generator,
) -> tuple[Int, float, int]:
    """Bring triangles and clustering near their aims. Returned are both, and the proposals made."""
    start, others, back, closed = rows[0], rows[1], rows[2], rows[5]
    (count, target), (total, wanted), (product, aim, band, steer) = triangles, clustering, products
    x: Int
    nodes, made = start.size - 1, 0
    places = places_for(start)
    pairs = np.empty((VISIT, 2), np.int32)
    miss = _miss(count, target, total, wanted)
    before, look = miss, others.size
    while made < proposals and miss > NEAR:
        # Looked at once in as many proposals as there are ends: single moves say nothing of what is in reach.
        if made >= look:
            if miss > STALLED * before:
                break
            before, look = miss, made + others.size
        lacking = total < wanted
        # Nodes of few edges weigh the most in clustering: each node alike has a turn; else hubs do, as ends
        # do.
        if lacking:
            x = np.int64(rng.random() * nodes)
        else:
            x = np.int64(others[back[int(rng.random() * others.size)]])
        made += 1
        mark(start, others, places[0], x)
        visit = min(VISIT, degree_of(start, x))
        made += visit
        # One draw of the generator for a visit; its choices are hashed from that, which is cheaper.
        seed = np.uint64(rng.integers(0, 2**63))
        for number in range(near(rows, x, visit, pairs, seed)):
            if not linkable(places[0], x, pairs[number, 1]):
                continue
            steered, own = (product, aim, band, steer), scattered(seed, visit + number)
            move, shift = closing(rows, weight, x, pairs[number], LOOKS, np.inf, steered, own)
            if move[4] < 0:
                continue
            joins = joined(rows, places, move)
            # The cheap bound first: what is given up weighs at least as much as the ends of its edges.
            if lacking and weighed(rows, weight, places, move) <= _least(weight, closed, move):
                continue
            standing = count, target, total, wanted, miss
            count, total, after = _bettered(rows, weight, places, move, joins, standing)
            if after < miss:
                product, miss = product + shift, after
        # As many swaps as pairs were tried: what closing put in too much goes before the next node has its
        # turn.
        for _ in range(visit + 1):
            if count <= target and total <= wanted:
                break
            made += 1
            move, shift = swapping(rows, (product, aim, band, steer), rng)
            if move[4] < 0:
                continue
            x = move[0]
            mark(start, others, places[0], x)
            joins = joined(rows, places, move)
            # Even if a and b shared all that they may, it would be no better: their rows need not be read.
            if _short(count + most_gained(rows, move, joins), target) >= miss:
                continue
            standing = count, target, total, wanted, miss
            count, total, after = _bettered(rows, weight, places, move, joins, standing)
            if after < miss:
                product, miss = product + shift, after
    return count, total, made


@kernel(inline="always")
def _bettered(
    rows: Arrays,
    weight: np.ndarray,
    places: Places,
    move: Move,
    joins: Int,
    standing: tuple[Int, Int, float, float, float],
) -> tuple[Int, float, float]:
    """Make a move if both misses together become smaller. Returned are triangles, clustering and the miss."""
    count, target, total, wanted, miss = standing
    more = gained(rows, places, move, joins)
    # The miss of triangles is a bound of both together: corners need not be weighed.
    if _short(count + more, target) >= miss:
        return count, total, miss
    lost(rows, places, move)
    gain = worth(rows, weight, places, move)
    after = _miss(count + more, target, total + gain, wanted)
    if after >= miss:
        return count, total, miss
    exchange(rows, places, move)
    return count + more, total + gain, after


@kernel(inline="always")
def _least(weight: np.ndarray, closed: np.ndarray, move: Move) -> float:
    """What the triangles that a move gives up weigh at least: the ends of their edges."""
    x, y, a, b, place_a, place_b = move
    least: float = closed[place_a] * (weight[x] + weight[a]) + closed[place_b] * (weight[y] + weight[b])
    return least


@kernel(inline="always")
def _short(count: Int, target: Int) -> float:
    """How far below their aim triangles are, relative to it: both misses together are no less."""
    short: float = (target - count) / max(target, 1)
    return short


@kernel(inline="always")
def _miss(count: Int, target: Int, total: float, wanted: float) -> float:
    """How far both are off, relative to the aims; squared, so that neither is given up for the other."""
    of_count, of_total = (count - target) / max(target, 1), (total - wanted) / max(wanted, TINY)
    return math.hypot(of_count, of_total)

"""Community adjustment by the exponential mechanism: one pass over the nodes, exactly sampled.

PSGraph, section 5.2 (after PrivGraph's community adjustment): a node is taken out of its community and
moves to community C with probability proportional to exp(kappa * e(v, C)), e the number of its neighbours
now in C.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from core.errors import InvalidInput
from core.kernels.decorator import kernel
from core.privacy import entropy
from core.privacy.accounting.events import NANO, check_nano_epsilon
from core.privacy.entropy import Generator
from core.privacy.mechanisms.samplers import below, bernoulli_exp

MAX_POWER = 12


def exponential_pass(
    adjacency: sp.csr_array,
    labels: np.ndarray,
    order: np.ndarray,
    nano_epsilon: int,
    *,
    rng: Generator | None = None,
) -> np.ndarray:
    """Move every node once, in ``order``. Returned are new labels 0..k'-1, int64 of shape (n,), communities
    renumbered.

    Candidates of node v are the communities that are non-empty once v is taken out; its own, if it was alone,
    comes back only when no other is left. The candidates depend on labels alone, which are paid-for output.

    Sensitivity: an edge {u, v} enters e(u, .) and e(v, .) only, one score by 1 in each; scores only grow
    with edges.
    Unit: one undirected edge of the cell.
    Proof: fix the input labels, the order, and the picks made before; then candidates and scores of the
    next pick are functions of the graph. With one edge more, at most one candidate's weight grows, by a
    factor exp(kappa), so the normaliser grows by a factor in [1, exp(kappa)], and every candidate's
    probability changes by a factor in [exp(-kappa), exp(kappa)]; no factor 2 is lost because all weights
    move in one direction. Only the picks of u and of v see the edge, and each node picks once. By adaptive
    composition of the picks, of which the result is a function, the pass costs 2 kappa = nano_epsilon,
    kappa = nano_epsilon / 2.

    Exact: no floating point (:func:`core.privacy.mechanisms.samplers.bernoulli_exp`). Expected O(n + m) steps
    for any number of communities, up to a factor that grows with the ratio of weights among one node's own
    communities.
    """
    check_nano_epsilon(nano_epsilon)
    order = check_order(order, adjacency.shape[0])
    _, compact = np.unique(labels, return_inverse=True)
    # In lowest terms, so that products with scores pass 2^62 as late as
    # can be. kappa = epsilon / 2, since both ends of an edge see it once.
    shared = math.gcd(nano_epsilon, 2 * NANO)
    moved = _pass(
        adjacency.indptr.astype(np.int64),
        np.ascontiguousarray(adjacency.indices),
        compact.astype(np.int64),
        order,
        nano_epsilon // shared,
        2 * NANO // shared,
        rng or entropy.noise_generator(),
    )
    return np.unique(moved, return_inverse=True)[1].astype(np.int64)


def check_order(order: np.ndarray, count: int) -> np.ndarray:
    """Return ``order`` as int64, copied. InvalidInput unless it is a permutation of 0..count-1."""
    array = np.asarray(order)
    if array.shape != (count,) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput("order is a permutation of the nodes", field="order")
    array = array.astype(np.int64, copy=True)
    if not np.array_equal(np.sort(array), np.arange(count)):
        raise InvalidInput("order is a permutation of the nodes", field="order")
    return array


@kernel
def _pass(
    indptr: np.ndarray,
    indices: np.ndarray,
    labels: np.ndarray,
    order: np.ndarray,
    numerator: int,
    denominator: int,
    rng: Generator,
) -> np.ndarray:
    """Move every node once; kappa = numerator / denominator. The labels array is changed and returned."""
    k = labels.max() + 1 if labels.size else 0
    size = np.zeros(k, np.int64)
    for label in labels:
        size[label] += 1
    alive = np.arange(k)  # the non-empty communities; those touched by the node at hand stand first
    place = np.arange(k)
    living = k
    score = np.zeros(k, np.int64)
    for v in order:
        own = labels[v]
        size[own] -= 1
        if size[own] == 0 and living > 1:
            living -= 1
            _swap(alive, place, place[own], living)
        labels[v] = -1
        touched = 0
        best = 0
        for position in range(indptr[v], indptr[v + 1]):
            c = labels[indices[position]]
            if c < 0:  # a self-loop; canonical graphs have none
                continue
            if score[c] == 0:
                _swap(alive, place, place[c], touched)
                touched += 1
            score[c] += 1
            best = max(best, score[c])
        pick = _pick(alive, living, touched, score, best, numerator, denominator, rng)
        for position in range(touched):
            score[alive[position]] = 0
        labels[v] = pick
        size[pick] += 1
    return labels


@kernel
def _swap(alive: np.ndarray, place: np.ndarray, i: int, j: int) -> None:
    a, b = alive[i], alive[j]
    alive[i], alive[j] = b, a
    place[a], place[b] = j, i


@kernel
def _pick(
    alive: np.ndarray,
    living: int,
    touched: int,
    score: np.ndarray,
    best: int,
    numerator: int,
    denominator: int,
    rng: Generator,
) -> int:
    """Draw one community of ``alive[:living]`` with probability proportional to exp(kappa * score), exactly.

    Rejection. Weights relative to the best are w(C) = exp(-kappa (best - score)). A touched community is
    proposed with weight 1 and accepted with w. The untouched ones share w0 = exp(-kappa best); they are
    proposed with weight (3/8)^j >= w0 each, j = floor(kappa best) at most, and accepted with w0 (8/3)^j. So
    many untouched communities do not drown the touched ones in refusals.
    """
    if touched == 0:
        only: int = alive[below(rng, living)]
        return only
    untouched = living - touched
    power = min(MAX_POWER, _gamma_floor(best, numerator, denominator))
    # weights as integers over 8^power; smaller powers once the untouched ones weigh less than the touched
    j = 0
    up, low = 1, 1
    while j < power and untouched * low > touched * up:
        j += 1
        up *= 8
        low *= 3
    total = touched * up + untouched * low
    while True:
        r = below(rng, total)
        if r < touched * up:
            c = alive[r // up]
            if _accept(best - score[c], numerator, denominator, rng):
                near: int = c
                return near
        elif _accept_untouched(best, j, numerator, denominator, rng):
            far: int = alive[touched + (r - touched * up) // low]
            return far


@kernel
def _gamma_floor(distance: int, numerator: int, denominator: int) -> int:
    """Compute floor(kappa * distance), held where the product would pass 2^62 (gamma above 2^30)."""
    if distance > 2**62 // numerator:
        return 2**30
    return distance * numerator // denominator


@kernel
def _accept(distance: int, numerator: int, denominator: int, rng: Generator) -> bool:
    """Draw True with probability exp(-kappa * distance)."""
    if distance > 2**62 // numerator:
        return False
    return bernoulli_exp(rng, distance * numerator, denominator)


@kernel
def _accept_untouched(best: int, j: int, numerator: int, denominator: int, rng: Generator) -> bool:
    """Draw True with probability exp(-kappa * best) (8/3)^j = (8/(3e))^j exp(-(kappa * best - j))."""
    for _ in range(j):
        if not _bernoulli_eight_thirds_over_e(rng):
            return False
    if best > 2**62 // numerator:
        return False
    return bernoulli_exp(rng, best * numerator - j * denominator, denominator)


@kernel
def _bernoulli_eight_thirds_over_e(rng: Generator) -> bool:
    """Draw True with probability 8/(3e) = 1 - 1/45 + 1/45/6 - 1/45/6/7 + ... (the exponential series from
    1/5! on).

    The alternating sum of decreasing terms is the probability that the first failure among trials of the
    successive ratios 1/45, 1/6, 1/7, ... comes after an even number of successes.
    """
    if below(rng, 45) != 0:
        return True
    k = 6
    while below(rng, k) == 0:
        k += 1
    return k % 2 == 1

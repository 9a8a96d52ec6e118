"""The compiled swaps: proposed, weighed and made.

A part of :mod:`core.methods._shared.slots.markov_chain`. An edge is one int64, ``first << 34 | second << 2 |
answer``. What is known of slots stands in :mod:`core.methods._shared.slots.occupied`: occupied by an edge, or
taken; marked by the evidence.
"""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.slots.occupied import MARKED, OCCUPIED, enter, leave, look
from core.privacy.entropy import Generator
from core.privacy.mechanisms.lazy_response import flipped

TURN = 16  # in sided cells every 16th proposal turns three edges
_FIRST, _SECOND = 34, 2
_ENDS = 2**32 - 1
_ONE_DRAW = 2**20  # below so many edges, one draw names two of them
_BITS = 24


@kernel
def pack(
    first: np.ndarray,
    second: np.ndarray,
    targets: int,
    known: np.ndarray,
    dense: bool,
    lazy: bool,
    prf_key: np.ndarray,
    threshold: np.uint64,
) -> np.ndarray:
    """Pack the edges as the chain holds them. Each has its answer."""
    edges = np.empty(first.size, np.int64)
    for i in range(first.size):
        u, v = first[i], second[i]  # canonical, so that nothing is to be turned round
        answer = _answer(look(known, dense, u * targets + v), u, v, False, lazy, prf_key, threshold)
        edges[i] = u << _FIRST | v << _SECOND | answer
    return edges


@kernel
def run(
    edges: np.ndarray,
    targets: int,
    undirected: bool,
    homogeneous: bool,
    known: np.ndarray,
    dense: bool,
    lazy: bool,
    prf_key: np.ndarray,
    threshold: np.uint64,
    ratio: float,
    left: np.ndarray,
    right: np.ndarray,
    proposals: int,
    rng: Generator,
) -> None:
    """Run ``proposals`` proposals, accepted or not, on ``edges``.

    They are changed in place, as is ``known``.

    ``known``: see :mod:`core.methods._shared.slots.occupied`; marked are the slots that came out
    present, or where ``lazy`` the true edges, whose flips ``prf_key`` and ``threshold`` give. ``ratio``: the
    log likelihood ratio of one answer. ``left[u] @ right[v]`` is added to the log odds of the slot (u, v).
    """
    count, scored = edges.size, left.shape[1] > 0
    # exp(-ratio * answers lost), once: the loop would compute it for each proposal.
    chance = np.array([math.exp(-ratio * lost) for lost in range(4)])
    for proposal in range(proposals):
        x = rng.random()
        if count < _ONE_DRAW:
            # One draw has 53 bits: 24 for each edge and the rest for a coin. The choice is not quite even,
            # but a proposal and its reverse name the same two places, and Metropolis asks for no more.
            x *= 2.0 ** (2 * _BITS)
            word = np.int64(x)
            i = ((word >> _BITS) * count) >> _BITS
            j = ((word & (2**_BITS - 1)) * count) >> _BITS
            rest = x - word
        else:
            i = np.int64(x * count)
            x = rng.random() * count
            j = np.int64(x)
            rest = x - j
        if not undirected and proposal % TURN == TURN - 1:
            k = np.int64(rng.random() * count)
            if rest < 0.5:  # both directions equally likely, however the three were drawn
                j, k = k, j
            _turn(
                edges, i, j, k, targets, homogeneous, known, dense, lazy, prf_key, threshold, ratio,
                left, right, rng,
            )  # fmt: skip
            continue
        one, two = edges[i], edges[j]
        u, v = one >> _FIRST, (one >> _SECOND) & _ENDS
        a, b = two >> _FIRST, (two >> _SECOND) & _ENDS
        # An undirected edge has two ways round; either is as likely, so that all swaps can be reached.
        if undirected and rest < 0.5:
            a, b = b, a
        # (u, v) and (a, b) would become (u, b) and (a, v)
        # With an end in common nothing would change; or a loop would come about.
        if u == a or v == b or (homogeneous and (u == b or a == v)):
            continue
        mine = _slot(u, b, targets, undirected)
        theirs = _slot(a, v, targets, undirected)
        at_mine, at_theirs = look(known, dense, mine), look(known, dense, theirs)
        if (at_mine | at_theirs) & OCCUPIED:
            continue
        first = _answer(at_mine, u, b, undirected, lazy, prf_key, threshold)
        second = _answer(at_theirs, a, v, undirected, lazy, prf_key, threshold)
        # The lowest bit of an edge is its own answer.
        gain = first + second - (one & 1) - (two & 1)
        if scored:
            more = _score(left, right, u, b, undirected) + _score(left, right, a, v, undirected)
            more -= _score(left, right, u, v, undirected) + _score(left, right, a, b, undirected)
            more += ratio * gain
            if more < 0 and rng.random() >= math.exp(more):
                continue
        # Metropolis: accepted with probability min(1, exp(ratio * gain)).
        elif gain < 0 and rng.random() >= chance[-gain]:
            continue
        # Out before in, so that the table never holds more than it was made for.
        leave(known, dense, _slot(u, v, targets, undirected))
        leave(known, dense, _slot(a, b, targets, undirected))
        enter(known, dense, mine)
        enter(known, dense, theirs)
        edges[i] = u << _FIRST | b << _SECOND | first
        edges[j] = a << _FIRST | v << _SECOND | second


@kernel
def _turn(
    edges: np.ndarray,
    i: Int,
    j: Int,
    k: Int,
    targets: int,
    homogeneous: bool,
    known: np.ndarray,
    dense: bool,
    lazy: bool,
    prf_key: np.ndarray,
    threshold: np.uint64,
    ratio: float,
    left: np.ndarray,
    right: np.ndarray,
    rng: Generator,
) -> None:
    """Propose to turn the targets of three edges round: the first gets the second's, the second the third's.

    A slot that another edge of the three would leave counts as occupied, in both directions.
    """
    one, two, three = edges[i], edges[j], edges[k]
    u, v = one >> _FIRST, (one >> _SECOND) & _ENDS
    a, b = two >> _FIRST, (two >> _SECOND) & _ENDS
    c, d = three >> _FIRST, (three >> _SECOND) & _ENDS
    if homogeneous and (u == b or a == d or c == v):
        return
    mine, theirs, other = u * targets + b, a * targets + d, c * targets + v
    at_mine, at_theirs = look(known, dense, mine), look(known, dense, theirs)
    at_other = look(known, dense, other)
    # A slot that one of the three would leave is refused too: its reverse is refused in the same way.
    if (at_mine | at_theirs | at_other) & OCCUPIED:
        return
    first = _answer(at_mine, u, b, False, lazy, prf_key, threshold)
    second = _answer(at_theirs, a, d, False, lazy, prf_key, threshold)
    third = _answer(at_other, c, v, False, lazy, prf_key, threshold)
    more = ratio * (first + second + third - (one & 1) - (two & 1) - (three & 1))
    if left.shape[1]:
        more += _dot(left, right, u, b) + _dot(left, right, a, d) + _dot(left, right, c, v)
        more -= _dot(left, right, u, v) + _dot(left, right, a, b) + _dot(left, right, c, d)
    # Metropolis, as in :func:`run`.
    if more < 0 and rng.random() >= math.exp(more):
        return
    leave(known, dense, u * targets + v)
    leave(known, dense, a * targets + b)
    leave(known, dense, c * targets + d)
    enter(known, dense, mine)
    enter(known, dense, theirs)
    enter(known, dense, other)
    edges[i] = u << _FIRST | b << _SECOND | first
    edges[j] = a << _FIRST | d << _SECOND | second
    edges[k] = c << _FIRST | v << _SECOND | third


@kernel
def unpack(edges: np.ndarray, targets: int, undirected: bool) -> np.ndarray:
    """Return the slots of the edges."""
    keys = np.empty(edges.size, np.int64)
    for i in range(edges.size):
        keys[i] = _slot(edges[i] >> _FIRST, (edges[i] >> _SECOND) & _ENDS, targets, undirected)
    return keys


@kernel(inline="always")
def _slot(u: Int, v: Int, targets: int, undirected: bool) -> Int:
    return v * targets + u if undirected and u > v else u * targets + v


@kernel(inline="always")
def _answer(
    bits: Int, u: Int, v: Int, undirected: bool, lazy: bool, prf_key: np.ndarray, threshold: np.uint64
) -> np.int64:
    """Return 1 where the evidence calls the slot of u and v, of which ``bits`` are known, an edge."""
    present = bits & MARKED != 0
    if lazy:
        # The slot's coin is that of its canonical pair, whichever way round the edge is read.
        if undirected and u > v:
            u, v = v, u
        # Lazy evidence: a true edge is reported unless its coin flips it, an absent one if it does.
        present ^= flipped(prf_key, threshold, u, v)
    return np.int64(present)


@kernel(inline="always")
def _score(left: np.ndarray, right: np.ndarray, u: Int, v: Int, undirected: bool) -> float:
    return _dot(left, right, v, u) if undirected and u > v else _dot(left, right, u, v)


@kernel
def _dot(left: np.ndarray, right: np.ndarray, u: Int, v: Int) -> float:
    total = 0.0
    for k in range(left.shape[1]):
        total += left[u, k] * right[v, k]
    return total

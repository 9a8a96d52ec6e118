"""Randomised response on the edge slots of one cell. Each is flipped or kept, independently.

An absent edge appears with probability p_add, a present one vanishes with probability p_drop. Probabilities
are integers over 2^64, so that the law which is sampled is the law whose epsilon is printed. No slot is
walked that does not appear: the work grows with the edges that go in and come out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from core.graphs.columns.key_sort import sorted_keys
from core.kernels.decorator import kernel
from core.privacy import entropy
from core.privacy.accounting.flips import WORD, Flips, check_size
from core.privacy.entropy import Generator
from core.privacy.mechanisms.samplers import below
from core.privacy.queries import Shape

_BITS = 1024  # of the distribution function that decides where 64 bits do not
_CHUNK = 2**20


def flip(
    source: np.ndarray, target: np.ndarray, shape: Shape, flips: Flips, *, rng: Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Flip the slots of a cell. Returned are (source, target) int64, canonical and sorted by (source,
    target).

    ``source`` and ``target`` are the edges of a canonical cell. O(m log m + p_add * slots). ``rng`` is for
    tests of the law alone.

    Sensitivity: one edge of the cell is one slot. Unit: one edge of the cell.
    Proof: slots are flipped independently, so the output's probability is a product over slots, and
    neighbours differ in one factor. That factor's ratio is (1 - p_drop) / p_add where the slot comes out
    present and (1 - p_add) / p_drop where it comes out absent, or the inverse; with p_add + p_drop <= 1 both
    are at least 1, so their larger logarithm is epsilon. The sorted order is a function of the set.

    Exact: a survivor is a comparison of 64 uniform bits with a threshold. Additions: absent slots in blocks
    of a power of two; a block's number is binomial, drawn by inversion of its distribution function on 64
    bits, and on 1024 where those do not decide (which leaves less than 2^-1000 of a draw to rounding); its
    members are distinct and uniform. That is the law of independent coins.
    """
    rng = rng or entropy.noise_generator()
    check_size(shape, flips)
    edges = len(source)
    drop = np.uint64(flips.drop)
    # An edge goes where its 64 bits lie below ``drop``: with probability drop / 2^64, exactly.
    stays = _by_chunk(edges, np.bool_, lambda part: _words(rng, part.stop - part.start) >= drop)
    taken = _by_chunk(edges, np.uint64, lambda part: _ranks(source[part], target[part], shape))
    taken = sorted_keys(taken).view(np.int64)
    chosen = _hits(rng, shape.slots - edges, flips.add)
    # The r-th absent slot comes after as many taken ones as have at most r absent slots before them.
    for part in _chunks(edges):
        taken[part] -= np.arange(part.start, part.stop)
    for part in _chunks(len(chosen)):
        chosen[part] += np.searchsorted(taken, chosen[part], side="right")
    del taken
    keys = _keys((source, target, stays), chosen, shape)
    del chosen
    # Sorted, so that the order follows from the set and not from which slots were edges.
    ends = np.divmod(sorted_keys(keys), np.uint64(shape.target_count))
    return ends[0].view(np.int64), ends[1].view(np.int64)


def _keys(kept: tuple[np.ndarray, np.ndarray, np.ndarray], chosen: np.ndarray, shape: Shape) -> np.ndarray:
    """Pack ``source * targets + target`` of the edges (source, target, stays) that stay, and of the slots
    that were chosen; uint64, in no order."""
    source, target, stays = kept
    keys = np.empty(int(np.count_nonzero(stays)) + len(chosen), dtype=np.uint64)
    size = 0
    for part in _chunks(len(source)):
        here = stays[part]
        size = _put(keys, size, source[part][here], target[part][here], shape)
    for part in _chunks(len(chosen)):
        size = _put(keys, size, *_slots(chosen[part], shape), shape)
    return keys


def _put(keys: np.ndarray, size: int, source: np.ndarray, target: np.ndarray, shape: Shape) -> int:
    """Put the keys of these edges behind the first ``size`` ones; return how many there are now."""
    stop = size + len(source)
    keys[size:stop] = source.astype(np.uint64) * np.uint64(shape.target_count) + target.astype(np.uint64)
    return stop


def _chunks(size: int) -> Iterator[slice]:
    for first in range(0, size, _CHUNK):
        yield slice(first, min(first + _CHUNK, size))


def _by_chunk(size: int, dtype: type, compute: Callable[[slice], np.ndarray]) -> np.ndarray:
    """Fill an array of that size part by part: what computes one needs no memory for all of it."""
    filled: np.ndarray = np.empty(size, dtype=dtype)
    for part in _chunks(size):
        filled[part] = compute(part)
    return filled


def _words(rng: Generator, count: int) -> np.ndarray:
    return rng.integers(0, WORD, size=count, dtype=np.uint64)


def _ranks(source: np.ndarray, target: np.ndarray, shape: Shape) -> np.ndarray:
    """Number every edge by its place among the slots, from 0. Below 2^62 for any admitted universe."""
    s, t = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    if not shape.edge_type.homogeneous:
        return s * shape.target_count + t
    if shape.undirected:
        # Pairs s < t in the order of t: t (t - 1) / 2 of them have a smaller one.
        return t * (t - 1) // 2 + s
    # A row has no slot for the loop: what stands behind the diagonal moves up by one.
    return s * (shape.target_count - 1) + t - (t > s)


def _slots(ranks: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ends of every slot: the inverse of :func:`_ranks`."""
    if not shape.edge_type.homogeneous:
        return ranks // shape.target_count, ranks % shape.target_count
    if shape.undirected:
        t = _triangle_row(ranks)
        return ranks - t * (t - 1) // 2, t
    s, t = ranks // (shape.target_count - 1), ranks % (shape.target_count - 1)
    return s, t + (t >= s)


@kernel
def _triangle_row(ranks: np.ndarray) -> np.ndarray:
    """Find the t with t(t-1)/2 <= rank < t(t+1)/2; the root is a guess that integers put right."""
    rows = np.empty(ranks.size, np.int64)
    for i in range(ranks.size):
        t = np.int64((1 + math.sqrt(1.0 + 8.0 * ranks[i])) / 2)
        while t * (t - 1) // 2 > ranks[i]:
            t -= 1
        while t * (t + 1) // 2 <= ranks[i]:
            t += 1
        rows[i] = t
    return rows


def _hits(rng: Generator, slots: int, threshold: int) -> np.ndarray:
    """Draw those of 0..slots-1 whose coin of p = threshold / 2^64 succeeds; int64. O(slots * p) expected."""
    size = 2 ** max(0, (WORD // threshold).bit_length() - 1)  # 1/2 < size * p <= 1 where p < 1
    blocks, rest = divmod(slots, size)
    parts = [
        _chunk(rng, min(_CHUNK, blocks - first), size, threshold, first) for first in range(0, blocks, _CHUNK)
    ]
    while rest:  # the last slots, in blocks of smaller powers
        piece = 2 ** (rest.bit_length() - 1)
        parts.append(slots - rest + _chunk(rng, 1, piece, threshold, 0))
        rest -= piece
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _chunk(rng: Generator, blocks: int, size: int, threshold: int, first: int) -> np.ndarray:
    counts = _binomial(size, threshold).draw(rng, blocks)
    return _spread(rng, counts, int(counts.sum()), size) + first * size


@kernel
def _spread(rng: Generator, counts: np.ndarray, total: int, size: int) -> np.ndarray:
    """Draw ``counts[i]`` distinct uniform places in block i; blocks one after another."""
    places = np.empty(total, np.int64)
    end = 0
    for block in range(counts.size):
        begin = end
        while end - begin < counts[block]:
            place = block * size + below(rng, size)
            fresh = True
            for j in range(begin, end):
                if places[j] == place:
                    fresh = False
                    break
            if fresh:
                places[end] = place
                end += 1
    return places


class _Binomial:
    """Binomial(size, threshold / 2^64) by inversion, for size * p <= 1."""

    def __init__(self, size: int, threshold: int) -> None:
        scale = 2 * _BITS  # guard digits: the products below lose less than 2^-2000 in all
        p = Fraction(threshold, WORD)
        # P(0) = (1 - p)^size, from which each next mass follows.
        none = _power((WORD - threshold) * 2 ** (scale - 64), size, scale)
        cumulative, mass, total = [], none, none
        for k in range(size + 1):
            cumulative.append(min(total, 2**scale) >> _BITS)
            if k == size or total >= 2**scale - 2 ** (scale - _BITS):
                break
            # P(k + 1) = P(k) (size - k) p / ((k + 1) (1 - p)).
            mass = mass * (size - k) * p.numerator // ((k + 1) * (p.denominator - p.numerator))
            total += mass
        if len(cumulative) > size:
            cumulative.pop()  # all that is left is certain
        self._fine = cumulative
        coarse = [value >> (_BITS - 64) for value in cumulative]
        self._coarse = np.array([min(value, WORD - 1) for value in coarse], dtype=np.uint64)

    def draw(self, rng: Generator, count: int) -> np.ndarray:
        """Draw ``count`` independent values, int64: the number of k with F(k) <= U, U uniform in [0, 1)."""
        words = _words(rng, count)
        values = np.searchsorted(self._coarse, words, side="left")
        # Where a word equals an entry's first 64 bits, further bits decide.
        undecided = np.flatnonzero(self._coarse[np.minimum(values, len(self._coarse) - 1)] == words)
        for i in undecided:
            tail = int.from_bytes(rng.bytes((_BITS - 64) // 8), "big")
            exact = int(words[i]) << (_BITS - 64) | tail
            values[i] = sum(exact >= value for value in self._fine)
        return values.astype(np.int64)


_binomial = lru_cache(maxsize=64)(_Binomial)


def _power(base: int, exponent: int, scale: int) -> int:
    """Compute (base / 2^scale) ** exponent in units of 2^-scale, rounded down at each product."""
    result: int = 2**scale
    while exponent:
        if exponent & 1:
            result = result * base >> scale
        base = base * base >> scale
        exponent >>= 1
    return result

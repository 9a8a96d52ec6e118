"""Edge ends by group of values, and shares to match.

Values are dealt by these so that groups have their ends. Post-processing of paid numbers. Classes are of
noisy degrees, within which values go with degree less than they do in truth. The margins of the mixing matrix
tell better how many ends each group has, once put right for its cap: an edge between nodes of d and d' edges
is among the first ``cap`` of both with a chance of about min(1, cap / max(d, d')), as both ends go by the
same order of edges. Where noise or the cap leaves little of that, values are dealt as the classes say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub
from core.methods._shared.blocks.whole import upper_triangle

LEVELS, MOST_LEVELS = 64, 1024
"""Half octaves of degree that are told apart, on each side; and levels in all."""
UNSURE = 0.2
"""What is not kept under the cap is put right up to about so much of itself."""
PASSES, ROUNDS, STEEPEST = 2, 60, 4.0
"""A group's share of a level changes by the degree to the power of ``STEEPEST`` at most."""
CLASSES_OFF = 0.1
"""What classes say of a group's ends is taken to be off by so much of itself at least."""
FEWEST = 0.1
"""A group's ends are not put below so much of what its classes say."""
SMALLEST, NEAR = 1e-9, 1e-4


class Ends(NamedTuple):
    """Paid degrees of every node, of all steps together.

    They are of one relation: float64 (n,) of its ``source`` and ``target`` side; the target's is None where
    the relation is undirected.
    """

    source: np.ndarray
    target: np.ndarray | None = None

    def with_more(self, other: Ends) -> Ends:
        """Add the degrees of another cell of the same relation."""
        both = None if self.target is None or other.target is None else self.target + other.target
        return Ends(self.source + other.source, both)

    @property
    def both(self) -> np.ndarray:
        """Degrees of either side together."""
        return self.source if self.target is None else self.source + self.target


def over_steps(cells: Iterable[tuple[str, np.ndarray, np.ndarray | None]]) -> dict[str, Ends]:
    """Sum each relation's degrees over its cells.

    By its name, the source's side and, where it has one, the target's.
    """
    found: dict[str, Ends] = {}
    for name, source, target in cells:
        own = Ends(source.astype(np.float64), None if target is None else target.astype(np.float64))
        found[name] = found[name].with_more(own) if name in found else own
    return found


class Told(NamedTuple):
    """A relation's measured mixing.

    Noisy counts (k, k), the cap and the scale of the noise; and the paid degrees of its nodes.
    """

    counts: np.ndarray
    cap: int
    scale: float
    ends: Ends


class OneSide(NamedTuple):
    """One side's estimates from a relation with another type.

    Noisy counts (k, groups of the others), both sides' caps, None for none, the scale of the noise, and the
    side's own paid degrees, as ``ends``; of the others' edge ends mean degrees and shares, by class of
    degree.
    """

    counts: np.ndarray
    cap: int | None
    other_cap: int | None
    scale: float
    ends: Ends
    other_degrees: np.ndarray
    other_shares: np.ndarray


class _Sides(NamedTuple):
    """One relation by level: mean degrees of the source's and the target's side, and of both together."""

    told: Told | OneSide
    degrees: tuple[np.ndarray, ...]
    both: np.ndarray


def by_level(
    classes: np.ndarray, shares: np.ndarray, groups: np.ndarray, told: Sequence[Told | OneSide]
) -> tuple[np.ndarray, np.ndarray]:
    """Divide classes of nodes by degree.

    Returned are the level of every node, int64 (n,), and shares of values in each.

    ``classes`` (n,), ``shares`` (classes, bins): what was paid for; ``groups`` (bins,): those of mixing.
    Every value has as many nodes as before, about. O(n + levels * (bins + levels)).
    """
    levels, within, relations = _levels(classes, told)
    size = np.bincount(levels).astype(np.float64)
    count = int(groups.max()) + 1
    fine = shares[within]
    start = np.stack([fine[:, groups == group].sum(axis=1) for group in range(count)], axis=1)
    found = start
    for _ in range(PASSES if count > 1 else 0):
        aims = [aim for each in relations for aim in _aims(each, size, start, found)]
        sides = [side for each in relations for side in each.degrees]
        found = tilted(start, size, sides, aims)
    return levels, fine * (found / np.maximum(start, SMALLEST))[:, groups]


def _levels(
    classes: np.ndarray, told: Sequence[Told | OneSide]
) -> tuple[np.ndarray, np.ndarray, list[_Sides]]:
    """Divide classes by the degrees of relations, as many of them as there is room for."""
    found = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    used = []
    for each in told:
        finer = found
        for side in _sides(each.ends):
            octave = np.floor(2 * np.log2(np.maximum(side, 0) + 1)).astype(np.int64)
            finer = np.unique(finer * LEVELS + np.minimum(octave, LEVELS - 1), return_inverse=True)[1]
        # A relation that would make too many levels is left out; later ones may still fit.
        if int(finer.max(initial=0)) < MOST_LEVELS:
            found = finer
            used.append(each)
    size = np.bincount(found)
    within = np.empty(len(size), dtype=np.int64)
    within[found] = classes
    relations = []
    for each in used:
        mean = tuple(np.bincount(found, weights=np.maximum(side, 0)) / size for side in _sides(each.ends))
        relations.append(_Sides(each, mean, mean[0] if len(mean) == 1 else mean[0] + mean[1]))
    return found, within, relations


def _sides(ends: Ends) -> tuple[np.ndarray, ...]:
    return (ends.source,) if ends.target is None else (ends.source, ends.target)


def _aims(relation: _Sides, size: np.ndarray, start: np.ndarray, shares: np.ndarray) -> list[np.ndarray]:
    """Estimate the share of edge ends that each group has, on each side; (k,) each.

    ``start`` (levels, k): as the classes say; ``shares``: as they are dealt by so far, which tells how many
    edges the cap takes from each group.
    """
    sides = relation.degrees
    by_class = [(start * (size * side)[:, None]).sum(axis=0) + SMALLEST for side in sides]
    read = _read_of(relation, size, shares)
    return [
        _aim(*each, own / own.sum(), float(size @ side), relation.told.scale)
        for each, own, side in zip(read, by_class, sides, strict=True)
    ]


def _read_of(
    relation: _Sides, size: np.ndarray, shares: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Return of each side its groups' noisy ends, what share of them the cap takes, and entries of noise."""
    meeting, sides = relation.told, relation.degrees
    dealt = [_even(shares * (size * side)[:, None]) for side in sides]
    if isinstance(meeting, OneSide):
        own = np.ones(len(sides[0])) if meeting.cap is None else meeting.cap / np.maximum(sides[0], SMALLEST)
        other = meeting.other_degrees
        others = np.ones(len(other)) if meeting.other_cap is None else meeting.other_cap / other
        # Both ends go by one order of edges, so that the smaller of both chances decides, not their product.
        taken = np.minimum(1, np.minimum.outer(own, others)) @ meeting.other_shares
        capped = np.clip(dealt[0].T @ taken, SMALLEST, 1)
        return [(meeting.counts.sum(axis=1), capped, meeting.counts.shape[1])]
    meet = np.minimum(1, meeting.cap / np.maximum(np.maximum.outer(relation.both, relation.both), SMALLEST))
    kept = dealt[0].T @ meet @ dealt[-1]
    counts, mixed, entries = _square(meeting, len(sides) == 2)
    found = []
    # Which edges the cap takes depends on where they are: weighed by the cells that were read.
    for axis in range(len(sides)):
        capped = (mixed * kept).sum(axis=1 - axis) / np.maximum(mixed.sum(axis=1 - axis), SMALLEST)
        found.append((counts.sum(axis=1 - axis), np.clip(capped, SMALLEST, 1), entries))
    return found


def _aim(
    read: np.ndarray, capped: np.ndarray, entries: int, by_class: np.ndarray, ends: float, scale: float
) -> np.ndarray:
    """Estimate one side's shares of edge ends by group: classes' shares drawn towards what was read."""
    found = read / capped
    total = max(float(found.sum()), ends / 2, SMALLEST)
    # Variances: of the noise, blown up by what the cap took; and of that correction itself.
    noise = 2 * scale**2 * entries / (capped * total) ** 2 + (UNSURE * (1 - capped) * by_class) ** 2
    off = found / total - by_class
    # How far classes are off, of themselves: what noise as great as it may well be does not explain.
    unexplained = (off**2 - (1 + math.sqrt(2 / len(off))) * noise).sum()
    spread = np.clip(unexplained / (by_class**2).sum(), CLASSES_OFF**2, 1) * by_class**2
    # The best linear estimate: classes' shares move by what stands out from noise.
    moved = by_class + off * spread / np.maximum(spread + noise, SMALLEST**2)
    aimed: np.ndarray = np.maximum(moved, FEWEST * by_class)
    return aimed


def _even(weights: np.ndarray) -> np.ndarray:
    """Scale columns to sum to 1; one without any is like all together."""
    whole = weights.sum(axis=1)[:, None] * SMALLEST + SMALLEST**2
    levelled: np.ndarray = (weights + whole) / (weights + whole).sum(axis=0)
    return levelled


def _square(told: Told, directed: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Noisy ends between groups; the same with nothing below zero; and entries of noise in a margin's sum."""
    k = len(told.counts)
    if directed:
        counts = told.counts.astype(np.float64)
        return counts, norm_sub(counts.ravel()).reshape(k, k) + SMALLEST, k
    row, column = upper_triangle(k)
    upper, mixed = np.zeros((2, k, k))
    upper[row, column] = told.counts[row, column]
    mixed[row, column] = norm_sub(told.counts[row, column].astype(np.float64))
    return upper + upper.T, mixed + mixed.T + SMALLEST, k + 3  # an edge inside a group has two ends there


def tilted(
    shares: np.ndarray, size: np.ndarray, sides: Sequence[np.ndarray], aims: Sequence[np.ndarray]
) -> np.ndarray:
    """Tilt shares of groups so that groups have their ends.

    Shares are (levels, k), tilted by powers of the levels' degrees.

    ``size``: nodes of each level; ``sides``: mean degrees by level; ``aims``: shares of ends by group, of
    each side. Groups keep their numbers of nodes. The least change of that kind, approached by steps.
    """
    logs = [np.log(side + 1) for side in sides]
    # Scores are logarithms: shares tilted by a power of the degree stay above 0.
    start = np.log(np.maximum(shares, SMALLEST))
    nodes = np.maximum(size @ shares, SMALLEST)
    wanted = [
        np.maximum(aim / aim.sum() * (size @ side), SMALLEST) for side, aim in zip(sides, aims, strict=True)
    ]
    level, powers, found = np.zeros(shares.shape[1]), np.zeros((len(sides), shares.shape[1])), shares
    for _ in range(ROUNDS):
        scores = start + level + sum(np.outer(log, power) for log, power in zip(logs, powers, strict=True))
        # Relative to the largest, so that exp does not overflow.
        found = np.exp(scores - scores.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
        have = size @ found + SMALLEST
        short = np.log(nodes / have)
        level, furthest = level + np.clip(short, -1, 1), float(np.abs(short).max())
        for place, (side, log, want) in enumerate(zip(sides, logs, wanted, strict=True)):
            ends = (size * side) @ found + SMALLEST
            middle = ((size * log) @ found) / have
            steep = np.maximum(((size * side * log) @ found) / ends - middle, 0.1)
            # Half of Newton's step, divided by the sides, as all of them move at once.
            step = np.clip((np.log(want / ends) - short) / steep, -0.5, 0.5) / (2 * len(sides))
            moved = np.clip(powers[place] + step, -STEEPEST, STEEPEST)
            furthest = max(furthest, float(np.abs(moved - powers[place]).max()))
            # A power moves numbers of nodes as well: taken back at the mean, so that only ends move.
            level = level - (moved - powers[place]) * middle
            powers[place] = moved
        if furthest < NEAR:
            break
    return found

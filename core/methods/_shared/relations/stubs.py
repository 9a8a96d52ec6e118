"""Cells with prescribed degrees, by matching edge ends.

They are matched at random, and what collides is worked in by swaps. A sided cell (bipartite or directed) is
matched as an undirected graph over both sides, its sources labelled 0 and its targets 1: swaps keep labels,
so every edge keeps a source and a target. Reads noisy values only.
"""

from __future__ import annotations

import numpy as np

from core.methods._shared.matching.pairs import pack
from core.methods._shared.matching.placing import place
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape

TRIES = 100  # swaps tried for a pair of ends that fits nowhere, each time
SWEEPS = 2  # more would cost much where pairs occur once and popular nodes have met nearly all
SCATTERS = 24  # rounds of drawing by degree before free slots are drawn evenly


def matched(
    source_degrees: np.ndarray,
    target_degrees: np.ndarray | None,
    shape: Shape,
    rng: Rng,
    *,
    taken: np.ndarray | None = None,
) -> np.ndarray:
    """Match a simple cell of these degrees, where possible.

    The result is sorted int64 keys ``source * targets + target``. Integers (sources,) and (targets,), upper
    bounds; ends in excess on one side stay unused, at random. An undirected cell has one vector,
    ``target_degrees`` is None, and its keys are ``low * n + high``. ``taken``: sorted keys that must not be
    used, as a pair of another step where a pair occurs once over time. Expected O(m log m).
    """
    frame = _Frame(shape)
    degrees = frame.degrees(source_degrees, target_degrees)
    edges = frame.edges(degrees)
    if not _some(taken) and 2 * edges > shape.slots:
        # Most slots are taken: the absent ones are matched instead, which is never stuck.
        absent = matched(*frame.apart(frame.most() - degrees), shape, rng)
        return np.setdiff1d(frame.every_slot(), absent, assume_unique=True)
    none = np.empty(0, dtype=np.int64)
    return frame.outward(_paired(frame, none, degrees, edges, frame.forbidden(taken), rng))


def completed(
    keys: np.ndarray,
    source_degrees: np.ndarray,
    target_degrees: np.ndarray | None,
    shape: Shape,
    wanted: int,
    rng: Rng,
    *,
    taken: np.ndarray | None = None,
) -> np.ndarray:
    """Add keys until there are ``wanted``, none of them ``taken``.

    They are added to ``keys``; the result is sorted, a simple graph's.

    ``keys`` and ``taken``: sorted, apart from one another; more than ``wanted`` are cut at random. First the
    ends that the degrees leave open are paired, changing ends with standing edges where a pair collides; then
    pairs are sampled by degree, and evenly at last. Fewer than ``wanted`` come back only where every slot is
    used or taken. Expected O(m log m).
    """
    keys = np.asarray(keys, dtype=np.int64)
    if len(keys) >= wanted:
        return np.sort(rng.permutation(keys)[:wanted]) if len(keys) > wanted else keys
    frame = _Frame(shape)
    degrees = frame.degrees(source_degrees, target_degrees)
    keys = frame.outward(_paired(frame, frame.inward(keys), degrees, wanted, frame.forbidden(taken), rng))
    used = keys if taken is None else joined(keys, taken)
    # No more than free slots, or the loop would not end.
    wanted = min(wanted, shape.slots - len(used) + len(keys))
    for turn in range(SCATTERS):
        if len(keys) >= wanted:
            break
        # By degree first; if popular nodes have met nearly all, evenly.
        fresh = frame.drawn(degrees if turn < SCATTERS // 2 else None, wanted - len(keys), rng)
        fresh = np.setdiff1d(np.unique(fresh), used, assume_unique=True)
        # Cut at random: the first of sorted keys would favour nodes of low number.
        fresh = rng.permutation(fresh)[: wanted - len(keys)]
        keys, used = joined(keys, fresh), joined(used, fresh)
    if len(keys) < wanted:
        free = np.setdiff1d(frame.every_slot(), used, assume_unique=True)
        keys = joined(keys, rng.choice(free, wanted - len(keys), replace=False))
    return keys


def joined(*parts: np.ndarray) -> np.ndarray:
    """Sort the keys of all ``parts``, which have none in common. Faster than a union by hashing."""
    return np.sort(np.concatenate(parts))


class _Frame:
    """A cell's nodes in one row: sources 0..s-1 and, unless undirected, targets s..s+t-1."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.two_sided = not shape.undirected
        self.nodes = shape.source_count + (shape.target_count if self.two_sided else 0)
        self.labels = np.zeros(self.nodes, dtype=np.int64)
        self.labels[shape.source_count :] = 1
        # A directed relation inside one type has its nodes on both sides: a node and itself are a pair.
        self.loops = int(self.two_sided and shape.edge_type.homogeneous)

    def degrees(self, source: np.ndarray, target: np.ndarray | None) -> np.ndarray:
        """Join both vectors, held within what a simple cell allows."""
        both = source if target is None else np.concatenate([source, target])
        return np.clip(np.asarray(both, dtype=np.int64), 0, self.most())

    def most(self) -> np.ndarray:
        """Return the largest degree that each node may have."""
        s, t = self.shape.source_count, self.shape.target_count
        if not self.two_sided:
            return np.full(s, max(s - 1, 0), dtype=np.int64)
        return np.repeat(np.array([t, s], dtype=np.int64) - self.loops, [s, t])

    def apart(self, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        cut = self.shape.source_count
        return degrees[:cut], degrees[cut:] if self.two_sided else None

    def edges(self, degrees: np.ndarray) -> int:
        if not self.two_sided:
            return int(degrees.sum()) // 2
        cut = self.shape.source_count
        return int(min(degrees[:cut].sum(), degrees[cut:].sum()))

    def inward(self, keys: np.ndarray) -> np.ndarray:
        """Convert to keys over both sides' nodes, ``low * nodes + high``."""
        source, target = np.divmod(keys, self.shape.target_count)
        return source * self.nodes + target + (self.shape.source_count if self.two_sided else 0)

    def outward(self, keys: np.ndarray) -> np.ndarray:
        source, target = np.divmod(keys, max(self.nodes, 1))
        shift = self.shape.source_count if self.two_sided else 0
        return source * self.shape.target_count + target - shift

    def forbidden(self, taken: np.ndarray | None) -> np.ndarray:
        """Collect the inward keys that no edge may have: those taken, and a directed relation's loops."""
        parts = [self.inward(np.asarray(taken, dtype=np.int64))] if _some(taken) else []
        if self.loops:
            node = np.arange(self.shape.source_count, dtype=np.int64)
            parts.append(node * self.nodes + self.shape.source_count + node)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def drawn(self, degrees: np.ndarray | None, count: int, rng: Rng) -> np.ndarray:
        """Draw ``count`` outward keys and some more; by degree, or evenly. Not necessarily distinct."""
        # Loops, repeats and taken ones will go.
        count = count + count // 4 + 8
        s, t = self.shape.source_count, self.shape.target_count
        first, second = (None, None) if degrees is None else self.apart(degrees)
        other = first if second is None else second
        if first is None or other is None or not (first.any() and other.any()):
            ends = rng.integers(0, s, count), rng.integers(0, t, count)
        else:
            ends = _weighted(first, count, rng), _weighted(other, count, rng)
        if not self.shape.edge_type.homogeneous:
            return ends[0] * t + ends[1]
        proper = ends[0] != ends[1]
        left, right = ends[0][proper], ends[1][proper]
        return pack(left, right, s) if self.shape.undirected else left * t + right

    def every_slot(self) -> np.ndarray:
        """List every key that a simple cell may have; O(slots)."""
        s, t = self.shape.source_count, self.shape.target_count
        if self.shape.undirected:
            low, high = np.triu_indices(s, 1)
            return low * np.int64(t) + high
        keys = np.arange(s * t, dtype=np.int64)
        return keys[keys // t != keys % t] if self.loops else keys


def _some(taken: np.ndarray | None) -> bool:
    return taken is not None and len(taken) > 0


def _weighted(weights: np.ndarray, count: int, rng: Rng) -> np.ndarray:
    """Draw ``count`` indices with probability in proportion to ``weights``."""
    steps = np.cumsum(weights)
    return np.searchsorted(steps, rng.integers(0, max(int(steps[-1]), 1), count), side="right")


def _paired(
    frame: _Frame, keys: np.ndarray, degrees: np.ndarray, wanted: int, forbidden: np.ndarray, rng: Rng
) -> np.ndarray:
    """Pair the ends that ``degrees`` leave open: inward keys, ``keys`` and more, ``wanted`` at most."""
    left, right = np.divmod(keys, max(frame.nodes, 1))
    used = np.bincount(np.concatenate([left, right]), minlength=frame.nodes)
    ends = np.repeat(np.arange(frame.nodes, dtype=np.int64), np.maximum(degrees - used, 0))
    if frame.two_sided:
        cut = int(np.searchsorted(ends, frame.shape.source_count))
        first, second = rng.permutation(ends[:cut]), rng.permutation(ends[cut:])
    else:
        ends = rng.permutation(ends)
        first, second = ends[: len(ends) // 2], ends[len(ends) // 2 :]
    count = min(len(first), len(second), wanted - len(keys))
    if count < 1:
        return keys
    left, right = np.concatenate([left, first[:count]]), np.concatenate([right, second[:count]])
    slot_label = np.stack([frame.labels[left], frame.labels[right]])
    stands = place(left, right, frame.nodes, slot_label, forbidden, len(keys), TRIES, SWEEPS, rng)
    return np.sort(pack(left[stands], right[stands], frame.nodes))

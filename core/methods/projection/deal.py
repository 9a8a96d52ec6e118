"""One graph of ``projection`` for a relation that is directed or timed, from noisy values.

Each person gets a degree of the law for all steps together (one on each side, where it is directed); the ends
are dealt out over steps at random, by the edges that each has, and matched step by step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods._shared.relations import stubs
from core.methods.projection.draw import degrees_of
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns

ALIKE = 5  # steps, at most, by which degrees of both sides come to agree
ROOM = 1.1  # of the mutual ends: so many a person's smaller sides must have


def drawn(columns: Columns, shape: Shape, rng: Rng) -> list[np.ndarray]:
    """Sorted keys ``source * nodes + target`` of each step's distinct edges. Expected O(m log m)."""
    nodes, total = shape.source_count, round(float(columns["total"][0]))
    law, most = DegreeLaw(columns["grid"], columns["mass"]), columns["most"]
    if nodes < 2 or not total:
        return [np.empty(0, dtype=np.int64) for _ in columns["steps"]]
    counts = integers(total * columns["steps"], rng)
    if shape.undirected:
        degrees = rng.permutation(degrees_of(law, nodes, 2 * total, int(most[1]), rng))
        return [_matched(own, None, shape, count, rng) for count, own in dealt(degrees, counts, 2, rng)]
    out = degrees_of(law, nodes, total, int(most[0]), rng)
    into = degrees_of(DegreeLaw(columns["grid_in"], columns["mass_in"]), nodes, total, int(most[1]), rng)
    wanted = round(float(columns["mutual"].sum()))
    sides = alike(out, into, wanted, total, rng)
    found = linked(*sides, wanted, counts, shape, rng)
    chance = sum(mutual(keys, nodes) for keys in found) - wanted
    # Arcs that answer one another by chance are pairs as well: so many fewer are drawn as such.
    return linked(*sides, max(wanted - chance, 0), counts, shape, rng) if chance > 0 < wanted else found


def alike(
    out: np.ndarray, into: np.ndarray, pairs: int, arcs: int, rng: Rng
) -> tuple[np.ndarray, np.ndarray]:
    """Give ascending degrees of both sides to persons, such that so many ``pairs`` of arcs find room.

    A normal copula, whose correlation is the share of mutual arcs, or more where that leaves no room.
    """
    one, other = rng.standard_normal((2, len(out)))
    for tie in np.linspace(min(2 * pairs / arcs, 1.0), 1.0, ALIKE):
        both = np.empty_like(out), np.empty_like(into)
        both[0][np.argsort(one)] = out
        both[1][np.argsort(tie * one + np.sqrt(1 - tie**2) * other)] = into
        if np.minimum(*both).sum() >= ROOM * 2 * pairs:
            break
    return both


def linked(
    out: np.ndarray, into: np.ndarray, pairs: int, counts: np.ndarray, shape: Shape, rng: Rng
) -> list[np.ndarray]:
    """Match arcs, ``pairs`` of them both ways, to steps of ``counts`` arcs; sorted keys of each step."""
    nodes, total = len(out), max(int(counts.sum()), 1)
    room = np.minimum(out, into)
    own = integers(room * min(1.0, 2 * pairs / max(int(room.sum()), 1)), rng)
    both = integers(min(pairs, int(own.sum()) // 2) * counts / total, rng)
    both = np.minimum(both, counts // 2)
    plain = Shape(shape.edge_type.model_copy(update={"directed": False}), nodes, nodes)
    steps = zip(
        dealt(own, both, 2, rng),
        dealt(out - own, counts - 2 * both, 1, rng),
        dealt(into - own, counts - 2 * both, 1, rng),
        strict=True,
    )
    found = []
    for (pair_count, ends), (rest, source), (_, target) in steps:
        keys = _matched(ends, None, plain, pair_count, rng)
        low, high = np.divmod(keys, nodes)
        taken = stubs.joined(keys, high * nodes + low)
        found.append(stubs.joined(taken, _matched(source, target, shape, rest, rng, taken)))
    return found


def dealt(degrees: np.ndarray, counts: np.ndarray, ends: int, rng: Rng) -> Iterator[tuple[int, np.ndarray]]:
    """Deal the ends of all persons over steps, at random: each one's ``counts``, and its degrees (n,)."""
    places = rng.permutation(np.repeat(np.arange(len(degrees)), degrees))
    for count, part in zip(counts, np.split(places, np.cumsum(ends * counts)[:-1]), strict=True):
        yield int(count), np.bincount(part, minlength=len(degrees))


def mutual(keys: np.ndarray, nodes: int) -> int:
    """How many pairs of sorted arcs are linked both ways."""
    source, target = np.divmod(keys, nodes)
    return int(np.isin(target * nodes + source, keys, assume_unique=True).sum()) // 2


def _matched(
    source: np.ndarray,
    target: np.ndarray | None,
    shape: Shape,
    count: int,
    rng: Rng,
    taken: np.ndarray | None = None,
) -> np.ndarray:
    keys = stubs.matched(source, target, shape, rng, taken=taken)
    return stubs.completed(keys, source, target, shape, count, rng, taken=taken)

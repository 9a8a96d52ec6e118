"""One graph of ``projection`` for a directed or timed relation.

It is sampled from noisy values. Each person gets a degree of the law for all steps together (one on each
side, where it is directed); the ends are dealt out over steps at random, by the edges that each has, and
matched step by step: where persons carry values whose groups were paid for, first inside each group as far as
mere chance would leave edges out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods._shared.frame.columns import Columns
from core.methods._shared.relations import stubs
from core.methods.projection.draw import degrees_of, ends_by_group, placed_order
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape

ALIKE = 5  # steps, at most, by which degrees of both sides come to agree
ROOM = 1.1  # of the mutual ends: so many a person's smaller sides must have

ROUNDS = 30  # of finding how many edges inside a group chance leaves out


class Groups(NamedTuple):
    """Groups of persons, and the edges inside.

    ``labels`` (n,) of persons, and the share of edges that lie ``inside`` each group, (groups,).
    """

    labels: np.ndarray
    inside: np.ndarray


def drawn(columns: Columns, shape: Shape, rng: Rng) -> list[np.ndarray]:
    """Sorted keys ``source * nodes + target`` of each step's distinct edges. Expected O(m log m)."""
    nodes, total = shape.source_count, round(float(columns["total"][0]))
    law, most = DegreeLaw(columns["grid"], columns["mass"]), columns["most"]
    if nodes < 2 or not total:
        return [np.empty(0, dtype=np.int64) for _ in columns["steps"]]
    counts, groups = integers(total * columns["steps"], rng), groups_of(columns)
    if shape.undirected:
        degrees = degrees_of(law, nodes, 2 * total, int(most[1]), rng)
        degrees = degrees[_places(degrees, columns, groups, rng)]
        steps = dealt(degrees, counts, 2, rng)
        return [_matched(own, None, shape, count, rng, groups=groups) for count, own in steps]
    out = degrees_of(law, nodes, total, int(most[0]), rng)
    into = degrees_of(DegreeLaw(columns["grid_in"], columns["mass_in"]), nodes, total, int(most[1]), rng)
    wanted = round(float(columns["mutual"].sum()))
    out, into = alike(out, into, wanted, total, rng)
    if groups is not None:
        place = _places(out + into, columns, groups, rng)
        out, into = out[place], into[place]
    found = linked(out, into, wanted, counts, shape, groups, rng)
    chance = sum(mutual(keys, nodes) for keys in found) - wanted
    # Arcs that answer one another by chance are pairs as well: so many fewer are drawn as such.
    fewer = max(wanted - chance, 0)
    return linked(out, into, fewer, counts, shape, groups, rng) if chance > 0 < wanted else found


def groups_of(columns: Columns) -> Groups | None:
    """Return the groups by which persons meet. None where they meet by chance."""
    inside = columns["inside"]
    whole = float(inside.sum() + columns["across"].sum())
    return (
        Groups(columns["labels"].astype(np.int64), inside / whole) if len(inside) > 1 and whole > 0 else None
    )


def _places(degrees: np.ndarray, columns: Columns, groups: Groups | None, rng: Rng) -> np.ndarray:
    """Which of the degrees each person gets: any, or larger ones in groups with more edges; int64 (n,)."""
    if groups is None:
        return rng.permutation(len(degrees))
    ends = ends_by_group(columns)
    found = np.empty(len(degrees), dtype=np.int64)
    found[placed_order(degrees, groups.labels, ends, rng)] = np.argsort(degrees, kind="stable")
    return found


def alike(
    out: np.ndarray, into: np.ndarray, pairs: int, arcs: int, rng: Rng
) -> tuple[np.ndarray, np.ndarray]:
    """Give persons degrees of both sides that fit mutual pairs.

    They are ascending, given such that so many ``pairs`` of arcs have room. A normal copula, whose
    correlation is the share of mutual arcs, or more where that leaves no room.
    """
    one, other = rng.standard_normal((2, len(out)))
    # Tied more closely only if persons' smaller sides have no room for so many pairs.
    for tie in np.linspace(min(2 * pairs / arcs, 1.0), 1.0, ALIKE):
        both = np.empty_like(out), np.empty_like(into)
        # Degrees are ascending, so that ranks of the normal numbers hand them out.
        both[0][np.argsort(one)] = out
        both[1][np.argsort(tie * one + np.sqrt(1 - tie**2) * other)] = into
        if np.minimum(*both).sum() >= ROOM * 2 * pairs:
            break
    return both


def linked(
    out: np.ndarray,
    into: np.ndarray,
    pairs: int,
    counts: np.ndarray,
    shape: Shape,
    groups: Groups | None,
    rng: Rng,
) -> list[np.ndarray]:
    """Match arcs to steps, ``pairs`` of them both ways.

    Steps have ``counts`` arcs; sorted keys of each step.
    """
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
        keys = _matched(ends, None, plain, pair_count, rng, groups=groups)
        low, high = np.divmod(keys, nodes)
        taken = stubs.joined(keys, high * nodes + low)
        found.append(stubs.joined(taken, _matched(source, target, shape, rest, rng, taken, groups)))
    return found


def dealt(degrees: np.ndarray, counts: np.ndarray, ends: int, rng: Rng) -> Iterator[tuple[int, np.ndarray]]:
    """Deal the ends of all persons over steps, at random.

    Returned are each one's ``counts``, and its degrees (n,).
    """
    # A person's events fall into steps by chance alone.
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
    groups: Groups | None = None,
) -> np.ndarray:
    """Match the ends of one step, ``count`` edges of them; sorted keys, none of them ``taken``."""
    keys, out, into = np.empty(0, dtype=np.int64), source, target
    for group, number in enumerate(_first_inside(source, target, count, groups)):
        if not number or groups is None:
            continue
        own = groups.labels == group
        ends = _some(out, own, number if target is not None else 2 * number, rng)
        met = None if into is None else _some(into, own, number, rng)
        # Keys that stand already are taken for those to come.
        keys = stubs.joined(keys, stubs.matched(ends, met, shape, rng, taken=_both(keys, taken)))
        out, into = out - ends, None if into is None or met is None else into - met
    keys = stubs.joined(keys, stubs.matched(out, into, shape, rng, taken=_both(keys, taken)))
    return stubs.completed(keys, source, target, shape, count, rng, taken=taken)


def _both(keys: np.ndarray, taken: np.ndarray | None) -> np.ndarray | None:
    if not len(keys):
        return taken
    return keys if taken is None else stubs.joined(keys, taken)


def _some(side: np.ndarray, own: np.ndarray, number: int, rng: Rng) -> np.ndarray:
    """So many ends of those persons, at random, as far as they have them; int64 (n,)."""
    mine = np.where(own, side, 0)
    ends = int(mine.sum())
    return integers(mine * (min(number, ends) / max(ends, 1)), rng)


def _first_inside(
    source: np.ndarray, target: np.ndarray | None, count: int, groups: Groups | None
) -> np.ndarray:
    """How many edges are matched inside each group by themselves: what was read, less what chance makes of
    the ends that are left; int64 (groups,)."""
    if groups is None:
        return np.zeros(0, dtype=np.int64)
    size = len(groups.inside)
    out = np.bincount(groups.labels, weights=source, minlength=size)
    into = out if target is None else np.bincount(groups.labels, weights=target, minlength=size)
    most = out / 2 if target is None else np.minimum(out, into)
    wanted, found = groups.inside * count, np.zeros(size)
    ends = 2 if target is None else 1
    for _ in range(ROUNDS):
        rest = np.maximum(out - ends * found, 0), np.maximum(into - ends * found, 0)
        chance = rest[0] * rest[1] / max(float(rest[0].sum()) * ends, 1.0)
        # Half of the way: what chance makes depends on the ends that are left.
        found = (found + np.clip(wanted - chance, 0, most)) / 2
    return np.floor(found).astype(np.int64)

"""From generated walks to a graph.

Pairs are counted, and each cell samples its edges by these counts. The paper draws an edge's first node in
proportion to its row of the counts S (Eq. 16) and the second one by its entry in that row (Eq. 17): a pair of
count S(u, v) comes with probability S(u, v) / sum S. Here the pairs of a cell are sampled so without
replacement, all at once, by Gumbel top-k, up to the cell's number of edges. Counted is the first pair of a
walk, its anchor: generated walks imitate ones that start at a uniform edge, while their later pairs come from
a choice among types and over-count the neighbours of popular nodes. Only pairs that the schema allows count,
at the step of the walk.

All of it is post-processing of walks, paid counts and degrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.relations.draw import Relation as Base
from core.methods._shared.relations.params import AnchoredParams
from core.methods._shared.relations.stubs import completed
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from papers._shared.walks.layout import Layout, Relation
from papers.thepuff.pair_odds import within_degrees

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns

MERGE_AT = 2**23
"""Pairs that are held before equal ones are merged; 64 MiB."""


@dataclass
class Scores:
    """How often each pair was seen in each cell. ``relations``: those whose cells are scored."""

    layout: Layout
    relations: tuple[Relation, ...]
    _keys: dict[CellKey, list[np.ndarray]] = field(default_factory=dict)
    _counts: dict[CellKey, list[np.ndarray]] = field(default_factory=dict)
    _held: int = 0

    def add(
        self, steps: np.ndarray, left: np.ndarray, right: np.ndarray, *, learned: bool | None = None
    ) -> None:
        """Count the pairs (left, right) of global nodes at ``steps``.

        -1 is nobody. O(pairs log pairs). A pair counts in every relation that joins its types, in the learned
        ones or the others only where ``learned`` says so; the order of its ends is the edge's where the
        relation is directed inside one type, and does not matter elsewhere.
        """
        known = (left >= 0) & (right >= 0) & (left != right)
        steps, left, right = steps[known], left[known], right[known]
        kinds = self.layout.type_of(left), self.layout.type_of(right)
        for relation in self.relations:
            if learned is not None and relation.learned != learned:
                continue
            for first, second, swapped in self._turns(relation):
                chosen = (kinds[0] == first) & (kinds[1] == second)
                ends = (left[chosen], right[chosen])[:: -1 if swapped else 1]
                self._count(relation, steps[chosen], *ends)
        if self._held > MERGE_AT:
            self._merge()

    def _turns(self, relation: Relation) -> list[tuple[int, int, bool]]:
        straight = (relation.source, relation.target, False)
        if relation.declared.homogeneous:
            return [straight]
        return [straight, (relation.target, relation.source, True)]

    def _count(self, relation: Relation, steps: np.ndarray, source: np.ndarray, target: np.ndarray) -> None:
        shape = self.layout.shape(relation)
        if shape.undirected:
            source, target = np.minimum(source, target), np.maximum(source, target)
        keys = (source - self.layout.offsets[relation.source]) * np.int64(shape.target_count)
        keys += target - self.layout.offsets[relation.target]
        grid = self.layout.schema.steps_of(relation.name)
        places = steps if grid != (None,) else np.zeros_like(steps)
        order = np.argsort(places, kind="stable")
        cuts = np.cumsum(np.bincount(places, minlength=len(grid)))[:-1]
        for step, part in zip(grid, np.split(keys[order], cuts), strict=True):
            if len(part):
                found, times = np.unique(part, return_counts=True)
                self._keys.setdefault((relation.name, step), []).append(found)
                self._counts.setdefault((relation.name, step), []).append(times)
                self._held += len(found)

    def _merge(self) -> None:
        self._held = 0
        for cell, parts in self._keys.items():
            keys, place = np.unique(np.concatenate(parts), return_inverse=True)
            times = np.bincount(place, weights=np.concatenate(self._counts[cell])).astype(np.int64)
            self._keys[cell], self._counts[cell] = [keys], [times]

    def of(self, cell: CellKey) -> tuple[np.ndarray, np.ndarray]:
        """Return the cell's pairs as sorted keys, with counts. These are how often each was seen; int64."""
        if len(self._keys.get(cell, ())) != 1:
            self._merge()
        none = [np.empty(0, dtype=np.int64)]
        return self._keys.get(cell, none)[0], self._counts.get(cell, none)[0]


def assembled(
    scores: Scores, cells: Mapping[CellKey, Columns], rng: Rng, *, keep_degrees: bool = False
) -> dict[CellKey, np.ndarray]:
    """Sample sorted keys of every cell.

    It is each of the scored relations, with as many as its paid count.

    ``cells`` hold the columns ``count``, ``source_degrees`` and ``target_degrees``, of which pairs are made
    where the walks have too few. With ``keep_degrees`` nodes get these degrees
    (:mod:`papers.thepuff.pair_odds`), and what generated pairs leave open is made from degrees too; else only
    counts decide. With ``once`` a pair that was seen at several steps goes to one of them, by its counts. A
    relation that is functional over time is sampled only from its degrees: its sources have one target each,
    over all steps. O(scored pairs log + edges).
    """
    found: dict[CellKey, np.ndarray] = {}
    for relation in scores.relations:
        steps = scores.layout.schema.steps_of(relation.name)
        names = [(relation.name, step) for step in steps]
        columns = [cells[name] for name in names]
        if relation.declared.functional:
            base = Base(scores.layout.shape(relation), AnchoredParams(evidence="none"))
            drawn = [base.draw(each, rng) for each in columns]
        else:
            drawn = _relation(scores, relation, names, columns, keep_degrees, rng)
        found.update(zip(names, drawn, strict=True))
    return found


def _relation(
    scores: Scores,
    relation: Relation,
    names: list[CellKey],
    columns: list[Columns],
    keep_degrees: bool,
    rng: Rng,
) -> list[np.ndarray]:
    shape, once = scores.layout.shape(relation), relation.declared.once
    seen = [scores.of(name) for name in names]
    values = [np.log(times) + rng.gumbel(size=len(times)) for _, times in seen]
    keys = [each for each, _ in seen]
    if once:
        keys, values = _apart(keys, values)
    wanted = [int(each["count"][0]) for each in columns]
    if keep_degrees:
        drawn = []
        for i, own in enumerate(columns):
            times = seen[i][1][np.searchsorted(seen[i][0], keys[i])]
            sides = own["source_degrees"], own["target_degrees"]
            drawn.append(within_degrees(keys[i], times, values[i], *sides, shape))
    else:
        drawn = [_largest(k, v, most) for k, v, most in zip(keys, values, wanted, strict=True)]
    used = np.sort(np.concatenate(drawn)) if once else None
    for i, most in enumerate(wanted):
        if len(drawn[i]) < most:
            taken = None if used is None else np.setdiff1d(used, drawn[i], assume_unique=True)
            target = None if shape.undirected else columns[i]["target_degrees"]
            source = columns[i]["source_degrees"]
            drawn[i] = completed(drawn[i], source, target, shape, most, rng, taken=taken)
            used = None if taken is None else np.union1d(taken, drawn[i])
    return drawn


def _apart(keys: list[np.ndarray], values: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Keep every key where its value is largest; sorted as before."""
    place = np.repeat(np.arange(len(keys)), [len(each) for each in keys])
    key, value = np.concatenate(keys), np.concatenate(values)
    order = np.lexsort((value, key))
    last = np.append(key[order][1:] != key[order][:-1], True) if len(key) else np.empty(0, dtype=bool)
    kept = np.sort(order[last])
    cuts = np.searchsorted(place[kept], np.arange(1, len(keys)))
    return np.split(key[kept], cuts), np.split(value[kept], cuts)


def _largest(keys: np.ndarray, values: np.ndarray, most: int) -> np.ndarray:
    """Pick the keys of the ``most`` largest values, sorted."""
    if len(keys) <= most:
        return keys
    return np.sort(keys[np.argpartition(-values, most)[:most]]) if most else keys[:0]

"""Edges from generated walks. Pairs are counted, and sampled in proportion to their counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from papers._shared.walks.links import BACK, Labels


@dataclass
class Counted:
    """How often each pair was generated in each cell.

    ``code`` is the cell's number times ``span``, plus the pair's key. Sorted, each once.
    """

    labels: Labels
    code: np.ndarray
    times: np.ndarray

    @classmethod
    def none(cls, labels: Labels) -> Counted:
        """Nothing was generated yet."""
        return cls(labels, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    @property
    def span(self) -> int:
        """Return a number above any key.

        It is Python's own integer, so that what does not fit is an error.
        """
        shapes = [self.labels.layout.shape(each) for each in self.labels.layout.relations]
        return max(each.source_count * each.target_count for each in shapes) + 1

    def with_walks(self, label: np.ndarray, nodes: np.ndarray) -> Counted:
        """Add the pairs of walks.

        ``nodes`` (w, l + 1) are global, ``label`` (w, l) of the links between them. A pair counts in each
        cell of its label's group whose relation joins its types; loops do not. O(pairs * relations + pairs
        log pairs).
        """
        layout = self.labels.layout
        left, right, label = nodes[:, :-1].ravel(), nodes[:, 1:].ravel(), label.ravel()
        order = np.argsort(label, kind="stable")
        left, right, label = left[order], right[order], label[order]
        kinds = layout.type_of(left), layout.type_of(right)
        codes = [np.repeat(self.code, self.times)]
        for number, (cell, relation) in enumerate(layout.cells()):
            directed, group = self.labels.directed(relation), 3 * self.labels.groups[cell]
            low, high = np.searchsorted(label, [group + directed, group + (3 if directed else 1)])
            part = slice(int(low), int(high))
            one, two, turned = left[part], right[part], label[part] == group + BACK
            if not directed and not relation.declared.homogeneous:
                turned = kinds[0][part] == relation.target
            source, target = np.where(turned, two, one), np.where(turned, one, two)
            fits = layout.type_of(source) == relation.source
            fits &= (layout.type_of(target) == relation.target) & (source != target)
            if layout.shape(relation).undirected:
                source, target = np.minimum(source, target), np.maximum(source, target)
            key = (source - layout.offsets[relation.source]) * layout.shape(relation).target_count
            key += target - layout.offsets[relation.target]
            codes.append(number * self.span + key[fits])
        return Counted(self.labels, *np.unique(np.concatenate(codes), return_counts=True))

    def short(self, wanted: Mapping[int, int]) -> int:
        """Count the wanted edges of a group beyond its pairs. These are distinct."""
        groups = np.array(list(self.labels.groups.values()), dtype=np.int64)
        seen = np.bincount(groups[self.apart(None)[0] // self.span], minlength=max(groups) + 1)
        return sum(max(0, count - int(seen[group])) for group, count in wanted.items())

    def apart(self, rng: Rng | None) -> tuple[np.ndarray, np.ndarray]:
        """Return codes and counts, one cell where facts demand it.

        Where a declared fact lets a pair, or a source, have one cell, it has that one. Which it is goes by
        the counts; without ``rng`` it is a likeliest one.
        """
        layout, cells = self.labels.layout, self.labels.layout.cells()
        number, key = np.divmod(self.code, self.span)
        name = np.array([layout.relations.index(relation) for _, relation in cells])[number]
        same = name * self.span + key
        for place, relation in enumerate(layout.relations):
            if relation.declared.functional:
                source = key // layout.shape(relation).target_count
                same = np.where(name == place, place * self.span + source, same)
        once = np.array([r.declared.once or r.declared.functional for r in layout.relations])[name]
        value = np.log(self.times) + (0 if rng is None else rng.gumbel(size=len(self.times)))
        order = np.lexsort((value, same))
        last = np.append(same[order][1:] != same[order][:-1], True) if len(order) else order.astype(bool)
        kept = np.sort(order[last | ~once[order]])
        return self.code[kept], self.times[kept]

    def drawn(self, wanted: Mapping[int, int], rng: Rng) -> dict[CellKey, np.ndarray]:
        """Sample sorted keys of every cell.

        There are ``wanted`` edges of each group, fewer where it has fewer pairs. In each group every node
        that was generated gets an edge first, as far as there are so many.
        """
        code, times = self.apart(rng)
        number, key = np.divmod(code, self.span)
        group = np.array(list(self.labels.groups.values()), dtype=np.int64)[number]
        layout, ends = self.labels.layout, np.empty((2, len(code)), dtype=np.int64)
        cuts = np.searchsorted(number, np.arange(len(self.labels.groups) + 1))
        for (_, relation), low, high in zip(layout.cells(), cuts[:-1], cuts[1:], strict=True):
            ends[:, low:high] = layout.ends(relation, key[low:high])
        taken = []
        for each, count in wanted.items():
            places = np.flatnonzero(group == each)
            first = _covering(ends[0, places], ends[1, places], times[places], rng)
            certain = np.zeros(len(places), dtype=bool)
            certain[rng.permutation(first)[:count]] = True
            taken.append(places[_systematic(times[places], certain, count, rng)])
        chosen = np.sort(code[np.concatenate(taken)])
        cuts = np.searchsorted(chosen, self.span * np.arange(len(self.labels.groups) + 1))
        return {
            cell: chosen[low:high] - at * self.span
            for at, (cell, low, high) in enumerate(zip(self.labels.groups, cuts[:-1], cuts[1:], strict=True))
        }


def _covering(one: np.ndarray, two: np.ndarray, times: np.ndarray, rng: Rng) -> np.ndarray:
    """Choose places of pairs so that every node is in one: a pair of each node by the counts, where it is in
    none yet."""
    order = np.argsort(-np.log(times) - rng.gumbel(size=len(times)), kind="stable")
    first = order[np.unique(one[order], return_index=True)[1]]
    order = order[~np.isin(two[order], np.concatenate([one[first], two[first]]))]
    return np.concatenate([first, order[np.unique(two[order], return_index=True)[1]]])


def _systematic(times: np.ndarray, certain: np.ndarray, wanted: int, rng: Rng) -> np.ndarray:
    """Choose ``wanted`` places: those that are ``certain``, and others with chances that go by their counts.

    Systematic sampling (Madow 1949), in the order given: as that is by nodes, a node has about as many places
    as it may expect. All of them where there are no more; sorted.
    """
    if len(times) <= wanted:
        return np.arange(len(times))
    while True:
        left = wanted - int(certain.sum())
        chance = np.where(certain, 0.0, times * (left / max(times[~certain].sum(), 1)))
        beyond = chance >= 1
        if not beyond.any():
            break
        certain = certain | beyond
    mass = np.cumsum(chance)
    mass *= left / mass[-1] if left else 0.0
    passed = np.floor(mass + rng.random()).astype(np.int64)
    return np.flatnonzero(certain | (np.diff(passed, prepend=0) > 0))

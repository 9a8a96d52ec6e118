"""A raw graph as labelled directed links, and its walks.

They are random walks along the links. An edge is two links, one a way. A link's label is what a walk says of
it in addition to its two nodes: its step, and in ``typed`` walks its relation and direction too, so that
labels in a row are a meta-path. In walks without types a label has a direction only where the edge has one
and its ends' types do not tell it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.kernels.decorator import kernel
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from papers._shared.walks.layout import Layout, Relation

NEITHER, FORWARD, BACK = range(3)
"""Directions of a label: ``3 * group + direction``. The reverse of FORWARD is BACK, NEITHER is its own."""


@dataclass(frozen=True)
class Labels:
    """How links are labelled. Which cells share a group, and whether a relation's labels have a direction."""

    layout: Layout
    typed: bool

    @cached_property
    def groups(self) -> dict[CellKey, int]:
        """Return the group of every cell.

        It is its own, or that of its step; relations without time come last.
        """
        cells = [cell for cell, _ in self.layout.cells()]
        if self.typed:
            return {cell: number for number, cell in enumerate(cells)}
        return {(name, step): self.layout.steps if step is None else step for name, step in cells}

    @property
    def count(self) -> int:
        """The number of labels, used or not."""
        return 3 * (1 + max(self.groups.values()))

    def directed(self, relation: Relation) -> bool:
        """Tell whether a relation's labels have a direction."""
        shape = self.layout.shape(relation)
        return not shape.undirected and (self.typed or relation.declared.homogeneous)


def reverse(label: np.ndarray) -> np.ndarray:
    """Turn labels round."""
    group, way = np.divmod(label, 3)
    return 3 * group + np.where(way == NEITHER, NEITHER, FORWARD + BACK - way)


@dataclass(frozen=True)
class Links:
    """All links, sorted by their source, then by step.

    The source is the node that they leave; those without time come last.

    ``start`` (nodes + 1,); ``head``, ``label``, ``step`` and ``back``, the same edge the other way, (2 m,).
    ``by_step``: links in order of step, those of step t at ``first[t] : first[t + 1]``.
    """

    labels: Labels
    start: np.ndarray
    head: np.ndarray
    label: np.ndarray
    step: np.ndarray
    back: np.ndarray
    by_step: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, labels: Labels, keys: Mapping[CellKey, np.ndarray]) -> Links:
        """Make the links of the cells' ``keys``. O(m log m)."""
        layout, parts = labels.layout, []
        for cell, relation in layout.cells():
            source, target = layout.ends(relation, keys[cell])
            way = FORWARD if labels.directed(relation) else NEITHER
            label = np.full(len(source), 3 * labels.groups[cell] + way)
            timeless = layout.steps if cell[1] is None else cell[1]
            parts.append(np.stack([source, target, label, np.full(len(source), timeless)]))
        one = np.concatenate(parts, axis=1)
        count = one.shape[1]
        both = np.concatenate([one, np.stack([one[1], one[0], reverse(one[2]), one[3]])], axis=1)
        order = np.lexsort((both[3], both[0]))
        place = np.empty_like(order)
        place[order] = np.arange(2 * count)
        tail, head, label, step = both[:, order]
        start = np.searchsorted(tail, np.arange(layout.nodes + 1))
        by_step = np.argsort(step, kind="stable")
        first = np.searchsorted(step[by_step], np.arange(layout.steps + 2))
        back = place[(order + count) % max(2 * count, 1)]
        return cls(labels, start, head, label, step, back, by_step, first)

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.head) // 2

    def walks(self, count: int, length: int, window: int, rng: Rng) -> np.ndarray:
        """Walk ``count`` times over ``length`` edges.

        Returned are the links walked, (count, length) int64. A walk starts at a uniform link, of a step or of
        none, and goes on along a uniform one of a step that is at most ``window`` away from the last one's,
        or of no step; back along its last edge too. A link of no step counts as one part in the number of
        steps, as it is met in all of them. With a window of 0 every place of a walk has every link of all
        equally often. O(count * length * log degree).
        """
        steps = len(self.first) - 2
        still = self.first[-1] - self.first[-2]
        room = np.cumsum(np.diff(self.first)[:-1] + still / steps)
        time = np.searchsorted(room, rng.random(count) * room[-1], side="right").clip(max=steps - 1)
        own = self.first[time + 1] - self.first[time]
        timed = rng.random(count) * (own + still / steps) < own
        at = (rng.random(count) * np.where(timed, own, still)).astype(np.int64)
        found = np.empty((count, length), dtype=np.int64)
        found[:, 0] = self.by_step[np.where(timed, self.first[time], self.first[-2]) + at]
        _walk((self.start, self.head, self.step), time, found, window, steps, rng)
        return found


@kernel
def _walk(
    links: tuple[np.ndarray, np.ndarray, np.ndarray],
    time: np.ndarray,
    found: np.ndarray,
    window: int,
    steps: int,
    rng: Rng,
) -> None:
    start, head, step = links
    for walk in range(len(found)):
        now = time[walk]
        for at in range(1, found.shape[1]):
            last = found[walk, at - 1]
            if step[last] < steps:
                now = step[last]
            low, high = start[head[last]], start[head[last] + 1]
            row = step[low:high]
            near = low + np.searchsorted(row, now - window)
            far = low + np.searchsorted(row, min(now + window + 1, steps))
            still = low + np.searchsorted(row, steps)
            if rng.random() * (far - near + (high - still) / steps) >= far - near:
                near, far = still, high
            found[walk, at] = near + min(int(rng.random() * (far - near)), far - near - 1)

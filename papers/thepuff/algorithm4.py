"""The assembler as published.

Meta-path instances are sampled over the counts of generated pairs. Algorithm 4 of He et al. (ICLR 2025) for
variant paper. A node is a node at a step; an edge between nodes of two steps is added at both (lines 6 and
7). Where a meta-path has no next node, the instance ends there; the published program goes on with an old
node instead.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from papers._shared.walks.layout import Layout
from papers.thepuff.assembler import Scores

INSTANCES_AN_EDGE = 20
"""Most meta-path instances that are drawn for each edge that is wanted: scored pairs may be too few."""


def assembled_as_published(
    layout: Layout, steps: np.ndarray, nodes: np.ndarray, wanted: int, rng: Rng
) -> dict[CellKey, np.ndarray]:
    """Sample sorted keys of every cell.

    There are ``wanted`` edges in all, fewer where the walks have too few pairs.

    ``steps`` (w,) or (w, length) and ``nodes`` (w, length): the generated walks, -1 for nobody. How many
    edges a cell gets is up to the walks, as published. O(walks * length log + instances * length * log
    degree).
    """
    step = np.broadcast_to(steps if steps.ndim == 2 else steps[:, None], nodes.shape)
    before, after = step[:, :-1].ravel(), step[:, 1:].ravel()
    left, right = nodes[:, :-1].ravel(), nodes[:, 1:].ravel()
    kinds = layout.type_of(np.maximum(nodes, 0))
    valid = (left >= 0) & (right >= 0) & (left != right)
    valid[valid] = layout.allowed[layout.type_of(left[valid]), layout.type_of(right[valid])]
    scores = Scores(layout, layout.relations)
    if valid.any() and wanted > 0:
        rows = _Rows(layout, before[valid], left[valid], after[valid], right[valid])
        scores.add(*rows.instances(kinds[(nodes >= 0).all(axis=1)], wanted, rng))
    return {cell: scores.of(cell)[0] for cell, _ in layout.cells()}


class _Rows:
    """The matrix S, symmetric, by rows of nodes at steps; and which two edges each entry stands for.

    They are one where both nodes are at one step, or the edge has no step.
    """

    def __init__(
        self, layout: Layout, before: np.ndarray, left: np.ndarray, after: np.ndarray, right: np.ndarray
    ) -> None:
        # Numbered node by node, so that what stands in a row is in the order of its types.
        t = np.int64(layout.steps)
        names, place = np.unique(np.concatenate([left * t + before, right * t + after]), return_inverse=True)
        one, two = np.split(place, 2)
        size = np.int64(len(names))
        key, count = np.unique(np.concatenate([one * size + two, two * size + one]), return_counts=True)
        row, self.column = np.divmod(key, size)
        self.start = np.searchsorted(row, np.arange(size + 1))
        self.mass = np.concatenate([[0], np.cumsum(count)])
        self.types, self.kinds = len(layout.types), layout.type_of(names // t)
        self.left, here = np.divmod(names[row], t)
        self.right, there = np.divmod(names[self.column], t)
        self.steps = np.stack([here, there])
        # An edge between types that no learned relation joins is the same edge at every step.
        learned = np.zeros_like(layout.allowed)
        for relation in layout.relations:
            learned[relation.source, relation.target] |= relation.learned
            learned[relation.target, relation.source] |= relation.learned
        timed = learned[self.kinds[row], self.kinds[self.column]]
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        pairs, pair = np.unique(low * np.int64(layout.nodes) + high, return_inverse=True)
        named = np.where(timed, self.steps + 1, 0) * len(pairs) + pair
        self.edge = np.unique(named, return_inverse=True)[1].reshape(named.shape)

    def instances(
        self, paths: np.ndarray, wanted: int, rng: Rng
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw (steps, left, right) of the edges of meta-path instances: ``wanted`` distinct ones at most.

        ``paths`` (w, length): the types of the walks, each as often as it was generated.
        """
        order = np.argsort(paths[:, 0], kind="stable")
        paths = np.ascontiguousarray(paths[order])
        first = np.searchsorted(paths[:, 0], np.arange(self.types + 1))
        tries = INSTANCES_AN_EDGE * wanted
        taken = _instances(
            self.start, self.column, self.mass, self.edge, self.kinds, paths, first, wanted, tries, rng
        )
        side, entry = np.nonzero(taken)
        return self.steps[side, entry], self.left[entry], self.right[entry]


@kernel
def _instances(
    start: np.ndarray,
    column: np.ndarray,
    mass: np.ndarray,
    edge: np.ndarray,
    kinds: np.ndarray,
    paths: np.ndarray,
    first: np.ndarray,
    wanted: int,
    tries: int,
    rng: Rng,
) -> np.ndarray:
    """Run lines 1 to 9: True for one entry of S, at one of its two steps, of each edge that is added."""
    taken = np.zeros(edge.shape, np.bool_)
    known = np.zeros(edge.size, np.bool_)
    count = 0
    for _ in range(tries):
        if count >= wanted:
            break
        entry = _drawn(mass, 0, len(column), rng)  # Eq. 16: the row of a random entry
        here = np.searchsorted(start, entry, side="right") - 1
        low, high = first[kinds[here]], first[kinds[here] + 1]
        if low == high:
            continue
        path = paths[low + min(int(rng.random() * (high - low)), high - low - 1)]
        for i in range(1, len(path)):
            # Nodes of a row are in the order of their types.
            low = _bound(kinds, column, start[here], start[here + 1], path[i])
            high = _bound(kinds, column, low, start[here + 1], path[i] + 1)
            if low == high:
                break
            entry = _drawn(mass, low, high, rng)  # Eq. 17
            for side in range(2):  # lines 6 and 7
                if count < wanted and not known[edge[side, entry]]:
                    known[edge[side, entry]] = True
                    taken[side, entry] = True
                    count += 1
            if count >= wanted:
                break
            here = column[entry]
    return taken


@kernel
def _drawn(mass: np.ndarray, low: int, high: int, rng: Rng) -> int:
    """Draw an entry of low..high - 1 with probability in proportion to its count."""
    at = mass[low] + int(rng.random() * (mass[high] - mass[low]))
    entry: int = min(low + np.searchsorted(mass[low : high + 1], at, side="right") - 1, high - 1)
    return entry


@kernel
def _bound(kinds: np.ndarray, column: np.ndarray, low: int, high: int, kind: int) -> int:
    """Find the first entry of low..high whose node is of type ``kind`` or a later one."""
    while low < high:
        middle = (low + high) // 2
        if kinds[column[middle]] < kind:
            low = middle + 1
        else:
            high = middle
    return low

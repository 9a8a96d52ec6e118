"""A graph as rows of neighbours, with triangles by edge.

How many triangles each of its edges is in stays true while it changes. ``others[start[v]:start[v + 1]]`` are
v's neighbours, in any order. Every edge has two entries, one in the row of each of its ends; ``back`` tells
each entry where the other one is. Every node keeps its degree, so that rows keep their places. In whose row
an entry stands is given by the entry's other one, ``others[back[i]]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.graphs.columns.key_sort import sorted_keys
from core.kernels.decorator import kernel
from core.methods._shared.matching.ends import degrees_in, key_of
from core.methods._shared.matching.keyset import Int
from core.privacy.entropy import Generator as Rng
from core.privacy.mechanisms.clustering import Damping, rung_at_hubs, rung_of

Arrays = tuple[
    np.ndarray,
    np.ndarray,
    np.ndarray,
    np.ndarray,
    np.ndarray,
    np.ndarray,
    np.ndarray,
    int,
    np.ndarray,
]
"""start, others, back, first, labels, closed, circles, hub and begin of :class:`Rows`."""
Move = tuple[Int, Int, Int, Int, Int, Int]
"""x, y, a, b and two entries: see :mod:`core.methods._shared.rewiring.exchange`."""
Products = tuple[int, int, int, bool]
"""The sum of degree products over edges: now, its aim, the band around that, and whether to steer."""


@dataclass
class Rows:
    """Rows of neighbours, of nodes renumbered by label.

    Those of one label, and in it of one circle, stand together.

    ``names``: the old number of each node. ``start`` (n + 1,), ``others`` and ``back`` (2m,): see above.
    ``labels`` (n,): 0..k-1. ``first`` (k + 1,): where each label's entries begin.
    ``closed`` (2m,): the triangles on each entry's edge, once :meth:`count` ran.
    ``circles`` (n,): two nodes are linked to close triangles only if they are of one circle, so of one label,
    or both have ``hub`` edges at least. ``begin`` (circles + 1,): where each one's nodes begin.
    """

    names: np.ndarray
    start: np.ndarray
    others: np.ndarray
    back: np.ndarray
    labels: np.ndarray
    first: np.ndarray
    closed: np.ndarray
    circles: np.ndarray
    begin: np.ndarray
    hub: int = 0

    @classmethod
    def of(
        cls,
        keys: np.ndarray,
        nodes: int,
        labels: np.ndarray,
        circles: int = 1,
        rng: Rng | None = None,
        *,
        falling: bool = False,
    ) -> Rows:
        """Make the rows of distinct keys ``low * nodes + high``.

        It takes O(n log n + m). Every node is of one of so many ``circles`` of its label, at random.
        ``falling``: in each circle nodes stand by falling degree.
        """
        _, compact = np.unique(labels, return_inverse=True)
        # A circle's number holds its label, so that one sort puts labels and their circles together.
        mixed = compact * circles
        if rng is not None and circles > 1:
            mixed += rng.integers(0, circles, nodes)
        degree = degrees_in(keys, nodes)
        names = np.lexsort((-degree, mixed)) if falling else np.argsort(mixed, kind="stable")
        place = np.empty(nodes, dtype=np.int32)
        place[names] = np.arange(nodes, dtype=np.int32)
        degree = degree[names]
        start = np.concatenate([[0], np.cumsum(degree)])
        others, back = _filed(start, keys, place)
        first = start[np.concatenate([[0], np.cumsum(np.bincount(compact, minlength=1))])]
        begin = np.concatenate([[0], np.cumsum(np.bincount(mixed, minlength=1))])
        labels, circle = compact[names].astype(np.int32), mixed[names].astype(np.int32)
        return cls(names, start, others, back, labels, first, np.empty(0), circle, begin)

    def with_hubs(self, share: float) -> Rows:
        """Make hubs of about that share of the nodes. They are those of most edges."""
        self.hub = int(np.quantile(np.diff(self.start), 1 - share)) if len(self.labels) else 0
        return self

    def arrays(self) -> Arrays:
        """What compiled code takes."""
        rows = self.start, self.others, self.back, self.first, self.labels
        return *rows, self.closed, self.circles, self.hub, self.begin

    def count(self) -> int:
        """Count the graph's triangles. Those on each edge are ``closed`` from here on. O(m^1.5)."""
        self.closed = np.zeros(len(self.others), dtype=np.int32)
        return int(_count(self.start, self.others, self.back, self.closed))

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes at the two ends of each edge."""
        owner = np.repeat(np.arange(len(self.labels), dtype=np.int32), np.diff(self.start))
        upward = owner < self.others
        return owner[upward], self.others[upward]

    def at_nodes(self) -> np.ndarray:
        """The triangles at each node; int64 (n,). Of counted rows."""
        return np.asarray(_row_sums(self.start, self.closed)) // 2

    def weighed(self, weight: np.ndarray) -> float:
        """Sum the triangles at nodes by their weight."""
        # No product of vectors: threads of linear algebra that it wakes spin on while one other works.
        return float((self.at_nodes() * weight).sum())

    def first_rung(self, damping: Damping) -> int:
        """Compute the first rung of the damped clustering.

        It is what :func:`core.privacy.mechanisms.clustering.rung_of` is of this graph; its rows are not
        copied.
        """
        return rung_of(self.start, self.others, damping)

    def first_rung_at_hubs(self, damping: Damping) -> int:
        """Bound the first rung from below, in linear time.

        It is the same or less; the time is linear but for a few nodes' paths.
        """
        return rung_at_hubs(self.start, self.others, damping)

    def product_sum(self) -> int:
        """The sum over edges of degree times degree."""
        # Each edge is in the rows of both its ends.
        return int(_products(self.start, self.others)) // 2

    def keys(self) -> np.ndarray:
        """Return the edges as sorted int64 keys.

        They are ``low * n + high``, by the nodes' old numbers; O(m). The rows are given up for them: what
        sorting takes has their place in memory.
        """
        none = np.empty(0, dtype=np.int32)
        self.back = self.closed = none
        keys = _keys(self.start, self.others, self.names)
        self.others = none
        return sorted_keys(keys).view(np.int64)


@kernel
def _row_sums(start: np.ndarray, values: np.ndarray) -> np.ndarray:
    found = np.zeros(start.size - 1, np.int64)
    for v in range(found.size):
        for i in range(start[v], start[v + 1]):
            found[v] += values[i]
    return found


@kernel
def _products(start: np.ndarray, others: np.ndarray) -> np.int64:
    total = np.int64(0)
    for v in range(start.size - 1):
        own = np.int64(0)
        for i in range(start[v], start[v + 1]):
            own += degree_of(start, others[i])
        total += own * degree_of(start, v)
    return total


@kernel
def _keys(start: np.ndarray, others: np.ndarray, names: np.ndarray) -> np.ndarray:
    keys, size = np.empty(others.size // 2, np.uint64), 0
    for v in range(start.size - 1):
        for i in range(start[v], start[v + 1]):
            # Each edge once, from its end of lower place.
            if v < others[i]:
                keys[size] = np.uint64(key_of(names[v], names[others[i]], names.size))
                size += 1
    return keys


@kernel
def _filed(start: np.ndarray, keys: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the edges ``keys``, between nodes renumbered by ``place``, in rows that begin at ``start``,
    and where each stands in the other end's row."""
    others, back = np.empty(2 * keys.size, np.int32), np.empty(2 * keys.size, np.int32)
    free, nodes = start[:-1].copy(), place.size
    for key in keys:
        low = key // nodes
        u, v = place[low], place[key - low * nodes]
        # Each end's next free place; both are known here, so that no search for ``back`` is needed later.
        at_u, at_v = free[u], free[v]
        free[u] += 1
        free[v] += 1
        others[at_u], others[at_v] = v, u
        back[at_u], back[at_v] = at_v, at_u
    return others, back


@kernel
def _count(start: np.ndarray, others: np.ndarray, back: np.ndarray, found: np.ndarray) -> int:
    """Adds every triangle to the six entries of its edges; how many there are. Each is seen once, from its
    node that comes first by degree and number; each node has few neighbours that come later."""
    nodes, total, size = start.size - 1, 0, 0
    begin = np.zeros(nodes + 1, np.int64)
    later = np.empty(others.size // 2, np.int32)  # entries of neighbours that come later, row by row
    for u in range(nodes):
        for i in range(start[u], start[u + 1]):
            v = others[i]
            # By degree, so that no node has more than sqrt(2 m) later neighbours: that bounds the time by
            # m^1.5.
            more = degree_of(start, v) - degree_of(start, u)
            if more > 0 or (more == 0 and v > u):
                later[size] = i
                size += 1
        begin[u + 1] = size
    at = np.full(nodes, -1, np.int32)
    for u in range(nodes):
        for k in range(begin[u], begin[u + 1]):
            # Neighbours of u by number: common ones of u and v are met in one pass over v's row.
            at[others[later[k]]] = later[k]
        for k in range(begin[u], begin[u + 1]):
            v = others[later[k]]
            for s in range(begin[v], begin[v + 1]):
                i = at[others[later[s]]]
                if i >= 0:
                    total += 1
                    # Three edges, each with an entry in either end's row.
                    for entry in (i, later[k], later[s]):
                        found[entry] += 1
                        found[back[entry]] += 1
        # Only what was set is cleared: the whole array would cost O(n) for each node.
        for k in range(begin[u], begin[u + 1]):
            at[others[later[k]]] = -1
    return total


@kernel(inline="always")
def degree_of(start: np.ndarray, v: Int) -> int:
    degree: int = start[v + 1] - start[v]
    return degree


@kernel
def linked(start: np.ndarray, others: np.ndarray, u: Int, v: Int) -> bool:
    """Tell whether u and v are linked, by the shorter row."""
    # A hub's row is long: the other end's says the same.
    if degree_of(start, u) > degree_of(start, v):
        u, v = v, u
    for i in range(start[u], start[u + 1]):  # noqa: SIM110 (compiled)
        if others[i] == v:
            return True
    return False


@kernel
def marks_for(start: np.ndarray) -> np.ndarray:
    """Make room for marks of nodes, none of which is marked."""
    marks = np.zeros(start.size, np.int32)
    marks[-1] = 1
    return marks


@kernel
def mark(start: np.ndarray, others: np.ndarray, marks: np.ndarray, v: Int) -> None:
    """Mark v's neighbours, and no other node.

    ``marks`` (n + 1,): a node is marked where it has what the last has, which grows each time.
    """
    # A new stamp unmarks all others at once: clearing would cost O(n).
    stamp = marks[-1] = marks[-1] + 1
    for j in range(np.uint64(start[v]), np.uint64(start[v + 1])):
        marks[np.uint32(others[j])] = stamp


@kernel(inline="always")
def marked(marks: np.ndarray, v: Int) -> bool:
    """Tell whether a node is marked."""
    found: bool = marks[v] == marks[-1]
    return found

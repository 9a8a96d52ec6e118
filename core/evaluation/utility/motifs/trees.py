"""Random subtrees, each copy with the same known probability.

Each function samples ``count`` copies and returns their nodes, (count, size) int64, and the weight W: each
copy is sampled with probability 1/W. A sample that meets itself has a node twice: a miss, whose probability
is what the copies leave of 1. Rows are empty where the graph has no such tree. Weights are float64, exact to
1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.evaluation.utility.motifs.draws import reverses
from core.evaluation.utility.motifs.ordered import Ordered
from core.privacy.entropy import Generator

Draw = tuple[np.ndarray, float]


@dataclass(frozen=True)
class Walker:
    """Random neighbours in ``graph``. Entries are positions in its ``indices``."""

    graph: Ordered
    rng: Generator

    @cached_property
    def rows(self) -> np.ndarray:
        """Node of every entry."""
        return np.repeat(np.arange(len(self.graph.degrees)), self.graph.degrees)

    @cached_property
    def reverse(self) -> np.ndarray:
        """Entry (v, u) of every entry (u, v)."""
        return reverses(self.graph.indptr, self.graph.indices)

    @cached_property
    def beyond(self) -> np.ndarray:
        """Count neighbours of v other than u, per entry. Entries are (u, v); int64."""
        others: np.ndarray = self.graph.degrees[self.graph.indices] - 1
        return others

    def weighted(self, weights: np.ndarray, count: int) -> np.ndarray:
        """Draw ``count`` indices with probability in proportion to ``weights``."""
        sums = np.cumsum(weights, dtype=np.float64)
        found = np.searchsorted(sums, self.rng.random(count) * sums[-1], side="right")
        # Rounding may point past the last index of positive weight.
        held: np.ndarray = np.minimum(found, np.flatnonzero(weights)[-1])
        return held

    def offsets(self, sizes: np.ndarray, taken: list[np.ndarray], more: int) -> list[np.ndarray]:
        """Sample ``more`` distinct offsets below ``sizes``, none ``taken``.

        They are uniform among the free.
        """
        chosen = list(taken)
        for _ in range(more):
            free = sizes - len(chosen)
            offset = np.minimum((self.rng.random(len(sizes)) * free).astype(np.int64), free - 1)
            # Each taken place at or below moves the offset on: uniform among those that are free.
            for other in np.sort(np.array(chosen), axis=0) if chosen else ():
                offset += offset >= other
            chosen.append(offset)
        return chosen

    def neighbours(self, nodes: np.ndarray, offsets: list[np.ndarray]) -> list[np.ndarray]:
        """Look up the neighbours of ``nodes`` at each of ``offsets``."""
        return [self.graph.indices[self.graph.indptr[nodes] + offset] for offset in offsets]

    def end(self, entries: np.ndarray) -> np.ndarray:
        """Sample a neighbour of v other than u, per entry. Entries are (u, v)."""
        back, nodes = self.reverse[entries], self.graph.indices[entries]
        taken = [back - self.graph.indptr[nodes]]
        offsets = self.offsets(self.graph.degrees[nodes], taken, 1)
        return self.neighbours(nodes, offsets[1:])[0]


def _rows(size: int, *columns: np.ndarray) -> np.ndarray:
    return np.stack(columns, axis=1).astype(np.int64) if columns else np.empty((0, size), dtype=np.int64)


def star(walker: Walker, size: int, count: int) -> Draw:
    """Sample a centre, then distinct neighbours.

    It is in proportion to C(d, size - 1), and they are that many.
    """
    degrees = walker.graph.degrees.astype(np.float64)
    weights = np.ones(len(degrees))
    # C(d, size - 1), factor by factor.
    for k in range(size - 1):
        weights *= np.maximum(degrees - k, 0) / (k + 1)
    if not weights.any():
        return _rows(size), 0.0
    centre = walker.weighted(weights, count)
    leaves = walker.offsets(walker.graph.degrees[centre], [], size - 1)
    return _rows(size, centre, *walker.neighbours(centre, leaves)), float(weights.sum())


def path_four(walker: Walker, size: int, count: int) -> Draw:
    """Sample a middle edge, then an end at both sides.

    The edge is (u, v), in proportion to (d_u - 1)(d_v - 1).
    """
    graph = walker.graph
    weights = walker.beyond * (graph.degrees[walker.rows] - 1.0)
    if not weights.any():
        return _rows(size), 0.0
    entry = walker.weighted(weights, count)
    back = walker.reverse[entry]
    ends = (walker.end(back), graph.indices[back], graph.indices[entry], walker.end(entry))
    # Both directions of an edge are entries: a copy is drawn by either.
    return _rows(size, *ends), float(weights.sum()) / 2


def path_five(walker: Walker, size: int, count: int) -> Draw:
    """Sample a centre, then two walks of two steps.

    The centre is in proportion to the square of its walks.
    """
    graph = walker.graph
    walks = np.concatenate([[0], np.cumsum(walker.beyond)])
    per_node = walks[graph.indptr[1:]] - walks[graph.indptr[:-1]]
    weights = per_node.astype(np.float64) ** 2
    if not weights.any():
        return _rows(size), 0.0
    centre = walker.weighted(weights, count)
    arms = []
    for _ in range(2):
        step = np.minimum(
            (walker.rng.random(count) * per_node[centre]).astype(np.int64), per_node[centre] - 1
        )
        entry = np.searchsorted(walks, walks[graph.indptr[centre]] + step, side="right") - 1
        arms += [graph.indices[entry], walker.end(entry)]
    # Either arm may come first: a copy is drawn both ways.
    return _rows(size, centre, *arms), float(weights.sum()) / 2


def fork(walker: Walker, size: int, count: int) -> Draw:
    """Sample an entry (i, j), and three more neighbours.

    It is in proportion to C(d_i - 1, 2)(d_j - 1); two are neighbours of i and one of j.
    """
    graph = walker.graph
    others = graph.degrees[walker.rows] - 1.0
    weights = others * (others - 1) / 2 * walker.beyond
    if not weights.any():
        return _rows(size), 0.0
    entry = walker.weighted(weights, count)
    centre = walker.rows[entry]
    offsets = walker.offsets(graph.degrees[centre], [entry - graph.indptr[centre]], 2)
    nodes = (centre, *walker.neighbours(centre, offsets), walker.end(entry))
    return _rows(size, *nodes), float(weights.sum())


# The spanning trees of connected graphs on 4 and on 5 nodes, by the graphlet that each one is.
TREES: dict[int, dict[str, Callable[[Walker, int, int], Draw]]] = {
    4: {"motif_4_path": path_four, "motif_4_star": star},
    5: {"motif_5_path": path_five, "motif_5_fork": fork, "motif_5_star": star},
}

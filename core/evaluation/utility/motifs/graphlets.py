"""The 29 connected graphs on 3 to 5 nodes.

Also how their counts depend on each other. Nothing here is typed by hand but the edges: both linear systems
and the look-up tables are computed by trying every permutation or map of at most five nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np


@dataclass(frozen=True)
class Graphlet:
    """A connected graph on nodes 0..size-1. ``edges`` are digit pairs, ``name`` is the metric's."""

    name: str
    title: str
    size: int
    edges: tuple[tuple[int, int], ...]

    @property
    def mask(self) -> int:
        """Edges as bits, see :func:`bit`."""
        return sum(1 << bit(a, b) for a, b in self.edges)

    @property
    def bipartite(self) -> bool:
        """Whether it has no odd cycle."""
        sides = product((0, 1), repeat=self.size)
        return any(all(side[a] != side[b] for a, b in self.edges) for side in sides)


def bit(a: int, b: int) -> int:
    """Number the bit that stands for the pair {a, b}. It is the same whatever the size of the graph."""
    low, high = min(a, b), max(a, b)
    return high * (high - 1) // 2 + low


def _graphlet(size: int, name: str, title: str, edges: str) -> Graphlet:
    pairs = tuple((int(pair[0]), int(pair[1])) for pair in edges.split())
    return Graphlet(f"motif_{size}_{name}", title, size, pairs)


EDGE = _graphlet(2, "edge", "Edge", "01")
GRAPHLETS = (
    _graphlet(3, "path", "Path on 3 nodes", "01 12"),
    _graphlet(3, "triangle", "Triangle", "01 12 02"),
    _graphlet(4, "path", "Path on 4 nodes", "01 12 23"),
    _graphlet(4, "star", "Star with 3 leaves (claw)", "01 02 03"),
    _graphlet(4, "cycle", "4-cycle", "01 12 23 03"),
    _graphlet(4, "paw", "Paw (triangle with a pendant edge)", "01 12 02 03"),
    _graphlet(4, "diamond", "Diamond (4-clique without an edge)", "01 12 02 03 23"),
    _graphlet(4, "clique", "4-clique", "01 02 03 12 13 23"),
    _graphlet(5, "path", "Path on 5 nodes", "01 12 23 34"),
    _graphlet(5, "fork", "Fork (chair)", "01 02 03 34"),
    _graphlet(5, "star", "Star with 4 leaves", "01 02 03 04"),
    _graphlet(5, "cycle", "5-cycle", "01 12 23 34 04"),
    _graphlet(5, "banner", "Banner (4-cycle with a pendant edge)", "01 12 23 03 04"),
    _graphlet(5, "bull", "Bull (triangle with two pendant edges at two nodes)", "01 12 02 03 14"),
    _graphlet(5, "cricket", "Cricket (triangle with two pendant edges at one node)", "01 12 02 03 04"),
    _graphlet(5, "lollipop", "Lollipop (triangle with a tail of two edges)", "01 12 02 03 34"),
    _graphlet(5, "house", "House (5-cycle with a chord)", "01 12 23 34 04 14"),
    _graphlet(5, "k23", "Complete bipartite graph of 2 and 3 nodes", "02 03 04 12 13 14"),
    _graphlet(5, "butterfly", "Butterfly (two triangles that share a node)", "01 12 02 03 34 04"),
    _graphlet(5, "dart", "Dart (diamond, pendant edge at a node of degree 3)", "01 12 02 03 23 04"),
    _graphlet(5, "kite", "Kite (diamond, pendant edge at a node of degree 2)", "01 12 02 03 23 14"),
    _graphlet(5, "gem", "Gem (path on 4 nodes and a node joined to all)", "12 23 34 01 02 03 04"),
    _graphlet(5, "book", "Book (three triangles that share an edge)", "01 02 12 03 13 04 14"),
    _graphlet(5, "clique_pendant", "4-clique with a pendant edge", "01 02 03 12 13 23 04"),
    _graphlet(5, "braced_house", "House with a diagonal (wheel without a spoke)", "02 03 04 12 13 14 23"),
    _graphlet(5, "wheel", "Wheel (4-cycle and a node joined to all)", "12 23 34 14 01 02 03 04"),
    _graphlet(5, "clique_minus_path", "5-clique without a path of two edges", "01 02 03 12 13 23 04 14"),
    _graphlet(5, "clique_minus_edge", "5-clique without an edge", "01 02 03 12 13 23 04 14 24"),
    _graphlet(5, "clique", "5-clique", "01 02 03 04 12 13 14 23 24 34"),
)


@cache
def of_size(size: int) -> tuple[Graphlet, ...]:
    """List the graphlets on ``size`` nodes, in their order."""
    return tuple(graphlet for graphlet in GRAPHLETS if graphlet.size == size)


@cache
def labelled(graphlet: Graphlet) -> frozenset[int]:
    """List the masks of all graphs isomorphic to ``graphlet``. They are distinct graphs on 0..size-1."""
    return frozenset(
        sum(1 << bit(order[a], order[b]) for a, b in graphlet.edges)
        for order in permutations(range(graphlet.size))
    )


@cache
def copies(part: Graphlet, whole: Graphlet) -> int:
    """Count the subgraphs of ``whole`` isomorphic to ``part``.

    They are induced or not; both are of one size.
    """
    return sum(mask & whole.mask == mask for mask in labelled(part))


@cache
def maps_onto(graphlet: Graphlet, image: Graphlet) -> int:
    """Count the edge-preserving maps of ``graphlet`` onto ``image``.

    They use every node and every edge of it.
    """
    count = 0
    for places in product(range(image.size), repeat=graphlet.size):
        if all(places[a] != places[b] for a, b in graphlet.edges):
            mask = 0
            for a, b in graphlet.edges:
                mask |= 1 << bit(places[a], places[b])
            count += mask == image.mask
    return count


@cache
def kinds(size: int) -> np.ndarray:
    """Index the graphlet of every mask on ``size`` nodes.

    The index is in :func:`of_size`; -1 if not connected.
    """
    table = np.full(1 << (size * (size - 1) // 2), -1, dtype=np.int8)
    for index, graphlet in enumerate(of_size(size)):
        table[list(labelled(graphlet))] = index
    return table


def copies_from_maps(maps: dict[str, int], smaller: dict[str, int]) -> dict[str, int]:
    """Compute subgraph counts from homomorphism counts.

    It goes graphlet by graphlet. A homomorphism of F into G covers exactly one subgraph H of G, so that
    hom(F) = sum over H of ``maps_onto(F, H)`` * copies(H); H is F itself or has fewer nodes. ``smaller``
    holds the copies of the edge and of all graphlets on fewer nodes.
    """
    counts = {}
    for graphlet in GRAPHLETS:
        if graphlet.name in maps:
            rest = maps[graphlet.name] - sum(
                maps_onto(graphlet, image) * smaller[image.name]
                for image in (EDGE, *GRAPHLETS)
                if image.size < graphlet.size
            )
            counts[graphlet.name] = rest // maps_onto(graphlet, graphlet)
    return counts


def induced_from_copies(size: int, found: dict[str, int]) -> dict[str, int]:
    """Compute induced subgraph counts from all subgraphs'.

    They are for every graphlet on ``size`` nodes. copies(F) = sum over H of ``copies(F, H)`` * induced(H),
    where H has more edges than F or is F: the densest graphlet comes first, and no division occurs.
    """
    induced: dict[str, int] = {}
    for part in sorted(of_size(size), key=lambda graphlet: -len(graphlet.edges)):
        covered = sum(
            copies(part, whole) * induced[whole.name] for whole in of_size(size) if whole.name in induced
        )
        induced[part.name] = found[part.name] - covered
    return {graphlet.name: induced[graphlet.name] for graphlet in of_size(size)}

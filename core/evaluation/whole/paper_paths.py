"""THEPUFF's Meta-2 and Meta-3 (Eq. 21), as its published figures are computed.

    - sum_m p(m) ln( exp(q(m)) / sum_m' exp(q(m')) )

over the listed meta-paths and "none of them". p are the original's shares, its arcs *directed* as stored. q
are the generated graph's, *symmetrised*: every pair counts twice in either direction in the denominator, once
in the numerator, and paths of three nodes may turn back. So q is at most 1/4 for two nodes, and the original
does not score best against itself: read it with its own score and :mod:`core.evaluation.whole.meta_paths`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from core.evaluation.whole.layers import Layer
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType

Paths = tuple[tuple[int, ...], ...]


def listed_paths(original: Graph, relations: Iterable[EdgeType]) -> tuple[Paths, Paths]:
    """List the meta-paths of Meta-2 and Meta-3.

    They are relations with an edge in the original, and chains of two. A relation is read as stored: from its
    source type to its target type.
    """
    place = {name: index for index, name in enumerate(original.nodes)}
    pairs = {(place[t.source], place[t.target]) for t in relations if original.edges[t.name].count}
    chains = {(a, b, d) for a, b in pairs for c, d in pairs if b == c}
    return tuple(sorted(pairs)), tuple(sorted(chains))


def directed_shares(layer: Layer, pairs: Paths, chains: Paths) -> tuple[np.ndarray, np.ndarray]:
    """Compute shares of the listed paths, directed.

    They are among directed paths of two and three nodes; then come the rest's.
    """
    counts, arcs = layer.layout.counts, layer.arcs
    leaving = {key: np.bincount(source, minlength=counts[key[0]]) for key, (source, _) in arcs.items()}
    entering = {key: np.bincount(target, minlength=counts[key[1]]) for key, (_, target) in arcs.items()}
    twos = [float(len(arcs[key][0])) if key in arcs else 0.0 for key in pairs]
    n = layer.layout.node_count
    every_two = float(len(layer.source))
    every_three = _dot(np.bincount(layer.target, minlength=n), np.bincount(layer.source, minlength=n))
    threes = [_dot(entering.get((a, b)), leaving.get((b, c))) for a, b, c in chains]
    return _with_rest(twos, every_two), _with_rest(threes, every_three)


def symmetrised_shares(layer: Layer, pairs: Paths, chains: Paths) -> tuple[np.ndarray, np.ndarray]:
    """Compute them of the symmetrised graph. Published multiplicities hold: 2 for an arc, 4 for two."""
    edges, degrees = layer.edges, layer.typed_degrees
    twos = []
    for a, b in pairs:
        met = edges.get((min(a, b), max(a, b)))
        twos.append(float(len(met[0])) * (2 if a == b else 1) if met else 0.0)
    threes = [_dot(degrees.get((b, a)), degrees.get((b, c))) for a, b, c in chains]
    every = layer.view.degrees
    return _with_rest(twos, 2.0 * float(every.sum())), _with_rest(threes, 4.0 * _dot(every, every))


def _dot(one: np.ndarray | None, other: np.ndarray | None) -> float:
    if one is None or other is None:
        return 0.0
    return float(one.astype(np.float64) @ other.astype(np.float64))


def _with_rest(listed: list[float], total: float) -> np.ndarray:
    shares = np.array(listed) / total if total else np.zeros(len(listed))
    return np.append(shares, 1.0 - shares.sum())


def cross_entropy(shares: np.ndarray, logits: np.ndarray) -> float:
    """Compute Eq. 21 for one step, natural logarithm."""
    return float(shares @ (np.log(np.exp(logits).sum()) - logits))

"""DGG's two functions, fit and sampling.

The noisy degrees of a cell, and a graph with affinity blocks from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.graphs.columns.key_sort import sorted_keys
from core.methods._shared.degrees.counts import integers, noisy_count, to_total
from core.methods._shared.frame.plan import divide
from core.methods._shared.matching.exact import matched, one_block
from core.privacy.entropy import Generator as Rng

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell
    from papers.comparators.dgg.params import DGGParams


def fit(
    cell: PrivateCell, nodes: int, nano_epsilon: int, params: DGGParams, rng: Rng
) -> Mapping[str, np.ndarray]:
    """Pay for ``degree``, float64 (n,), in 0..n-1.

    They sum to twice the noisy edge count. O(n log n + m). Cost: ``nano_epsilon``. Sensitivities: edge_count
    1, degrees 2 in L1.
    """
    count, rest = divide(nano_epsilon, params.count_share)
    edges = noisy_count(cell, count)
    noisy = cell.laplace("degrees", nano_epsilon=rest, purpose="degrees")
    return {"degree": to_total(noisy, 2 * edges)}


def draw(columns: Mapping[str, np.ndarray], nodes: int, params: DGGParams, rng: Rng) -> np.ndarray:
    """Sample sorted keys of one graph.

    Block edges come first, then the matching of what the degrees leave. The blocks hold about as many pairs
    as the graph has edges, so listing them is linear. O(m log m).
    """
    from core.methods._shared.matching import ends

    degrees = integers(columns["degree"], rng)
    inner = _block_edges(degrees, params.clustering ** (1 / 3), rng)
    left = degrees - ends.degrees_in(inner, nodes)
    labels = np.zeros(nodes, dtype=np.int64)
    outer = matched(left, labels, one_block(int(left.sum())), rng, taken=inner)
    return ends.merged(outer, outer[:0], inner)


def affinity_blocks(degrees: np.ndarray, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Order nodes by degree, and return where blocks start.

    They are nodes of degree 2 and more, ties at random. A block whose smallest degree is d holds d + 1 nodes;
    the last one may hold fewer. O(n log n).
    """
    order = np.lexsort((rng.random(len(degrees)), degrees))
    order = order[np.searchsorted(degrees[order], 2) :]
    starts, ranked, place = [], degrees[order].tolist(), 0
    while place < len(ranked):
        starts.append(place)
        place += ranked[place] + 1
    return order, np.array(starts, dtype=np.int64)


def _block_edges(degrees: np.ndarray, density: float, rng: Rng) -> np.ndarray:
    """Draw sorted keys inside the affinity blocks, each pair with probability ``density``. O(pairs)."""
    order, starts = affinity_blocks(degrees, rng)
    if density <= 0 or not len(starts):
        return np.empty(0, dtype=np.int64)
    from papers.comparators.dgg.kernels import linked_pairs

    return sorted_keys(linked_pairs(order, starts, density, len(degrees), rng)).view(np.int64)

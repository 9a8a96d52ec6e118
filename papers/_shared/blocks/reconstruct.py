"""Random graphs with prescribed block totals and expected degrees.

No dense matrix is made. Inside a community the pairs follow Chung-Lu weights d_in(u) d_in(v) (PSGraph, Eq.
2); between C_i and C_j they follow d_out(u) d_out(v): Eq. 4 in its symmetric form, p_uv = E_ij d_out(u)/D_i
d_out(v)/D_j, which equals the printed one on consistent inputs and keeps E_ij under noise. Each block
receives a fixed number of distinct pairs. Reads noisy values only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.matching.pairs import DENSE, pack, triangle
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.ranks import rectangle

ROUNDS = 40
ENUMERATED_FACTOR = 16


@dataclass(frozen=True)
class Layout:
    """Nodes of positive weight in community order, with cumulative weights.

    This is one side of the sampling. ``order[start[c]:start[c+1]]`` are the nodes of community c;
    ``cumulative`` has one more entry than order.
    """

    order: np.ndarray
    start: np.ndarray
    weight: np.ndarray
    cumulative: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, communities: int, weight: np.ndarray) -> Layout:
        """Lay the nodes out by community. A community without any weight gets uniform weights. O(n log n)."""
        weight = np.maximum(np.asarray(weight, dtype=np.float64), 0.0)
        dead = np.bincount(labels, weights=weight, minlength=communities) <= 0
        weight = np.where(dead[labels], 1.0, weight)
        alive = np.flatnonzero(weight > 0)
        order = alive[np.argsort(labels[alive], kind="stable")]
        sizes = np.bincount(labels[alive], minlength=communities)
        start = np.concatenate([[0], np.cumsum(sizes)])
        # Weights are normalised per community, so that one cumulative sum serves all without losing digits.
        total = np.bincount(labels, weights=weight, minlength=communities)
        share = weight[order] / total[labels[order]]
        return cls(order, start, share, np.concatenate([[0.0], np.cumsum(share)]))

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.start)

    def draw(self, communities: np.ndarray, rng: Rng) -> np.ndarray:
        """Sample one node of each named community, in proportion to weight. The result is int64."""
        low = self.cumulative[self.start[communities]]
        high = self.cumulative[self.start[communities + 1]]
        place = (
            np.searchsorted(self.cumulative, low + rng.random(len(communities)) * (high - low), side="right")
            - 1
        )
        # Rounding may step over a community's edge; clamp it back.
        np.clip(place, self.start[communities], self.start[communities + 1] - 1, out=place)
        nodes: np.ndarray = self.order[place]
        return nodes


def capacity(sizes_in: np.ndarray, sizes_out: np.ndarray, blocks: Blocks) -> np.ndarray:
    """Count the distinct pairs of positive weight in each block."""
    inner = blocks.row == blocks.column
    within = sizes_in[blocks.row] * (sizes_in[blocks.row] - 1) // 2
    room: np.ndarray = np.where(inner, within, sizes_out[blocks.row] * sizes_out[blocks.column])
    return room


def reconstruct(
    labels: np.ndarray, d_in: np.ndarray, d_out: np.ndarray, blocks: Blocks, rng: Rng
) -> np.ndarray:
    """Sample distinct edges, ``blocks.edges`` of them in each block.

    The result is sorted int64 keys ``low * n + high``. A block that asks for more pairs than carry weight
    receives them all, and no more. Nearly full blocks are enumerated (weighted sampling without replacement
    by exponential keys, Efraimidis and Spirakis 2006), the others sampled in rounds with rejection of
    repeats: the same law. O(m log m + n log n + k^2).
    """
    communities = int(labels.max(initial=-1)) + 1
    inner, outer = Layout.of(labels, communities, d_in), Layout.of(labels, communities, d_out)
    return draw_blocks(inner, outer, blocks, len(labels), rng)


def draw_blocks(inner: Layout, outer: Layout, blocks: Blocks, nodes: int, rng: Rng) -> np.ndarray:
    """Draw as :func:`reconstruct` does, for layouts made elsewhere. No two blocks may share a pair of nodes.

    ``inner`` draws both ends of the blocks (i, i), ``outer`` those of the others.
    """
    room = capacity(inner.sizes, outer.sizes, blocks)
    wanted = np.minimum(blocks.edges, room)
    dense = wanted * DENSE > room
    # Rejection ends quickly only where few pairs are taken; elsewhere all pairs are listed.
    keys = _enumerate(inner, outer, _select(blocks, dense), wanted[dense], room[dense], nodes, rng)
    open_blocks = _select(blocks, ~dense)
    drawn = _draw_rounds(inner, outer, open_blocks, wanted[~dense], room[~dense], nodes, rng)
    result = np.concatenate([keys, drawn])
    result.sort()
    return result


def _select(blocks: Blocks, mask: np.ndarray) -> Blocks:
    return Blocks(blocks.row[mask], blocks.column[mask], blocks.edges[mask])


def _draw_rounds(
    inner: Layout,
    outer: Layout,
    blocks: Blocks,
    wanted: np.ndarray,
    room: np.ndarray,
    nodes: int,
    rng: Rng,
) -> np.ndarray:
    """Draw ``wanted`` weighted pairs per block, all distinct; sorted keys of all."""
    remaining = wanted.copy()
    accepted = np.empty(0, dtype=np.int64)
    for _ in range(ROUNDS):
        if not remaining.any():
            return accepted
        fresh, block = _draw_once(inner, outer, blocks, remaining, nodes, rng)
        fresh, first = np.unique(fresh, return_index=True)
        block = block[first]
        if len(accepted):
            # Both are sorted: members are found by binary search.
            place = np.minimum(np.searchsorted(accepted, fresh), len(accepted) - 1)
            new = accepted[place] != fresh
            fresh, block = fresh[new], block[new]
        remaining = remaining - np.bincount(block, minlength=len(remaining))
        accepted = np.concatenate([accepted, fresh])
        accepted.sort(kind="stable")  # two sorted runs: merged in linear time
    return _exhaust(inner, outer, blocks, remaining, room, accepted, nodes, rng)


def _draw_once(
    inner: Layout, outer: Layout, blocks: Blocks, counts: np.ndarray, nodes: int, rng: Rng
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``counts`` weighted pairs per block, repeats included, loops dropped: keys and block numbers."""
    block = np.repeat(np.arange(len(counts)), counts)
    diagonal = (blocks.row == blocks.column)[block]
    keys = np.empty(len(block), dtype=np.int64)
    proper = np.ones(len(block), dtype=bool)
    for layout, mask in ((inner, diagonal), (outer, ~diagonal)):
        u = layout.draw(blocks.row[block[mask]], rng)
        v = layout.draw(blocks.column[block[mask]], rng)
        keys[mask] = pack(u, v, nodes)
        # Loops are dropped and sampled again, which leaves the law of the other pairs as it is.
        proper[mask] = u != v
    return keys[proper], block[proper]


def _exhaust(
    inner: Layout,
    outer: Layout,
    blocks: Blocks,
    remaining: np.ndarray,
    room: np.ndarray,
    accepted: np.ndarray,
    nodes: int,
    rng: Rng,
) -> np.ndarray:
    """Complete what rejection left, by enumeration, as far as that stays linear in the edges drawn.

    Only blocks with very uneven weights come here. Those too large to enumerate keep their shortfall; the
    post-processing step adds those edges.
    """
    small = (remaining > 0) & (room <= ENUMERATED_FACTOR * np.maximum(blocks.edges, 1))
    if not small.any():
        return accepted
    chosen = _select(blocks, small)
    extra = _enumerate(inner, outer, chosen, remaining[small], room[small], nodes, rng, taken=accepted)
    accepted = np.concatenate([accepted, extra])
    accepted.sort()
    return accepted


def _enumerate(
    inner: Layout,
    outer: Layout,
    blocks: Blocks,
    counts: np.ndarray,
    room: np.ndarray,
    nodes: int,
    rng: Rng,
    taken: np.ndarray | None = None,
) -> np.ndarray:
    """Draw ``counts`` distinct weighted pairs per block, by listing all ``room`` pairs; keys, unsorted."""
    if not len(counts) or not room.any():
        return np.empty(0, dtype=np.int64)
    block = np.repeat(np.arange(len(counts)), room)
    rank = np.arange(len(block)) - np.repeat(np.cumsum(room) - room, room)
    diagonal = (blocks.row == blocks.column)[block]
    keys = np.empty(len(block), dtype=np.int64)
    weight = np.empty(len(block))
    for layout, mask, within in ((inner, diagonal, True), (outer, ~diagonal, False)):
        i, j = blocks.row[block[mask]], blocks.column[block[mask]]
        a, b = triangle(rank[mask]) if within else rectangle(rank[mask], layout.sizes[j])
        u, v = layout.start[i] + a, layout.start[j] + b
        keys[mask] = pack(layout.order[u], layout.order[v], nodes)
        weight[mask] = layout.weight[u] * layout.weight[v]
    if taken is not None and len(taken):
        place = np.minimum(np.searchsorted(taken, keys), len(taken) - 1)
        new = taken[place] != keys
        keys, weight, block = keys[new], weight[new], block[new]
    # The k smallest of Exp(1) / weight are a weighted sample without replacement; by logarithms, as weights
    # may be tiny.
    arrival = np.log(rng.standard_exponential(len(block))) - np.log(weight)
    order = np.lexsort((arrival, block))
    sizes = np.bincount(block, minlength=len(counts))
    rank = np.arange(len(block)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return keys[order[rank < counts[block[order]]]]

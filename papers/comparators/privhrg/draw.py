"""PrivHRG's two functions, fit and sampling. A dendrogram with noisy counts, and a graph sampled from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub
from core.methods._shared.blocks.whole import upper_triangle
from core.methods._shared.degrees.counts import integers, to_total
from core.methods._shared.frame.plan import divide
from core.methods._shared.matching.pairs import pack, triangle
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.partition import compact, super_nodes
from papers._shared.blocks.ranks import distinct
from papers.comparators.privhrg.markov_chain import fitted

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell
    from papers.comparators.privhrg.params import PrivHRGParams


def fit(
    cell: PrivateCell, nodes: int, nano_epsilon: int, params: PrivHRGParams, rng: Rng
) -> Mapping[str, np.ndarray]:
    """Pay for the dendrogram. ``order`` (n,): nodes by leaf, leaves as the dendrogram has them. Per
    dendrogram node, ``start``, ``middle`` and ``stop``: the places in ``order`` of its two sides (``middle``
    = ``start`` for a leaf), and ``edges``, its noisy count made consistent.

    Cost: ``nano_epsilon``. Sensitivities: group_matrix 1, pair_classes 1; the pass pays for both picks that
    see an edge. O(n + m + k^2) and the chain, for k leaves.
    """
    adjust, evidence, rest = divide(nano_epsilon, params.adjust_share, params.evidence_share)
    groups = compact(
        cell.exponential_labels(
            nano_epsilon=adjust,
            labels=super_nodes(nodes, 1, params.leaves, rng),
            order=rng.permutation(nodes),
            purpose="leaves",
        )
    )
    leaves = int(groups.max()) + 1
    noisy = cell.laplace(
        "group_matrix", nano_epsilon=evidence, purpose="evidence", labels=groups, groups=leaves
    )
    sizes = np.bincount(groups, minlength=leaves)
    children = fitted(_weights(noisy, leaves), sizes, params.steps_per_leaf * params.leaves, rng)
    position, spans = layout(children, leaves)
    counts = cell.laplace(
        "pair_classes",
        nano_epsilon=rest,
        purpose="edges of dendrogram nodes",
        labels=position[groups],
        table=ancestors(spans, leaves),
        classes=2 * leaves - 1,
    )
    places = np.concatenate([[0], np.cumsum(sizes[np.argsort(position)])])
    start, middle, stop = places[spans].T
    room = _pairs(start, middle, stop)
    total = int(np.clip(counts.sum(), 0, room.sum()))
    return {
        "order": np.argsort(position[groups], kind="stable"),
        "start": start,
        "middle": middle,
        "stop": stop,
        "edges": to_total(counts, total, room),
    }


def draw(columns: Mapping[str, np.ndarray], nodes: int, params: PrivHRGParams, rng: Rng) -> np.ndarray:
    """Sample each dendrogram node's edges, uniform over its pairs.

    Returned are sorted keys of one graph. O(m log m).
    """
    start, middle, stop = columns["start"], columns["middle"], columns["stop"]
    room = _pairs(start, middle, stop)
    block, rank = distinct(np.minimum(integers(columns["edges"], rng), room), room, rng)
    width = np.maximum(stop - middle, 1)[block]
    inner = (middle == start)[block]
    high, low = triangle(rank)
    u = columns["order"][start[block] + np.where(inner, low, rank // width)]
    v = columns["order"][np.where(inner, start[block] + high, middle[block] + rank % width)]
    return np.sort(pack(u, v, nodes))


def layout(children: np.ndarray, leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each leaf's place and every node's span.

    The place is in the dendrogram's order, int64 (k,), the span (start, middle, stop). In such places, int64
    (2k-1, 3): its left side is start..middle, its right one middle..stop; a leaf has no left side.
    """
    position = np.empty(leaves, dtype=np.int64)
    spans = np.empty((2 * leaves - 1, 3), dtype=np.int64)
    stack, place = [(2 * leaves - 2, False)], 0
    while stack:
        node, seen = stack.pop()
        left, right = children[node].tolist()
        if left < 0:
            position[node], spans[node] = place, (place, place, place + 1)
            place += 1
        elif seen:
            spans[node] = spans[left, 0], spans[right, 0], spans[right, 2]
        else:
            stack += [(node, True), (right, False), (left, False)]
    return position, spans


def ancestors(spans: np.ndarray, leaves: int) -> np.ndarray:
    """Compute the lowest common ancestor of every leaf pair. It is by leaf places; symmetric int64 (k, k)."""
    table = np.empty((leaves, leaves), dtype=np.int64)
    for node, (start, middle, stop) in enumerate(spans.tolist()):
        if middle == start:
            table[start, start] = node
        else:
            table[start:middle, middle:stop] = node
            table[middle:stop, start:middle] = node
    return table


def _weights(noisy: np.ndarray, leaves: int) -> np.ndarray:
    """Make symmetric non-negative weights between leaves, with the noisy total kept; float64 (k, k)."""
    row, column = upper_triangle(leaves)
    off = row < column
    weights = np.zeros((leaves, leaves))
    weights[row[off], column[off]] = norm_sub(noisy[off])
    return weights + weights.T


def _pairs(start: np.ndarray, middle: np.ndarray, stop: np.ndarray) -> np.ndarray:
    size = stop - start
    pairs: np.ndarray = np.where(middle == start, size * (size - 1) // 2, (middle - start) * (stop - middle))
    return pairs

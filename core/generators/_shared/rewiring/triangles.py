"""Rewiring to a number of triangles and a sum of degree products; degrees and block totals stay.

Every move takes two edges away and puts two others between the same four nodes, such that every node keeps
its degree and every two labels keep their number of edges. First, ends of equal label are swapped at random
until the sum over edges of degree times degree is near its aim. Then triangles are closed: x and y, of one
label and with a common neighbour, give up the edges (x, a) and (y, b) and become linked, as do a and b, where
a or b has that label too; a move is made if it adds triangles. Where there are too many, random swaps that
lose some are made instead. Where the damped sum of clustering was paid for, triangles are closed up to
nearly their number first (the other way round some stay out of reach), then both numbers are brought near
their aims together.

All of it reads noisy values only, so it is post-processing, and it may stop when its targets are met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.generators._shared.matching.pairs import pack
from core.generators._shared.rewiring.clustering import ToldClustering
from core.privacy.entropy import Generator as Rng

FULL_ENDS = 2**21  # up to so many ends each gets its full number of proposals
CLOSED_FIRST = 0.97  # of the triangles, before clustering is looked at
STEERED = 1 / 3  # of the proposals, at most, to bring degree products near their aim


@dataclass(frozen=True)
class Targets:
    """What is aimed at, paid for or public. ``product_sum``: over edges, of degree times degree; None: left
    alone. ``band``: the relative distance from it at which moves no longer have to lead towards it."""

    triangles: int
    product_sum: int | None = None
    band: float = 0.02
    clustering: ToldClustering | None = None


def proposals_for(edges: int, per_end: float) -> int:
    """The most moves that are tried: ``per_end`` for each end of an edge, fewer for large graphs.

    A public rule of a paid-for number of edges: beyond FULL_ENDS, proposals grow with the square root.
    """
    ends = 2 * max(edges, 0)
    return int(per_end * min(ends, math.sqrt(ends * FULL_ENDS)))


def rewired(
    keys: np.ndarray, nodes: int, labels: np.ndarray, targets: Targets, proposals: int, rng: Rng
) -> np.ndarray:
    """Sorted int64 keys ``low * nodes + high`` of a simple graph with the same degrees and block totals.

    ``keys``: distinct, of a simple undirected graph. ``labels`` (n,): integers. Triangles and product sum
    approach the targets; it ends there, or after ``proposals``. The same ``rng`` state gives the same graph.
    O(m log m + proposals * degree) time, O(n + m) memory.
    """
    from core.generators._shared.rewiring import moves
    from core.privacy.triangle_kernels import triangles

    if not len(keys):
        return keys
    rows = _Rows.of(keys, nodes, labels)
    degree = np.diff(rows.start)
    product = int((degree[rows.owner] * degree[rows.others]).sum()) // 2
    steer, aim = targets.product_sum is not None, targets.product_sum or 0
    band, left = int(targets.band * abs(aim)), proposals
    if steer:
        most, before = int(STEERED * proposals), abs(product - aim)
        product, made = moves.shift_product(
            rows.start, rows.others, rows.owner, rows.first, rows.labels, product, aim, band, most, rng
        )
        left -= made
        if (now_off := abs(product - aim)) > band:
            # Out of reach: triangles may cost half of the way that was made, or none could be closed.
            aim, band = product, (before - now_off) // 2
    upward = rows.owner < rows.others
    now = triangles(rows.owner[upward], rows.others[upward], nodes)
    first = targets.triangles if targets.clustering is None else int(CLOSED_FIRST * targets.triangles)
    arguments = (now, first, product, aim, band, steer, left, rng)
    if now < first:
        now, product, made = moves.close_triangles(rows.start, rows.others, rows.labels, *arguments)
    elif targets.clustering is None:
        now, product, made = moves.open_triangles(
            rows.start, rows.others, rows.owner, rows.first, rows.labels, *arguments
        )
    else:
        made = 0
    if targets.clustering is not None and made < left:
        _balanced(rows, targets, (product, aim, band, steer, left - made), rng)
    upward = rows.owner < rows.others
    return np.sort(pack(rows.names[rows.owner[upward]], rows.names[rows.others[upward]], nodes))


def _balanced(rows: _Rows, targets: Targets, product: tuple[int, int, int, bool, int], rng: Rng) -> None:
    """Triangles and clustering of ``rows`` are near their aims, or the proposals are used up."""
    from core.generators._shared.rewiring.balance import balance
    from core.privacy.triangle_kernels import triangles_at_nodes

    told, nodes = targets.clustering, len(rows.labels)
    if told is None:
        return
    upward = rows.owner < rows.others
    source, target = rows.owner[upward], rows.others[upward]
    weight = told.weights(np.diff(rows.start))
    at_nodes = triangles_at_nodes(source, target, nodes)
    own = float((at_nodes * weight).sum())
    *products, left = product
    balance(
        (rows.start, rows.others, rows.owner, rows.first, rows.labels),
        weight,
        (int(at_nodes.sum()) // 3, max(targets.triangles, 0)),
        (own, told.aim(own, source, target, nodes)),
        tuple(products),
        left,
        rng,
    )


@dataclass
class _Rows:
    """A graph as rows of neighbours, its nodes renumbered so that those of one label stand together.

    ``names``: the old number of each node. ``start`` (n + 1,), ``others`` (2m,): row v is
    ``others[start[v]:start[v + 1]]``. ``owner`` (2m,): the node of each entry. ``labels`` (n,): 0..k-1.
    ``first`` (k + 1,): where each label's entries begin.
    """

    names: np.ndarray
    start: np.ndarray
    others: np.ndarray
    owner: np.ndarray
    labels: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, keys: np.ndarray, nodes: int, labels: np.ndarray) -> _Rows:
        """The rows of an edge list; O(m log m)."""
        _, compact = np.unique(labels, return_inverse=True)
        names = np.argsort(compact, kind="stable")
        place = np.empty(nodes, dtype=np.int32)
        place[names] = np.arange(nodes)
        low, high = np.divmod(keys, max(nodes, 1))
        owner = np.concatenate([place[low], place[high]])
        others = np.concatenate([place[high], place[low]])
        order = np.argsort(owner, kind="stable")
        owner, others = owner[order], others[order]
        start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=nodes))])
        sizes = np.bincount(compact, minlength=1)
        first = start[np.concatenate([[0], np.cumsum(sizes)])]
        return cls(names, start, others, owner, compact[names], first)

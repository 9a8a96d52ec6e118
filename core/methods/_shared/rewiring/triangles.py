"""Rewiring to a triangle count and degree product sum.

Degrees and block totals stay. Every move takes two edges away and puts two others between the same four
nodes, such that every node keeps its degree and every two labels keep their number of edges. First, ends of
equal label are swapped at random until the sum over edges of degree times degree is near its aim. Then
triangles are closed: x and y, of one label and with a common neighbour, give up the edges (x, a) and (y, b)
and become linked, as do a and b, where a or b has that label too; a move is made if it adds triangles. Where
there are too many, random swaps that lose some are made instead. Where the damped sum of clustering was paid
for and says more than its noise, triangles are closed such that both grow towards their aims together; up to
nearly their number first (the other way round some stay out of reach), then both numbers are brought near
their aims. Every edge knows how many triangles it is in, so that edges in none are given up first.

Triangles that are closed anywhere leave a graph with fewer communities than graphs have that are this
clustered. So every node is of one of a few circles, chosen at random, and x and y are of one or both are
hubs. Where clustering was paid for, a part of the edges is gathered into circles beforehand, larger the more
paths are closed: triangles alone leave sparse graphs with fewer communities than graphs have.

A graph of MANY_EDGES sampled edges or more, a paid count, is brought to its aims by groups of nodes instead
(:mod:`core.methods._shared.rewiring.affinity`), and by moves only where these do not reach.

All of it reads noisy values only, so it is post-processing, and it may stop when its targets are met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring import groups as grouping
from core.methods._shared.rewiring import moves
from core.methods._shared.rewiring.affinity import CHANCES, within_circles
from core.methods._shared.rewiring.balance import balance
from core.methods._shared.rewiring.clustering import CLOSED, OPENED, ToldClustering
from core.methods._shared.rewiring.moves import close_triangles, open_triangles
from core.methods._shared.rewiring.rounds import Rounds
from core.methods._shared.rewiring.rows import Products, Rows
from core.privacy.entropy import Generator as Rng

FULL_ENDS = 2**21  # up to so many ends each gets its full number of proposals
NEARLY = 0.97  # of the triangles, or one over so much of them, before clustering is looked at
UNKNOWN = -1.0  # clustering that is not aimed at
# Chosen on all graphs of `benchmarks.regret`, among none, 4, 8, 12 and 16 circles and 0 to 6 % of hubs.
CIRCLES = 16  # at random, in all labels together, in which triangles are closed, at most
ROOM = 8  # nodes that a circle has for each edge of a mean node; fewer leave some triangles out of reach
LEAST_CIRCLE = 100  # nodes
HUBS = 0.01  # of the nodes: those of most edges, which form triangles with each other in any circle
# Of the edges, gathered into circles: so much for transitivity of one, and so much at most. Chosen on other
# graphs (``benchmarks.gathering``); constants alone give graphs of few triangles too many communities.
GATHERED, MOST_GATHERED = 5.0, 0.4
MANY_EDGES = 10**6  # and more: most triangles are closed in groups, at a cost that stays linear
STEERED = 1 / 3  # of the proposals, at most, to bring degree products near their aim
# Both on CA-HepPh and tvshow. Where triangles stay out of reach, clustering has its turn all the same.
TURN = 1 / 2  # of the proposals left, at most, to close triangles, the other half is for balance
MET = 0.95  # of the clustering that was read: more of them may close triangles


@dataclass(frozen=True)
class Targets:
    """What is aimed at, paid for or public. ``product_sum``: over edges, of degree times degree; None:
    left as it is. ``band``: the relative distance from it at which moves no longer have to lead towards
    it."""

    triangles: int
    product_sum: int | None = None
    band: float = 0.02
    clustering: ToldClustering | None = None


def proposals_for(edges: int, per_end: float) -> int:
    """Compute the most moves that are tried.

    They are ``per_end`` for each end of an edge, fewer for large graphs. A public rule of a paid-for number
    of edges: beyond FULL_ENDS, proposals grow with the square root.
    """
    ends = 2 * max(edges, 0)
    # The smaller of both: up to FULL_ENDS each end has its full number.
    return int(per_end * min(ends, math.sqrt(ends * FULL_ENDS)))


def rewired(
    keys: np.ndarray,
    nodes: int,
    labels: np.ndarray,
    targets: Targets,
    proposals: int,
    rng: Rng,
    *,
    grouped_from: int = MANY_EDGES,
) -> np.ndarray:
    """Rewire ``keys`` to ``targets``, keeping degrees and block totals.

    The result is sorted int64 keys ``low * nodes + high`` of a simple graph.

    ``keys``: distinct, of a simple undirected graph. ``labels`` (n,): integers. Triangles and product sum
    approach the targets; it ends there, or after ``proposals``. With ``grouped_from`` edges or more, a paid
    count, triangles are closed in groups first. The same ``rng`` state gives the same graph.
    O(m log m + proposals * degree) time, O(n + m) memory.
    """
    if not len(keys):
        return keys
    circles, many = _circles(nodes, len(keys), len(np.unique(labels))), len(keys) >= grouped_from
    rows = Rows.of(keys, nodes, labels, circles, rng, falling=many).with_hubs(HUBS)
    own = product = rows.product_sum()
    steer, aim = targets.product_sum is not None, targets.product_sum or 0
    band, left = int(targets.band * abs(aim)), proposals
    groups = Rounds(rows, targets.triangles, targets.clustering, rng) if many else None
    if groups is not None:
        product, made = groups.gather((product, aim, band, steer), left)
        left -= made
    elif targets.clustering is not None and circles > 1:
        product, made = _gathered(rows, targets.triangles, own, rng)
        left -= made
    if steer:
        most, before = int(STEERED * proposals), abs(own - aim)
        if groups is not None:
            product, made = groups.steer((product, aim, band, steer), min(most, left))
        else:
            # Edges were gathered into circles: swaps must leave them there.
            arrays = rows.arrays() if targets.clustering is None else within_circles(rows)
            product, made = moves.shift_product(arrays, product, aim, band, most, rng)
        left -= made
        if (now_off := abs(product - aim)) > band:
            # Out of reach: triangles may cost half of the way that was made, or none could be closed.
            aim, band = product, max(before - now_off, 0) // 2
    if groups is not None:
        product, made, met = groups.fill((product, aim, band, steer), left)
        left -= made
        if met:
            return rows.keys()
    now = rows.count()
    if steer and now > targets.triangles and product > own:
        # Degree products as large as told make more triangles than were told: they may go back, and beyond.
        aim, band = own, product - own
    products, told = (product, aim, band, steer), targets.clustering
    if told is not None:
        _balanced(rows, now, targets, told, products, left, rng)
    elif now < targets.triangles:
        # Corners weigh nothing where clustering is not aimed at: all triangles are alike.
        nothing = np.zeros(nodes)
        moves.close_triangles(
            rows.arrays(), nothing, (now, targets.triangles), (0.0, UNKNOWN), products, left, rng
        )
    else:
        moves.open_triangles(rows.arrays(), np.zeros(nodes), (now, targets.triangles), products, left, rng)
    return rows.keys()


def _circles(nodes: int, edges: int, labels: int) -> int:
    """How many circles each label is divided into."""
    # Circles with too few nodes have too few pairs to close: some triangles would stay out of reach.
    room = max(LEAST_CIRCLE, ROOM * 2 * edges / nodes)
    return max(1, round(min(CIRCLES, nodes / room) / labels))


def _gathered(rows: Rows, triangles: int, product: int, rng: Rng) -> tuple[int, int]:
    """Gather edges into circles; return product sum and tries. Degrees and block totals stay."""
    degree = np.diff(rows.start).astype(np.float64)
    # Transitivity at the aim: three corners a triangle, over the paths of length two.
    closed = 6 * max(triangles, 0) / max(float((degree * (degree - 1)).sum()), 1.0)
    wanted = int(min(GATHERED * closed, MOST_GATHERED) * len(rows.others) / 2)
    return grouping.gathered(rows.arrays(), (product, 0, 0, False), wanted, CHANCES * wanted, rng)


def _balanced(
    rows: Rows,
    now: Int,
    targets: Targets,
    told: ToldClustering,
    products: Products,
    left: int,
    rng: Rng,
) -> None:
    """Triangles and clustering of ``rows`` are near their aims, or the proposals are used up."""
    weight, most = told.weights(np.diff(rows.start)), max(targets.triangles, 0)
    # Nearly there is enough: the last of them are closed with clustering in view.
    first, last, made, spread = int(NEARLY * most), int(most / NEARLY), 0, CLOSED
    if now < first:
        own = rows.weighed(weight)
        steered = told.total if told.tells(told.variance_of(rows)) else UNKNOWN
        # If half of the proposals do not close enough, the rest may, as long as clustering is not what lags.
        for most_made in (int(TURN * left), left):
            now, own, product, more = close_triangles(
                rows.arrays(), weight, (now, first), (own, steered), products, most_made - made, rng
            )
            products, made = (product, *products[1:]), made + more
            if now >= first or own < MET * told.total:
                break
    elif now > last:
        spread = OPENED
        now, product, made = open_triangles(rows.arrays(), weight, (now, last), products, left, rng)
        products = product, *products[1:]
    if made < left:
        rows.hub = 0  # any two nodes may be linked now
        own = rows.weighed(weight)
        wanted = told.aim(own, spread, told.variance_of(rows), len(rows.labels))
        balance(rows.arrays(), weight, (now, most), (own, wanted), products, left - made, rng)

"""A damped sum of local clustering coefficients by the ladder mechanism, sampled exactly.

A node's clustering coefficient, t / C(d, 2) for t triangles and degree d, moves far with one edge where d is
small. Dividing by C(max(d, D), 2) instead, with a public D, keeps what one edge can do small. The ladder
(:mod:`core.privacy.mechanisms.ladder`) takes the local sensitivity of this graph, which is never put out, in
place of the largest that any graph could have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import NotAccepted
from core.kernels.decorator import kernel
from core.privacy.mechanisms.ladder import climbed
from core.privacy.mechanisms.samplers import LIMIT
from core.privacy.mechanisms.triangle_kernels import rows_by_degree, triangles_in_rows

LEAST_DAMPING = 4
MOST_DAMPING = 64
FIRST_NODES = 8  # walked before paths are left out, so that what they find is as large as can be
FINEST, COARSEST = 16, 5  # powers of two: parts that a triangle at a node of degree D at most is cut into


@dataclass(frozen=True)
class Damping:
    """The public part of the damped sum. It has ``degree`` D, below which a node counts as if it had D, and
    the integers' ``unit``.

    ``grain``: what a triangle counts at a node of degree D or less; ``unit`` = ``grain`` C(D, 2) is what a
    coefficient of 1 counts at larger ones.
    """

    degree: int
    grain: int

    @property
    def unit(self) -> int:
        return self.grain * (self.degree * (self.degree - 1) // 2)

    @property
    def ends(self) -> int:
        """Bound what an edge's own ends change the sum. It is the most that these two do. See
        :func:`damped_clustering`."""
        # E = 2 ceil(2U / D) of the proof; -(-a // b) is the ceiling of a / b in integers.
        return 2 * -(-2 * self.unit // self.degree)


def damping_of(nodes: int, degree: int) -> Damping:
    """Choose the finest grid whose products fit in 2^62. NotAccepted where no integers are fine enough.

    Public facts only.
    """
    if not LEAST_DAMPING <= degree <= MOST_DAMPING:
        raise NotAccepted(f"damping lies in {LEAST_DAMPING}..{MOST_DAMPING}", field="damping")
    pairs = max(1, nodes * (nodes - 1) // 2)
    power = FINEST
    # At most C(n, 2) triangles at a node, times U, must fit in int64.
    while power > COARSEST and pairs * (degree * (degree - 1) // 2) * 2**power > LIMIT:
        power -= 1
    if pairs * (degree * (degree - 1) // 2) * 2**power > LIMIT:
        raise NotAccepted("there are too many nodes for sums of clustering", field="nodes")
    return Damping(degree, 2**power)


def damped_clustering(
    source: np.ndarray, target: np.ndarray, nodes: int, damping: Damping, at_nodes: np.ndarray | None = None
) -> tuple[int, int]:
    """Compute the damped sum S, and width I_0. S is that of clustering coefficients, I_0 that of the first
    rung. Both private, exact.

    S = sum over nodes v of floor(t_v U / C(m_v, 2)), with t_v the triangles at v, m_v = max(d_v, D),
    U = ``damping.unit``. I_0 = E + L: E = 2 ceil(2U / D) is public; L is the largest, over ALL pairs of
    nodes, linked or not, of the sum over their common neighbours x of w(x) = ceil(U / C(m_x, 2)).

    Sensitivity: S moves by at most I_0, of either graph; I_0 moves by at most g = ``damping.grain``. Unit:
    one undirected edge of a simple graph.
    Proof: let G' be G and the edge {i, j}, c their common neighbours, the same in both graphs.
    (i) S. A common neighbour x has one triangle more and its old degree, so that its term grows by at most
    ceil(U / C(m_x, 2)) = w(x); all of them together by at most L, of G and of G' alike, as these x have the
    same degrees in both. No other node but i and j changes. Of i, with degree d and t <= C(d, 2) triangles
    before, the real value t U / C(max(d, D), 2) becomes (t + c) U / C(max(d + 1, D), 2), c <= d. It grows by
    at most d U / C(max(d + 1, D), 2): for d + 1 >= D that is 2U / (d + 1) <= 2U / D, else at most
    (D - 2) U / C(D, 2) < 2U / D. It falls only where d >= D, by at most
    C(d, 2) U (1 / C(d, 2) - 1 / C(d + 1, 2)) = 2U / (d + 1) < 2U / D. Two integers floor(a), floor(b) differ
    by at most ceil(|a - b|). The same holds of j. So |S(G') - S(G)| <= L + 2 ceil(2U / D) = I_0.
    (ii) I_0. Let P be a pair. It gains at most one common neighbour: of {i, b} that is j, of {a, j} it is i,
    and {i, j} gains none; a weight is at most w = g = U / C(D, 2). Other weights only fall. So the pair's sum
    grows by at most g. It falls only by what the weights of i and j fall, where they are common neighbours of
    P: each at most ceil(U / C(m, 2) - U / C(m + 1, 2)), m >= D, which is at most
    ceil(2U / (C(D, 2) (D + 1))) = ceil(2g / (D + 1)). Both together: at most 2 (2g / (D + 1) + 1), which is
    at most g for D >= 4 and g >= 2^4 (:data:`LEAST_DAMPING`, :data:`COARSEST`). A maximum moves no farther
    than what it is taken over.

    ``at_nodes`` int64 (n,): the triangles at every node, where they were counted before; exact too.
    O(m^1.5) for triangles; the largest sum by paths of length two, O(sum of degree squared) at worst, walked
    only between nodes whose own sums exceed the largest found so far.
    """
    start, others, order = rows_by_degree(source, target, nodes)
    # Rows stand in the order of degrees, counts from before in that of nodes.
    found = triangles_in_rows(start, others) if at_nodes is None else at_nodes[order]
    # Rounded down node by node: the proof bounds differences of such floors.
    whole = int((found * damping.unit // _pairs(np.diff(start), damping)).sum())
    return whole, rung_of(start, others, damping)


def rung_of(start: np.ndarray, others: np.ndarray, damping: Damping) -> int:
    """Compute the first rung's width I_0. See :func:`damped_clustering`; it is that of rows of neighbours, in
    any order, and where each begins. Private, exact."""
    # w(x) = ceil(U / C(m_x, 2)) of the proof.
    weight = -(-damping.unit // _pairs(np.diff(start), damping))
    ahead = _weighed(start, others, weight)
    return damping.ends + int(_largest_sum(start, others, weight, ahead, np.argsort(-ahead)))


def rung_at_hubs(start: np.ndarray, others: np.ndarray, damping: Damping) -> int:
    """Bound the rung's width at pairs with a hub. It is no more than :func:`rung_of`, mostly the same: of the
    few pairs with a node whose neighbours weigh the most. Not for noise, but for how far it reached. O(n log
    n + m + their paths)."""
    # w(x) of the proof, as in ``rung_of``.
    weight = -(-damping.unit // _pairs(np.diff(start), damping))
    order = np.argsort(-_weighed(start, others, weight))[:FIRST_NODES]
    return damping.ends + int(_sum_of_first(start, others, weight, order, _room(len(start) - 1)))


def _pairs(degree: np.ndarray, damping: Damping) -> np.ndarray:
    """C(m_v, 2) of every node; int64 (n,)."""
    damped = np.maximum(degree, damping.degree).astype(np.int64)
    return np.asarray(damped * (damped - 1) // 2)


def clustering_ladder(
    source: np.ndarray,
    target: np.ndarray,
    nodes: int,
    damping: Damping,
    nano_epsilon: int,
    at_nodes: np.ndarray | None = None,
) -> int:
    """Release the damped sum S by the ladder mechanism. It may be any integer, negative ones too; in
    ``damping.unit``.

    Rung t >= 1 has I_0 + (t - 1) g integers on each side, I_0 and g of :func:`damped_clustering`.

    Sensitivity: an integer's rung moves by at most 1. Unit: one undirected edge. Costs ``nano_epsilon``.
    Proof: a_t(G) = the sum of I_0(G) + s g over s < t is how far t rungs reach. With the two bounds proved
    there, an integer within a_t(G) of S(G) lies within a_t(G) + I_0(G') <= a_t(G') + t g + I_0(G')
    = a_(t+1)(G') of S(G'), as a_(t+1)(G') = I_0(G') + the sum of I_0(G') + (s + 1) g over s < t. So its rung
    in G' is at most one more than in G, and the other way round
    (:func:`core.privacy.mechanisms.ladder.climbed`).
    """
    value, first = damped_clustering(source, target, nodes, damping, at_nodes)
    return climbed(value, first, damping.grain, None, nano_epsilon)


@kernel
def _weighed(start: np.ndarray, others: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The sum of ``weight`` over all neighbours of each node; int64 (n,)."""
    found = np.zeros(start.size - 1, np.int64)
    for v in range(found.size):
        for i in range(start[v], start[v + 1]):
            found[v] += weight[others[i]]
    return found


@kernel
def _largest_sum(
    start: np.ndarray, others: np.ndarray, weight: np.ndarray, ahead: np.ndarray, order: np.ndarray
) -> np.int64:
    """The largest sum of ``weight`` over the common neighbours of two nodes.

    ``ahead`` is the sum over all neighbours of a node, which no pair of that node exceeds; it descends in
    ``order``, and the walk stops once no node left can do better. All paths from the FIRST_NODES are walked,
    so that few nodes may do better than what is found there; then those alone between these.
    """
    nodes, first = start.size - 1, min(FIRST_NODES, start.size - 1)
    counts = _room(nodes)
    best = _sum_of_first(start, others, weight, order[:first], counts)
    able = first
    while able < nodes and ahead[order[able]] > best:
        able += 1
    begin = np.zeros(nodes + 1, np.int64)
    for place in range(able):
        for i in range(start[order[place]], start[order[place] + 1]):
            begin[others[i] + 1] += 1
    begin = np.cumsum(begin)
    large, end = np.empty(begin[nodes], np.int32), begin[:-1].copy()
    for place in range(able):
        if ahead[order[place]] <= best:
            break
        best = _walked((start, others), (begin, end, large), weight, order[place], counts, best)
        for i in range(start[order[place]], start[order[place] + 1]):
            large[end[others[i]]] = order[place]
            end[others[i]] += 1
    return best


@kernel
def _room(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for :func:`_walked`: sums, and the nodes that have some."""
    return np.zeros(nodes, np.int64), np.empty(nodes, np.int32)


@kernel
def _sum_of_first(
    start: np.ndarray,
    others: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    counts: tuple[np.ndarray, np.ndarray],
) -> np.int64:
    """The largest sum of ``weight`` over the common neighbours of one of ``order`` and any node."""
    best = np.int64(0)
    for u in order:
        best = _walked((start, others), (start, start[1:], others), weight, u, counts, best)
    return best


@kernel
def _walked(
    rows: tuple[np.ndarray, np.ndarray],
    onward: tuple[np.ndarray, np.ndarray, np.ndarray],
    weight: np.ndarray,
    u: int,
    counts: tuple[np.ndarray, np.ndarray],
    best: np.int64,
) -> np.int64:
    """The most that u shares with a node of ``onward``, or ``best``.

    ``onward``: (begin, end, large), where ``large[begin[v]:end[v]]`` are the neighbours of v that count.
    ``counts``: (sums, 0 and left so, and room for the nodes that have some).
    """
    (start, others), (begin, end, large), (found, met) = rows, onward, counts
    size = 0
    for i in range(start[u], start[u + 1]):
        v = others[i]
        for j in range(begin[v], end[v]):
            w = large[j]
            if w == u:
                continue
            if not found[w]:
                met[size] = w
                size += 1
            found[w] += weight[v]
    for k in range(size):
        best = max(best, found[met[k]])
        found[met[k]] = 0
    return best

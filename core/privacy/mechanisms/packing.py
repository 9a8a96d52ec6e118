"""Triangles of which no node counts more than ``tau``. Their number is a packing, for unit NODE.

A node may close as many triangles as it has pairs of neighbours, and change every other node's number by its
own degree, so neither a plain count nor one cut node by node has a useful sensitivity. The most triangles
that can be packed, each by a fraction of 0 to 1, so that no node holds more than tau of them, is a linear
program whose optimum one node moves by tau at most; no bound on degrees is needed.
After Kasiviswanathan, Nissim, Raskhodnikova and Smith, "Analyzing graphs with node differential privacy", TCC
2013, and R2T, Dong, Fang, Yi, Tao and Machanavajjhala, SIGMOD 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from core.errors import InvalidInput
from core.kernels.decorator import kernel
from core.late import late
from core.privacy.mechanisms.siphash import after_two_words, keyed
from core.privacy.mechanisms.triangle_kernels import rows_by_degree

MAX_TAU = 2**19
GAP = 0.25
"""How far apart the two bounds on an optimum may lie; numerical ones lie within a millionth."""

_linprog = late("scipy.optimize:linprog")  # a quarter of a second, for the releases that pack
_SOLVERS = ("highs-ds", "highs-ipm")
_LENGTH = np.uint64(16 << 56)  # SipHash's closing word for a message of 16 bytes


def sensitivity(tau: Any) -> int:
    """Return the sensitivity of :func:`packed`, tau + 1. InvalidInput unless tau is in [1, MAX_TAU]."""
    if type(tau) is not int or not 1 <= tau <= MAX_TAU:
        raise InvalidInput(f"tau is an integer in [1, {MAX_TAU}]", field="tau")
    return tau + 1


def check_share(share: Any) -> float:
    """Return ``share``; InvalidInput unless it lies in (0, 1]."""
    if not isinstance(share, int | float) or not 2.0**-40 <= share <= 1:
        raise InvalidInput("share lies in (0, 1]", field="share")
    return float(share)


def packed(triples: np.ndarray, nodes: int, tau: int) -> int:
    """Pack triangles, at most ``tau`` at every node. It is the most triangles, in fractions, such that every
    node is in ``tau`` at most; rounded.

    ``triples`` (k, 3): triangles of a graph over ``nodes`` nodes, each once; all of them, or those of a set
    of triples that was fixed without looking at the graph (:func:`chosen_triangles`).

    Sensitivity: tau + 1. Unit: NODE. Proof: let f(G) be the optimum and G - v the graph without v's edges. A
    packing of G - v is one of G. A packing of G, less what it holds of triangles at v (tau at most), is one
    of G - v. So f(G - v) <= f(G) <= f(G - v) + tau. G' differs from G in edges of v alone, so G' - v is
    G - v, and both optima lie in one interval of length tau. What is returned lies within 1/2 + GAP of the
    optimum: any y >= 0 bounds it from above by tau sum(y) + sum over triangles of max(0, 1 - sum of y at its
    nodes), any feasible packing from below, and the two are compared. Two integers that differ by tau + 2 GAP
    + 1 < tau + 2 differ by tau + 1 at most.

    ArithmeticError where no solver brings the bounds together, which no graph has shown.
    """
    if not len(triples):
        return 0
    # Only nodes in more than tau triangles bind: a triangle that touches none of them counts in full.
    full = np.bincount(triples.ravel(), minlength=nodes) > tau
    touched = full[triples]
    free = int((~touched.any(axis=1)).sum())
    if free == len(triples):
        return free
    rows = triples[touched.any(axis=1)]
    number = np.cumsum(full) - 1
    # Triangles with the same full nodes are alike: one variable for all of them, at most their number.
    names = np.where(full[rows], number[rows] + 1, 0)
    names.sort(axis=1)
    kinds, copies = np.unique(names, axis=0, return_counts=True)
    return round(free + _optimum(kinds, copies.astype(np.float64), int(full.sum()), tau))


def _optimum(kinds: np.ndarray, copies: np.ndarray, rows: int, tau: int) -> float:
    """The largest sum of x, 0 <= x <= ``copies`` (c,), with at most ``tau`` in each row; within GAP.

    ``kinds`` (c, 3): the rows of each variable plus 1, or 0.
    """
    column, place = np.nonzero(kinds)
    ones = np.ones(len(column))
    matrix = sp.csr_array((ones, (kinds[column, place] - 1, column)), shape=(rows, len(kinds)))
    for solver in _SOLVERS:
        found = _linprog(
            -np.ones(len(kinds)),
            A_ub=matrix,
            b_ub=np.full(rows, float(tau)),
            bounds=np.column_stack([np.zeros(len(kinds)), copies]),
            method=solver,
        )
        if found.x is None:
            continue
        packing = np.clip(found.x, 0, copies)
        # Solvers pass a bound by their tolerance: scaled down, every row holds, and the packing is feasible.
        packing /= max(1.0, float((matrix @ packing).max()) / tau)
        # Any prices y >= 0 bound the optimum from above (weak duality), wherever the solver has stopped.
        price = np.maximum(-found.ineqlin.marginals, 0)
        above = tau * price.sum() + (copies * np.maximum(1 - matrix.T @ price, 0)).sum()
        if above - packing.sum() <= GAP:
            return float(above)
    raise ArithmeticError("the packing's bounds do not meet")


def chosen_triangles(
    source: np.ndarray, target: np.ndarray, nodes: int, share: float, key: bytes
) -> np.ndarray:
    """Sample triangles among the triples by a keyed function. It chooses about ``share`` of all; (k, 3).

    Which triples are chosen hangs on their three numbers and the key alone. O(m^1.5) time, memory O(m + k).
    """
    start, others, order = rows_by_degree(source, target, nodes)
    below = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    return _chosen(start, others, order, nodes, keyed(key), below, share >= 1)


@kernel
def _chosen(
    start: np.ndarray,
    others: np.ndarray,
    order: np.ndarray,
    nodes: int,
    state: np.ndarray,
    below: np.uint64,
    every: bool,
) -> np.ndarray:
    """Each triangle is seen once, from its node of highest rank (least degree)."""
    marked = np.zeros(nodes, np.bool_)
    found = np.empty((1024, 3), np.int64)
    count = 0
    for u in range(nodes):
        for i in range(start[u], start[u + 1]):
            if others[i] > u:
                break
            marked[others[i]] = True
        for i in range(start[u], start[u + 1]):
            v = others[i]
            if v > u:
                break
            for j in range(start[v], start[v + 1]):
                w = others[j]
                if w > v:
                    break
                if not marked[w]:
                    continue
                a, b, c = order[u], order[v], order[w]
                if every or _hashed(state, a, b, c) <= below:
                    if count == found.shape[0]:
                        larger = np.empty((2 * count, 3), np.int64)
                        larger[:count] = found
                        found = larger
                    found[count, 0], found[count, 1], found[count, 2] = a, b, c
                    count += 1
        for i in range(start[u], start[u + 1]):
            if others[i] > u:
                break
            marked[others[i]] = False
    return found[:count].copy()


@kernel
def _hashed(state: np.ndarray, a: int, b: int, c: int) -> np.uint64:
    low, high = min(a, b, c), max(a, b, c)
    middle = a + b + c - low - high
    # 32 bits for each number: the first two fill a word, the third the next one.
    first = (np.uint64(low) << np.uint64(32)) | np.uint64(middle)
    return after_two_words(state, first, np.uint64(high), _LENGTH)

"""Edges kept by a keyed order so that no node has more than theta of them, and what may be asked of those.

Under unit NODE two neighbours differ in all edges of one node, of which there may be as many as nodes. All
pairs of nodes stand in one order that a key decides; edges are taken in that order, and one is kept while
both of its ends have fewer than ``theta`` kept edges. The order knows nothing of the graph: SipHash-2-4 of
the two nodes' numbers under a key that is drawn from the operating system, ties by the numbers themselves.

What one node can change (Lemma). Let G and G' differ in edges of node v only, d and d' be the kept degrees,
k = d(v) and k' = d'(v). Then the sum over u != v of |d(u) - d'(u)| is at most k + k', so that the whole
vector moves by at most k + k' + |k - k'| = 2 max(k, k') <= 2 theta in L1.
Proof. Take the pairs one by one and look at S = sum over u != v of |d(u) - d'(u)| and at k + k' so far. A
pair {v, u}, kept in either graph, adds 1 to k or to k', and at most 1 to S. A pair {a, b} without v is an
edge of both graphs or of none. Kept in both or in neither, it leaves S alone. Kept in G only, it found an
end, say a, with theta kept edges in G' and fewer in G: |d(a) - d'(a)| falls by 1, that of b grows by 1 at
most, and S does not grow. The same with the graphs exchanged. So S <= k + k' at every step.

The kept edges themselves are not protected at theta, nor are tables of them by groups of both ends: whether
an edge far from v is kept may hang on v, and so may that of the next edge, without end. A function of the
kept *degrees* is what the lemma speaks of, and this module offers no other (docs/generators/projection.md).
After Day, Li and Lyu, "Publishing graph degree distribution with node differential privacy", SIGMOD 2016; the
lemma for replaced edges, and totals inside groups, are ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from core.errors import InvalidInput
from core.kernels.decorator import kernel
from core.privacy import limits
from core.privacy.mechanisms.siphash import KEY_BYTES, after_word, keyed
from core.privacy.queries import Shape, check_labels, tail_counts

MAX_THETA = 2**19
"""The largest theta: 2 theta is then a sensitivity that the samplers take."""

_LENGTH = np.uint64(8 << 56)  # SipHash's closing word for a message of 8 bytes
_HALF = np.uint64(32)


def fresh_key() -> bytes:
    """Draw a key for the order of pairs."""
    return os.urandom(KEY_BYTES)


def check_theta(theta: Any) -> int:
    """Return ``theta``; InvalidInput unless it is an integer in [1, MAX_THETA]."""
    if type(theta) is not int or not 1 <= theta <= MAX_THETA:
        raise InvalidInput(f"theta is an integer in [1, {MAX_THETA}]", field="theta")
    return theta


def kept_edges(source: np.ndarray, target: np.ndarray, nodes: int, theta: int, key: bytes) -> np.ndarray:
    """Tell which edges are kept; bool (m,). O(m log m).

    ``source`` and ``target``: the distinct edges of a simple undirected graph, ``source < target``, sorted.
    """
    rank = _ranks(np.asarray(source, np.int64), np.asarray(target, np.int64), keyed(key))
    return kept_in_order(source, target, np.argsort(rank, kind="stable"), nodes, theta)


def kept_in_order(
    source: np.ndarray, target: np.ndarray, order: np.ndarray, nodes: int, theta: int
) -> np.ndarray:
    """Tell which edges are kept where they are taken in ``order``, a permutation; bool (m,)."""
    return _kept(np.asarray(source, np.int64), np.asarray(target, np.int64), order, nodes, theta)


@kernel
def _ranks(source: np.ndarray, target: np.ndarray, state: np.ndarray) -> np.ndarray:
    ranks = np.empty(source.size, np.uint64)
    for i in range(source.size):
        word = (np.uint64(source[i]) << _HALF) | np.uint64(target[i])
        ranks[i] = after_word(state, word, _LENGTH)
    return ranks


@kernel
def _kept(source: np.ndarray, target: np.ndarray, order: np.ndarray, nodes: int, theta: int) -> np.ndarray:
    degree = np.zeros(nodes, np.int64)
    kept = np.zeros(source.size, np.bool_)
    for i in order:
        u, v = source[i], target[i]
        if degree[u] < theta and degree[v] < theta:
            degree[u] += 1
            degree[v] += 1
            kept[i] = True
    return kept


Measure = Callable[[np.ndarray], np.ndarray]
"""A question to the kept degrees, int64 (n,), with an int64 answer."""


def edge_count(theta: int) -> tuple[int, Measure]:
    """Count the kept edges; (1,).

    Sensitivity: theta. Unit: NODE. Proof: twice the change is the sum over u of d(u) - d'(u), at most 2 theta
    by the lemma.
    """
    return theta, lambda degrees: np.array([degrees.sum() // 2], dtype=np.int64)


def kept_tail_counts(shape: Shape, theta: int, thresholds: np.ndarray) -> tuple[int, Measure]:
    """How many nodes have at least j kept edges, for every j of ``thresholds``, which increase from 1 on.

    Sensitivity: L1 = 2 theta, whatever the thresholds. Unit: NODE. Proof: a node whose kept degree goes from
    d to d' is counted differently at no more than |d - d'| thresholds; sum over all nodes, and the lemma.
    """
    tail_counts(shape, thresholds=thresholds)  # checks them
    steps = np.array(thresholds, dtype=np.int64)

    def measure(degrees: np.ndarray) -> np.ndarray:
        reached = np.bincount(np.searchsorted(steps, degrees, side="right"), minlength=len(steps) + 1)
        return np.cumsum(reached[::-1])[::-1][1:]

    return 2 * theta, measure


def group_ends(nodes: int, theta: int, labels: np.ndarray, groups: int) -> tuple[int, Measure]:
    """Sum the kept degrees in each group of nodes; (groups,).

    Sensitivity: L1 = 2 theta, all groups together. Unit: NODE. Proof: a sum of |changes| of node degrees at
    most; the lemma. ``labels`` (n,) in 0..groups-1 are public.
    """
    of, k = checked_groups(labels, nodes, groups)
    return 2 * theta, lambda degrees: np.bincount(of, weights=degrees, minlength=k).astype(np.int64)


def inside_counts(nodes: int, theta: int, labels: np.ndarray, groups: int) -> tuple[int, Measure]:
    """Count the kept edges inside each group; (groups,). To be asked of a projection of those edges alone.

    Sensitivity: L1 = theta, all groups together. Unit: NODE. Proof: no edge is in question but those inside
    groups, so each group's graph is projected by itself; v lies in one of them, and the others are the same
    in both graphs; in its own the number moves by theta at most, as in :func:`edge_count`.
    """
    of, k = checked_groups(labels, nodes, groups)
    return theta, lambda degrees: np.bincount(of, weights=degrees, minlength=k).astype(np.int64) // 2


def checked_groups(labels: Any, nodes: int, groups: int) -> tuple[np.ndarray, int]:
    """Return public labels 0..groups-1, copied; InvalidInput otherwise."""
    of, k = check_labels(labels, nodes, groups, "labels")
    limits.check_values(k, field="labels")
    return of, k

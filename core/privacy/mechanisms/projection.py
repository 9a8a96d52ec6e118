"""Items kept in a keyed order under caps. What may be measured of those follows from the lemma of ends.

Under unit NODE two neighbours differ in all edges of one node, of which there may be as many as nodes. Items
(edges, or events of an edge in a step) join two *ends*; an end is a copy of a node, and each copy has a cap.
All items stand in one order that a key decides; they are taken in that order, and one is kept while both of
its ends have fewer kept items than their caps. The order knows nothing of the graph: SipHash-2-4 of the two
nodes' numbers and the step, under a key that is drawn from the operating system, ties by the numbers
themselves. Nodes and copies by use:

- an undirected relation: one copy, cap theta;
- a directed one, by its double cover: an item joins the source's copy for items that go out and the target's
  for those that come in, caps to and ti;
- a projection for each class of items (steps, values, groups, pairs of what both persons carry): a copy for
  each class, cap theta_c. Records of one edge are items of their own.

What one node can change (Lemma). Let G and G' differ in items at copies E of node v only, d and d' be the
kept degrees of all ends, k and k' those of the ends in E. Then S, the sum of |d - d'| over all ends outside
E, is at most the sum of k + k' over E, so that all kept degrees together move by at most the sum over E of
k + k' + |k - k'| = 2 max(k, k'), hence by twice the sum of caps over E, in L1; and the number of kept items,
half the sum of kept degrees, by the sum of max(k, k') over E, hence by the sum of caps over E.
Proof. Take the items one by one and look at S and at the sum of k + k' so far. An item at v joins an end of
E, in both graphs at the same place of the order, and another end outside E. Kept in either graph, it adds 1
to some k or k', and at most 1 to S. An item without v is in both graphs or in none. Kept in both or in
neither, it leaves S alone. Kept in G only, it found a full end a in G', which was not full in G:
|d(a) - d'(a)| falls by 1, that of its other end grows by 1 at most, and S does not grow. The same with the
graphs exchanged. So S <= sum of k + k' at every step. An item never joins two ends of E, as there are no
loops. (Where an item of v differs in its class only, it is one item of G and another of G', as are records of
its edges; items without v stand in one order in both graphs, which ties leave as the tables have it.)

The kept items themselves are not protected at these sums, nor are tables of one projection by groups of both
ends, or by classes that share their copies: whether an item far from v is kept may hang on v, and so may that
of the next one, without end. A function of the kept *degrees*, or a number for each class that has its own
copies, is what the lemma speaks of, and this module offers no other (docs/generators/projection.md).
After Day, Li and Lyu, "Publishing graph degree distribution with node differential privacy", SIGMOD 2016; the
lemma for replaced edges and for several copies, totals inside groups and by class are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.errors import InvalidInput
from core.kernels.decorator import kernel
from core.privacy import limits
from core.privacy.mechanisms.siphash import after_two_words, keyed
from core.privacy.queries import Shape, check_labels, tail_counts

MAX_THETA = 2**19
"""The largest theta: 2 theta is then a sensitivity that the samplers take."""

_LENGTH = np.uint64(16 << 56)  # SipHash's closing word for a message of 16 bytes
_HALF = np.uint64(32)


class Items(NamedTuple):
    """Edges or events, each once. They have int64 (m,): nodes of both ends, and a step (0 without time).

    Sorted by step, source and target; of an undirected relation ``source < target``.
    """

    source: np.ndarray
    target: np.ndarray
    step: np.ndarray

    def only(self, rows: np.ndarray) -> Items:
        """Return the items of these rows."""
        return Items(self.source[rows], self.target[rows], self.step[rows])


def check_theta(theta: Any) -> int:
    """Return ``theta``; InvalidInput unless it is an integer in [1, MAX_THETA]."""
    if type(theta) is not int or not 1 <= theta <= MAX_THETA:
        raise InvalidInput(f"theta is an integer in [1, {MAX_THETA}]", field="theta")
    return theta


def items_of(source: np.ndarray, target: np.ndarray, step: np.ndarray | None = None) -> Items:
    """Return the items of a canonical table's columns."""
    steps = np.zeros(len(source), np.int64) if step is None else np.asarray(step, np.int64)
    return Items(np.asarray(source, np.int64), np.asarray(target, np.int64), steps)


def mutual_pairs(items: Items) -> Items:
    """Find the pairs linked both ways in a step. They are pairs of a directed relation that are linked both
    ways, in the same step; undirected items.

    A pair is there or not by its own two arcs alone, so that neighbours have neighbouring graphs of them.
    """
    low, high = np.minimum(items.source, items.target), np.maximum(items.source, items.target)
    order = np.lexsort((high, low, items.step))
    pairs = Items(low[order], high[order], items.step[order])
    # A pair that stands twice in a step has an arc each way: either arc by itself stands once.
    again = np.ones(max(len(order) - 1, 0), dtype=bool)
    for column in pairs:
        again &= column[1:] == column[:-1]
    return pairs.only(np.flatnonzero(again))


def kept_items(
    items: Items,
    nodes: int,
    caps: Sequence[int],
    copies: tuple[int | np.ndarray, int | np.ndarray],
    key: bytes,
) -> np.ndarray:
    """Tell which items are kept; bool (m,). O(m log m + nodes).

    ``caps``: of each copy of a node. ``copies``: which copies an item joins, at its source and its target.
    """
    order = np.argsort(ranks_of(items, key), kind="stable")
    # Each copy of a node is an end of its own: the copy times the nodes, plus the node's number.
    one, other = copies[0] * nodes + items.source, copies[1] * nodes + items.target
    if len(caps) <= 2:
        return kept_in_order(one, other, order, np.repeat(np.asarray(caps, np.int64), nodes))
    names, place = np.unique(np.concatenate([one, other]), return_inverse=True)  # most copies have no item
    own = np.asarray(caps, np.int64)[names // nodes]
    return kept_in_order(place[: len(order)], place[len(order) :], order, own)


def ranks_of(items: Items, key: bytes) -> np.ndarray:
    """Return each item's rank in the keyed order, uint64 (m,), a function of its nodes and its step alone."""
    return _ranks(*items, keyed(key))


def kept_in_order(one: np.ndarray, other: np.ndarray, order: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Mark the items kept when taken in ``order``. It is a permutation; bool (m,).

    ``one`` and ``other``: each item's ends; ``caps``: of every end.
    """
    return _kept(np.asarray(one, np.int64), np.asarray(other, np.int64), order, caps)


@kernel
def _ranks(source: np.ndarray, target: np.ndarray, step: np.ndarray, state: np.ndarray) -> np.ndarray:
    ranks = np.empty(source.size, np.uint64)
    for i in range(source.size):
        word = (np.uint64(source[i]) << _HALF) | np.uint64(target[i])
        ranks[i] = after_two_words(state, word, np.uint64(step[i]), _LENGTH)
    return ranks


@kernel
def _kept(one: np.ndarray, other: np.ndarray, order: np.ndarray, caps: np.ndarray) -> np.ndarray:
    degree = np.zeros(caps.size, np.int64)
    kept = np.zeros(one.size, np.bool_)
    for i in order:
        u, v = one[i], other[i]
        if degree[u] < caps[u] and degree[v] < caps[v]:
            degree[u] += 1
            degree[v] += 1
            kept[i] = True
    return kept


Measure = Callable[[np.ndarray], np.ndarray]
"""A question to the kept degrees, int64 (n,), or to the kept items' classes, with an int64 answer."""


def edge_count(theta: int) -> tuple[int, Measure]:
    """Count the kept edges; (1,).

    Sensitivity: theta. Unit: NODE. Proof: the lemma, with one copy.
    """
    return theta, lambda degrees: np.array([degrees.sum() // 2], dtype=np.int64)


def kept_tail_counts(shape: Shape, theta: int, thresholds: np.ndarray) -> tuple[int, Measure]:
    """Count nodes with at least j kept edges. Counts are for every j of ``thresholds``, which increase from 1
    on.

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
    """Count the kept edges inside each group; (groups,). It is for a projection of those edges only.

    Sensitivity: L1 = theta, all groups together. Unit: NODE. Proof: no edge is in question but those inside
    groups, so each group's graph is projected by itself; v lies in one of them, and the others are the same
    in both graphs; in its own the number moves by theta at most, as in :func:`edge_count`.
    """
    of, k = checked_groups(labels, nodes, groups)
    return theta, lambda degrees: np.bincount(of, weights=degrees, minlength=k).astype(np.int64) // 2


def arc_count(thetas: tuple[int, int]) -> tuple[int, Measure]:
    """Count the kept arcs of a double cover. It comes from its degrees of both sides; (1,).

    Sensitivity: to + ti. Unit: NODE. Proof: the lemma, with two copies.
    """
    return sum(thetas), lambda degrees: np.array([degrees.sum() // 2], dtype=np.int64)


def both_tail_counts(
    shape: Shape, thetas: tuple[int, int], thresholds: tuple[np.ndarray, np.ndarray]
) -> tuple[int, Measure]:
    """Count nodes by thresholds of kept arcs both ways. Counted are those with at least j kept arcs that go
    out, then those with as many that come in.

    Asked of the degrees of both sides, those that go out first.
    Sensitivity: L1 = 2 (to + ti), both sides together. Unit: NODE. Proof: as :func:`kept_tail_counts`, whose
    sum runs over the ends of both sides; the lemma, with two copies.
    """
    sides = [kept_tail_counts(shape, theta, at)[1] for theta, at in zip(thetas, thresholds, strict=True)]

    def measure(degrees: np.ndarray) -> np.ndarray:
        halves = degrees.reshape(2, -1)
        return np.concatenate([side(half) for side, half in zip(sides, halves, strict=True)])

    return limits.check_sensitivity(2 * sum(thetas), "tails of both sides", field="theta"), measure


def class_counts(thetas: Sequence[int], bound: int | None) -> tuple[int, Measure]:
    """Count the kept items of each class. Each has a projection of its own, from their classes; (classes,).

    Sensitivity: L1 = the sum of all thetas, or twice the declared ``bound`` where that is less. Unit: NODE.
    Proof: each class has its own copies, and is kept by itself: by the lemma its number moves by at most
    max(k, k'), at most its theta. The node has at most ``bound`` items of all classes together in either
    graph, and the sum of max(k, k') over classes is at most that of k + k'.
    """
    moved = sum(thetas) if bound is None else min(sum(thetas), 2 * bound)
    limits.check_values(len(thetas), field="thetas")
    limits.check_sensitivity(moved, "numbers by class", field="thetas", mend="; take lower thetas")
    return moved, lambda classes: np.bincount(classes, minlength=len(thetas)).astype(np.int64)


def pair_counts(pairs: np.ndarray, thetas: Sequence[int], bound: int | None) -> tuple[int, Measure]:
    """Count kept items by pairs of *protected* groups. Each class of pairs has a projection of its own;
    (classes,).

    ``pairs`` (groups, groups), symmetric, public or paid for: the class of an item by what its two persons
    carry. Of one that lacks a group there is no item.
    Sensitivity: L1 = the largest sum of thetas over the classes that two groups, row by row of ``pairs``, may
    be in; or twice the declared ``bound`` on a person's items where that is less. Unit: NODE, the row of what
    a person carries replaced with its edges. Proof: an item is there, and of its class, by its own two
    persons' rows and edges alone, so that two neighbours differ in items of v only. In either graph v has one
    group, a or a', and its items lie in classes of row a or of row a'. Each class has its own copies, and is
    kept by itself: by the lemma its number moves by max(k, k') at most, that is by its theta, and by nothing
    where v has no item of it in either graph. Under the bound as in :func:`class_counts`.
    """
    of, classes = np.asarray(pairs), len(thetas)
    if of.ndim != 2 or not np.array_equal(of, of.T) or of.dtype.kind not in "iu" or not of.size:
        raise InvalidInput("pairs is a symmetric table of classes", field="pairs")
    if of.min() < 0 or of.max() >= classes:
        raise InvalidInput(f"classes of pairs are 0..{classes - 1}", field="pairs")
    near = np.zeros((len(of), classes), dtype=bool)
    np.put_along_axis(near, of, True, axis=1)
    caps = np.array(thetas, dtype=np.int64)
    # Replaced, a person goes from row i to a row j: what it may move lies in the classes of both.
    moved = max(int(((near[i] | near[i:]) @ caps).max()) for i in range(len(of)))
    if bound is not None:
        moved = min(moved, 2 * bound)
    limits.check_values(classes, field="thetas")
    limits.check_sensitivity(moved, "numbers by pair of groups", field="thetas", mend="; take lower thetas")
    return moved, lambda found: np.bincount(found, minlength=classes).astype(np.int64)


def checked_groups(labels: Any, nodes: int, groups: int) -> tuple[np.ndarray, int]:
    """Return public labels 0..groups-1, copied; InvalidInput otherwise."""
    of, k = check_labels(labels, nodes, groups, "labels")
    limits.check_values(k, field="labels")
    return of, k

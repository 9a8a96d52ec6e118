"""The named queries that may be measured, each with its declared sensitivity.

A query is exact and integer-valued; :mod:`core.privacy.session.private_graph` pays and adds the noise.
Sensitivities hold for add-or-remove one edge of the cell (an undirected edge is one edge), for every graph; a
property test checks them against brute force. Each is a sum over edges, or a function of one, so that edges
may be counted group by group (:func:`summed`): the answer, and what may change it, stay the same. Arguments
must be public or already-paid output: that cannot be checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.schema import EdgeType
from core.privacy import limits

if TYPE_CHECKING:
    from core.graphs.columns.tables import Edges
    from core.graphs.counted.stored import CountedEdges
    from core.graphs.graph import Cell

FEW = 4
"""Entries for each index, up to which a vector of counts is made for the indices and then added."""


@dataclass(frozen=True)
class Shape:
    """The public shape of a cell. It has its relation and the sizes of its two node universes."""

    edge_type: EdgeType
    source_count: int
    target_count: int

    @property
    def undirected(self) -> bool:
        """Whether this is an undirected relation inside one node type."""
        return self.edge_type.homogeneous and not self.edge_type.directed

    @property
    def slots(self) -> int:
        """How many edges the cell could have; no self-loops. Public."""
        n, other = self.source_count, self.target_count
        if not self.edge_type.homogeneous:
            return n * other
        return n * (n - 1) // 2 if self.undirected else n * (n - 1)


@dataclass(frozen=True)
class Question:
    """A query with checked arguments: ``measure(edges)`` returns ``size`` int64 values.

    ``l1_sensitivity`` and ``l2_squared`` bound the change when one edge of the cell is added or removed.
    """

    name: str
    size: int
    l1_sensitivity: int
    l2_squared: int
    measure: Callable[[Edges], np.ndarray]


def summed(
    count: Callable[[Cell, np.ndarray], None],
    size: int,
    counted: Callable[[CountedEdges], np.ndarray] | None = None,
) -> Callable[[Edges], np.ndarray]:
    """Make the measure that sums over each group. It adds up what ``count(cell, totals)`` adds to (size,)
    zeros for each group.

    In whatever groups the edges come, the sum is the same: a sum over edges of what each one adds.
    ``counted``: the same sum of edges that stay elsewhere, where it was counted; no others are answered.
    """

    def measure(edges: Edges) -> np.ndarray:
        from core.graphs.counted.stored import CountedEdges  # Arrow, which what only plans does without

        if counted is not None and isinstance(edges, CountedEdges):
            return counted(edges)
        totals = np.zeros(size, dtype=np.int64)
        for cell in edges.groups():
            count(cell, totals)
        return totals

    return measure


def tally(totals: np.ndarray, index: np.ndarray) -> None:
    """Add 1 to the entry of ``totals`` that each of ``index`` names. O(index)."""
    # bincount makes a vector as long as the totals: too much for few indices.
    if len(totals) <= FEW * len(index):
        totals += np.bincount(index, minlength=len(totals))
    else:
        np.add.at(totals, index, 1)


def ask(name: str, shape: Shape, arguments: Mapping[str, Any]) -> Question:
    """Look up the named query, and check its arguments. These are checked against the public shape only.

    Raises InvalidInput for an unknown query or argument, NotAccepted where the relation has no such query.
    """
    query = QUERIES.get(name)
    if query is None:
        raise InvalidInput(f"unknown query {name!r}; known: {', '.join(sorted(QUERIES))}", field="query")
    try:
        question = query(shape, **arguments)
    except TypeError as error:
        raise InvalidInput(f"query {name!r} does not take these arguments", field="query") from error
    limits.check_values(question.size, f"query {name!r}", field="query", counted=name == "degrees")
    return question


def edge_count(shape: Shape) -> Question:
    """Count the edges; shape (1,).

    Sensitivity: L1 = L2 = 1. Unit: one edge. Proof: one edge is one row of the cell.
    """

    def count(cell: Cell, totals: np.ndarray) -> None:
        totals += cell.count

    question_sum = summed(count, 1, lambda edges: np.array([edges.count], dtype=np.int64))
    return Question("edge_count", 1, 1, 1, question_sum)


def degrees(shape: Shape, *, side: str = "both") -> Question:
    """Count the edges at every node, in index order; O(n + m).

    ``side="both"``: relation inside one node type, every end counts, shape (n,). ``"source"`` / ``"target"``:
    out- and in-degrees of a directed or bipartite relation, shape of that side's universe.

    Sensitivity: both: L1 = 2, L2^2 = 2; one side: L1 = L2 = 1. Unit: one edge.
    Proof: canonical edges have no self-loops, so an edge adds 1 to each of two entries, or to one of one
    side. In whatever blocks entries are fetched or noised: the two may lie in two blocks, so the sensitivity
    is that of all blocks together, one charge pays for them, and each entry's noise is its own.
    """
    if side == "both":
        if not shape.edge_type.homogeneous:
            raise NotAccepted(
                "a relation between two node types has one degree vector per side", field="side"
            )

        def both(cell: Cell, totals: np.ndarray) -> None:
            tally(totals, cell.source)
            tally(totals, cell.target)

        counted = summed(both, shape.source_count, lambda edges: edges.degrees())
        return Question("degrees", shape.source_count, 2, 2, counted)
    if side not in ("source", "target"):
        raise InvalidInput("side is 'both', 'source' or 'target'", field="side")
    if shape.undirected:
        raise NotAccepted("an undirected relation has no sides", field="side")
    count = shape.source_count if side == "source" else shape.target_count

    def of_side(cell: Cell, totals: np.ndarray) -> None:
        tally(totals, cell.source if side == "source" else cell.target)

    return Question("degrees", count, 1, 1, summed(of_side, count, lambda edges: edges.degrees(side)))


def sorted_degrees(shape: Shape, *, side: str = "both") -> Question:
    """Sort the degrees of a relation in ascending order. ``side`` takes those of one side of it; O(n log n +
    m).

    Sides and shapes are those of ``degrees``. Says how many nodes have which degree, not which nodes they
    are.

    Sensitivity: both: L1 = 2, L2^2 = 2; one side: L1 = L2 = 1. Unit: one edge. Proof: those of ``degrees``;
    sorting brings two vectors no farther apart in either norm (rearrangement inequality). Source: Hay,
    Rastogi, Miklau, Suciu, VLDB 2010.
    """
    unsorted_question = degrees(shape, side=side)
    unsorted = unsorted_question.measure
    return Question(
        "sorted_degrees",
        unsorted_question.size,
        unsorted_question.l1_sensitivity,
        unsorted_question.l2_squared,
        lambda edges: np.sort(unsorted(edges)),
    )


def degree_histogram(shape: Shape, *, side: str, most: int) -> Question:
    """Count the nodes of one side by edges. Counted are those with 0, 1, ..., ``most`` edges, the last entry
    with all above; (most + 1,).

    Directed and bipartite relations; ``side`` is "source" or "target". O(n + m).

    Sensitivity: L1 = 2, L2^2 = 2. Unit: one edge. Proof: an edge is one node's on that side, whose degree
    goes from d to d + 1: it leaves one entry and joins another (or stays in the last).
    """
    of_side = degrees(shape, side=side)
    if side == "both":
        raise NotAccepted("a histogram is asked of one side of a relation", field="side")
    if type(most) is not int or not 1 <= most < limits.MAX_VALUES:
        raise InvalidInput(f"most is an integer in [1, {limits.MAX_VALUES})", field="most")

    def measure(edges: Edges) -> np.ndarray:
        return np.bincount(np.minimum(of_side.measure(edges), most), minlength=most + 1)

    return Question("degree_histogram", most + 1, 2, 2, measure)


def tail_counts(shape: Shape, *, thresholds: np.ndarray) -> Question:
    """Count nodes with at least j edges. Counts are for every j of ``thresholds``; shape of ``thresholds``,
    O(n + m).

    Relations inside one node type; direction is ignored. ``thresholds``: increasing integers from 1 on.

    Sensitivity: L1 = 2, L2^2 = 4, whatever the thresholds. Unit: one edge. Proof: an edge raises two degrees
    by one. A degree that goes from d to d + 1 changes the counter of d + 1 alone, by 1; both ends may be
    counted there.
    """
    if not shape.edge_type.homogeneous:
        raise NotAccepted("tail counts are asked of relations inside one node type", field="thresholds")
    steps = np.asarray(thresholds)
    if steps.ndim != 1 or not len(steps) or not np.issubdtype(steps.dtype, np.integer):
        raise InvalidInput("thresholds are a vector of integers", field="thresholds")
    steps = steps.astype(np.int64, copy=True)
    if steps[0] < 1 or (np.diff(steps) < 1).any():
        raise InvalidInput("thresholds are positive and increase", field="thresholds")
    both = degrees(shape).measure

    def measure(edges: Edges) -> np.ndarray:
        # A degree is counted at every threshold that it reaches.
        reached = np.bincount(np.searchsorted(steps, both(edges), side="right"), minlength=len(steps) + 1)
        return np.cumsum(reached[::-1])[::-1][1:]

    return Question("tail_counts", len(steps), 2, 4, measure)


def group_matrix(
    shape: Shape,
    *,
    labels: np.ndarray,
    target_labels: np.ndarray | None = None,
    groups: int | None = None,
    target_groups: int | None = None,
) -> Question:
    """Count the edges between every two groups of nodes. O(m + number of groups squared).

    Inside one node type: ``labels`` (n,) in 0..k-1, result (k(k+1)/2,): the upper triangle with its
    diagonal, row by row; direction is ignored. Between two node types: ``target_labels`` too, result (k *
    k2,) row by row. ``groups`` fixes k where trailing groups may be empty.

    Sensitivity: L1 = L2 = 1. Unit: one edge. Proof: labels are fixed, so an edge falls into one pair of
    groups.
    """
    rows, k = check_labels(labels, shape.source_count, groups, "labels")
    if shape.edge_type.homogeneous:
        if target_labels is not None or target_groups is not None:
            raise NotAccepted(
                "target labels belong to a relation between two node types", field="target_labels"
            )
        cells = k * (k + 1) // 2

        def triangle(cell: Cell, totals: np.ndarray) -> None:
            a, b = rows[cell.source], rows[cell.target]
            low, high = np.minimum(a, b), np.maximum(a, b)
            # Row ``low`` of the triangle begins behind the rows above it, which are k, k - 1, ... long.
            tally(totals, low * k - low * (low - 1) // 2 + (high - low))

        counted = summed(triangle, cells, lambda edges: edges.pairs(rows, k))
        return Question("group_matrix", cells, 1, 1, counted)
    if target_labels is None:
        raise InvalidInput("a relation between two node types needs target labels", field="target_labels")
    columns, k2 = check_labels(target_labels, shape.target_count, target_groups, "target_labels")

    def rectangle(cell: Cell, totals: np.ndarray) -> None:
        tally(totals, rows[cell.source] * k2 + columns[cell.target])

    return Question("group_matrix", k * k2, 1, 1, summed(rectangle, k * k2))


def group_degrees(
    shape: Shape, *, labels: np.ndarray, groups: int | None = None, side: str = "both"
) -> Question:
    """Count the edges from every node to every group of nodes. O(m + n * number of groups).

    ``side="both"``: undirected relations inside one node type. ``"source"`` / ``"target"``: the nodes of that
    side, and groups of the other side's, of a directed or bipartite relation. ``labels``, one for each node
    that is grouped, in 0..k-1, result (n * k,): the row of node 0, then that of node 1, and so on. ``groups``
    fixes k where trailing groups may be empty.

    Sensitivity: both: L1 = 2, L2^2 = 2; one side: L1 = L2 = 1. Unit: one edge. Proof: labels are fixed and
    edges have two different ends, so an edge adds 1 to one entry of each end's row, or to one entry of one
    side's. A row by itself changes by 1.
    """
    if (side == "both") != shape.undirected or side not in ("source", "target", "both"):
        raise NotAccepted("an undirected relation has side 'both', others 'source' or 'target'", field="side")
    counted, grouped = shape.source_count, shape.target_count
    if side == "target":
        counted, grouped = grouped, counted
    groups_of, k = check_labels(labels, grouped, groups, "labels")
    size = counted * k

    def rows(cell: Cell, totals: np.ndarray) -> None:
        u, v = cell.source.astype(np.int64), cell.target.astype(np.int64)
        if side == "target":
            u, v = v, u
        tally(totals, u * k + groups_of[v])
        if side == "both":
            tally(totals, v * k + groups_of[u])

    changed = 2 if side == "both" else 1
    return Question("group_degrees", size, changed, changed, summed(rows, size))


def pair_classes(
    shape: Shape, *, labels: np.ndarray, table: np.ndarray, classes: int | None = None
) -> Question:
    """Count the edges in every class of pairs of labels. O(m + number of labels squared).

    Inside one node type; direction is ignored. ``labels`` (n,) in 0..k-1; ``table`` (k, k), symmetric, gives
    the class of every two labels. ``classes`` fixes their number where trailing ones may be empty.

    Sensitivity: L1 = L2 = 1. Unit: one edge. Proof: labels and table are fixed, so an edge falls into one
    class.
    """
    if not shape.edge_type.homogeneous:
        raise NotAccepted("pair classes are asked of relations inside one node type", field="table")
    array = np.asarray(table)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not np.array_equal(array, array.T):
        raise InvalidInput("table is square and symmetric", field="table")
    flat, count = check_labels(array.ravel(), array.size, classes, "table")
    k = array.shape[0]
    rows, _ = check_labels(labels, shape.source_count, k, "labels")

    def pairs(cell: Cell, totals: np.ndarray) -> None:
        tally(totals, flat[rows[cell.source] * k + rows[cell.target]])

    return Question("pair_classes", count, 1, 1, summed(pairs, count))


def check_labels(labels: Any, count: int, groups: int | None, field: str) -> tuple[np.ndarray, int]:
    """Check ``labels`` to be of ``count`` nodes. Returned are they as int64 with values in 0..k-1, and k;
    InvalidInput otherwise.

    The array is copied: what was checked is what is used.
    """
    array = np.asarray(labels)
    if array.shape != (count,) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput(f"{field} is one integer for each of {count} nodes", field=field)
    array = array.astype(np.int64, copy=True)
    smallest, largest = int(array.min(initial=0)), int(array.max(initial=0))  # of no nodes too
    k = largest + 1 if groups is None else groups
    if type(k) is not int or not 1 <= k <= 2**31 or smallest < 0 or largest >= k:
        raise InvalidInput(f"{field} lie in 0..{k - 1 if type(k) is int else 'k-1'}", field=field)
    return array, k


QUERIES: Mapping[str, Callable[..., Question]] = {
    "edge_count": edge_count,
    "degrees": degrees,
    "sorted_degrees": sorted_degrees,
    "degree_histogram": degree_histogram,
    "tail_counts": tail_counts,
    "group_matrix": group_matrix,
    "group_degrees": group_degrees,
    "pair_classes": pair_classes,
}

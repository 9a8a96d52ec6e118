"""Walks stay in their snapshot, start at edges, and hold an original edge in the middle where they should."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from core.privacy.entropy import public_generator
from papers.thepuff import walks
from papers.thepuff.tests import toys as toys

CELLS = toys.keys(public_generator(3), blocks=False)
SNAPSHOTS = toys.snapshots(CELLS)


def linked(step, u, v):
    row = SNAPSHOTS.others[SNAPSHOTS.start[step, u] : SNAPSHOTS.start[step, u + 1]]
    return v in row


def test_a_walk_goes_along_edges_of_its_step():
    steps = np.repeat([0, 1], 200)
    found = walks.edge_started(SNAPSHOTS, steps, 5, public_generator(1))
    assert found.nodes.shape == (400, 5)
    for step, row in zip(found.steps, found.nodes, strict=True):
        assert all(linked(step, u, v) for u, v in pairwise(row))
    # The first pair is an anchor edge, one way or the other.
    types = SNAPSHOTS.layout.type_of(found.nodes[:, :2])
    assert set(map(tuple, types.tolist())) == {(0, 1), (1, 0)}


def test_first_edges_are_uniform_in_both_directions():
    steps = np.zeros(60_000, np.int64)
    found = walks.edge_started(SNAPSHOTS, steps, 2, public_generator(2))
    count = int(SNAPSHOTS.anchor_start[1])
    seen = np.unique(found.nodes[:, 0] * SNAPSHOTS.layout.nodes + found.nodes[:, 1], return_counts=True)[1]
    assert len(seen) == 2 * count
    expected = len(steps) / (2 * count)
    # Chi-square with 2 * count - 1 degrees of freedom: mean and five standard deviations.
    assert np.sum((seen - expected) ** 2 / expected) < 2 * count + 5 * np.sqrt(4 * count)


def test_the_next_node_is_a_uniform_neighbour():
    found = walks.edge_started(SNAPSHOTS, np.zeros(60_000, np.int64), 3, public_generator(4)).nodes
    node = found[0, 1]
    after = found[found[:, 1] == node, 2]
    row = SNAPSHOTS.others[SNAPSHOTS.start[0, node] : SNAPSHOTS.start[0, node + 1]]
    seen = np.array([np.count_nonzero(after == other) for other in row])
    assert seen.sum() == len(after)
    expected = len(after) / len(row)
    assert np.sum((seen - expected) ** 2 / expected) < len(row) + 5 * np.sqrt(2 * len(row))


def test_a_step_without_an_edge_has_no_walk():
    cells = {**CELLS, ("u-i", 1): np.empty(0, np.int64)}
    found = walks.edge_started(toys.snapshots(cells), np.array([0, 1]), 4, public_generator(1))
    assert np.all(found.nodes[0] >= 0)
    assert np.all(found.nodes[1] == -1)
    nothing = {cell: np.empty(0, np.int64) for cell in CELLS}
    assert np.all(
        walks.edge_started(toys.snapshots(nothing), np.array([0]), 4, public_generator(1)).nodes == -1
    )


@pytest.mark.parametrize(("length", "places"), [(2, (0,)), (3, (0, 1)), (4, (1,)), (5, (1, 2)), (6, (2,))])
def test_the_middle_of_a_walk(length, places):
    assert walks.middles(length) == places


def test_an_original_edge_is_the_middle_and_the_rest_is_of_the_snapshots():
    """An edge that the perturbed graph lacks, between nodes without neighbours in it, still walks."""
    cells = {**CELLS, ("u-i", 0): np.array([7 * toys.ITEMS + 4])}  # u7 - i4 only
    snapshots = toys.snapshots(cells)
    layout = snapshots.layout
    source, target = np.array([0, 7]), layout.offsets[1] + np.array([1, 1])  # u0 has no neighbour at all
    found = walks.edge_anchored(
        snapshots, np.zeros(2, np.int64), source, target, 5, public_generator(5), places=(1, 2)
    )
    for row, u, v in zip(found.nodes, source, target, strict=True):
        at = next(p for p in (1, 2) if {row[p], row[p + 1]} == {u, v})
        pairs = [(row[k], row[k + 1]) for k in range(4) if k != at]
        for a, b in pairs:
            inside = snapshots.others[snapshots.start[0, a] : snapshots.start[0, a + 1]]
            assert b in inside or {a, b} == {u, v}  # a dead end turns back over the edge itself
    assert np.all(found.nodes >= 0)


def test_a_row_does_not_depend_on_the_other_edges():
    """The same coins give the same walk, whatever rows stand behind it."""
    ends = SNAPSHOTS.anchors[:4].astype(np.int64)
    steps = np.zeros(4, np.int64)

    class Coins:
        """Coins by row, so that a row can be compared between two batches."""

        def integers(self, low, high, size):
            return np.arange(size) % (high - low) + low

        def random(self, shape):
            return np.linspace(0, 0.99, 4 * shape[1]).reshape(4, -1)[: shape[0]]

    whole = walks.edge_anchored(SNAPSHOTS, steps, *ends.T, 5, Coins(), places=(1, 2))
    part = walks.edge_anchored(SNAPSHOTS, steps[:3], *ends[:3].T, 5, Coins(), places=(1, 2))
    assert np.array_equal(whole.nodes[:3], part.nodes)


def test_jump_or_stay_walks_leave_the_type_they_came_from():
    """Items see users and kinds: with a memory of one type, a walk that came from a user jumps to a kind."""
    starts = np.arange(toys.USERS)
    found = walks.just(SNAPSHOTS, np.zeros(toys.USERS, np.int64), starts, 8, public_generator(6))
    for row in found:
        row = row[row >= 0]
        assert all(linked(0, u, v) for u, v in pairwise(row))
        if len(row) >= 8:
            assert SNAPSHOTS.layout.type_of(row).tolist() == [0, 1, 2, 1, 0, 1, 2, 1]


def test_a_lone_node_is_a_walk_of_its_own():
    cells = {**CELLS, ("u-i", 0): np.empty(0, np.int64)}
    found = walks.just(toys.snapshots(cells), np.zeros(1, np.int64), np.array([0]), 4, public_generator(6))
    assert found.tolist() == [[0, -1, -1, -1]]


def test_staying_is_possible_inside_one_type():
    """Nodes of one type only: every step stays."""
    from core.graphs.schema import EdgeType, GraphSchema, NodeType
    from papers._shared.walks.layout import Layout
    from papers.thepuff.snapshots import Snapshots

    schema = GraphSchema(node_types=(NodeType(),), edge_types=(EdgeType(),))
    layout = Layout.of(schema, {"node": 4}, ("edge",))
    ring = np.array([0 * 4 + 1, 1 * 4 + 2, 2 * 4 + 3, 0 * 4 + 3])
    snapshots = Snapshots.of(layout, {("edge", None): np.sort(ring)}, {("edge", None): 4})
    found = walks.just(snapshots, np.zeros(3, np.int64), np.arange(3), 10, public_generator(7))
    assert np.all(found >= 0)
    assert np.all(np.isin((found[:, 1:] - found[:, :-1]) % 4, [1, 3]))

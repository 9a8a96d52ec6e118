"""Vectors of nodes at steps, and who may be chosen: from what was handed in alone."""

from __future__ import annotations

import numpy as np
import pytest

from core.privacy.entropy import public_generator
from papers.thepuff.embedding import candidates, embed, learned_degrees, type_weights
from papers.thepuff.tests import toys as toys
from papers.thepuff.walks import edge_started

CELLS = toys.keys(public_generator(3), blocks=True)
SNAPSHOTS = toys.snapshots(CELLS)


@pytest.fixture(scope="module")
def embedding():
    return embed(SNAPSHOTS, 16, public_generator(1), 1)


def test_every_pair_with_an_edge_has_a_row_of_its_own(embedding):
    n = toys.LAYOUT.nodes
    for step in range(toys.STEPS):
        ends = SNAPSHOTS.anchors[SNAPSHOTS.anchor_start[step] : SNAPSHOTS.anchor_start[step + 1]]
        active = np.unique(ends)
        assert np.all(embedding.rows(np.full(len(active), step), active) >= n)
    kinds = np.arange(toys.LAYOUT.offsets[2], n)
    assert np.array_equal(embedding.rows(np.zeros(len(kinds), np.int64), kinds), kinds)
    assert embedding.table.shape == (n + len(embedding.pairs), 16)
    assert np.allclose(np.linalg.norm(embedding.table, axis=1), 4, atol=1e-4)
    assert np.allclose(np.linalg.norm(embedding.over_time, axis=1), 4, atol=1e-4)


def test_vectors_know_the_blocks(embedding):
    """Users of one half lie closer to each other than to those of the other half."""
    users = embedding.over_time[: toys.USERS]
    cosines = users @ users.T / 16
    alike = np.equal.outer(np.arange(toys.USERS) % 2, np.arange(toys.USERS) % 2)
    np.fill_diagonal(alike, False)
    apart = ~np.equal.outer(np.arange(toys.USERS) % 2, np.arange(toys.USERS) % 2)
    assert cosines[alike].mean() > cosines[apart].mean() + 0.3


def test_the_same_seed_gives_the_same_vectors(embedding):
    again = embed(SNAPSHOTS, 16, public_generator(1), 1)
    assert np.array_equal(again.table, embedding.table)


def test_above_the_limit_a_node_has_one_vector():
    found = embed(SNAPSHOTS, 16, public_generator(1), 1, most=10)
    assert len(found.pairs) == 0
    assert found.over_time is found.table
    assert found.rows(np.array([[0], [1]]), np.array([[3, 4]])).tolist() == [[3, 4], [3, 4]]


def test_candidates_go_by_paid_degrees_where_there_are_any(embedding):
    paid = {}
    for step in range(toys.STEPS):
        source = np.zeros(toys.USERS, np.int64)
        source[[1, 5]] = [3, 7 + step]
        target = np.arange(toys.ITEMS) % 2
        paid["u-i", step] = (source, target)
    snapshots = toys.snapshots(CELLS, paid)
    assert np.array_equal(learned_degrees(snapshots, 1)[: toys.USERS], paid["u-i", 1][0])
    found = candidates(snapshots, embed(snapshots, 8, public_generator(1), 1))
    users = slice(*found.start[[found.block[1, 0], found.block[1, 0] + 1]])
    assert found.nodes[users].tolist() == [1, 5]
    assert np.allclose(np.exp(found.weights[users]), [3, 8])
    items = slice(*found.start[[found.block[0, 1], found.block[0, 1] + 1]])
    assert (found.nodes[items] - toys.USERS).tolist() == list(range(1, toys.ITEMS, 2))
    assert found.block[0, 2] == found.block[1, 2]  # kinds have no time: one block


def test_a_type_without_a_degree_offers_all_of_its_nodes():
    cells = {**CELLS, ("u-i", 1): np.empty(0, np.int64)}
    snapshots = toys.snapshots(cells)
    found = candidates(snapshots, embed(snapshots, 8, public_generator(1), 1))
    users = slice(*found.start[[found.block[1, 0], found.block[1, 0] + 1]])
    assert found.nodes[users].tolist() == list(range(toys.USERS))
    assert np.all(found.weights[users] == 0)


def test_the_schema_bounds_the_types():
    steps = np.repeat([0, 1], 500)
    found = type_weights(SNAPSHOTS, edge_started(SNAPSHOTS, steps, 5, public_generator(1)))
    count = SNAPSHOTS.counts["u-i", 1]
    assert found[1, 0, 3].tolist() == [count, count, 0]  # a walk starts at a user or an item
    assert found[1, 1, 1].tolist() == [count, 0, 0]  # beside an item, its anchor edge has a user
    assert np.array_equal(found[0, 2, :3] > 0, toys.LAYOUT.allowed)

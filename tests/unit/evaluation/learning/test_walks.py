"""Walks follow links, with node2vec's probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.learning.node2vec import Node2Vec
from core.evaluation.learning.walks import walks
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator


def graph(rng: np.random.Generator, n: int, m: int) -> UndirectedView:
    return UndirectedView.of_pairs(n, rng.integers(0, n, m), rng.integers(0, n, m))


def test_walks_go_along_links_only_and_fill_their_length():
    view = graph(np.random.default_rng(1), 50, 120)
    starts = np.flatnonzero(view.degrees > 0)
    found = walks(view, starts, 12, 0.5, 2.0, public_generator(3))
    assert (found[:, 0] == starts).all()
    assert (found >= 0).all()
    dense = view.adjacency.toarray()
    assert (dense[found[:, :-1].ravel(), found[:, 1:].ravel()] == 1).all()


def test_a_node_without_links_stays_where_it_is():
    view = UndirectedView.of_pairs(3, np.array([0]), np.array([1]))
    assert walks(view, np.array([2]), 5, 1.0, 1.0, public_generator(0)).tolist() == [[2, -1, -1, -1, -1]]


@pytest.mark.parametrize(("p", "q"), [(0.25, 4.0), (4.0, 0.25), (1.0, 1.0)])
def test_second_steps_have_the_stated_probabilities(p: float, q: float):
    # 0 - 1; 1 - 2, 1 - 3, 1 - 4; 0 - 2. From 0 to 1: back 1/p, to 2 (a neighbour of 0) 1, to 3 or 4 1/q.
    view = UndirectedView.of_pairs(5, np.array([0, 1, 1, 1, 0]), np.array([1, 2, 3, 4, 2]))
    found = walks(view, np.zeros(60_000, dtype=np.int64), 3, p, q, public_generator(7))
    via = found[found[:, 1] == 1, 2]
    weights = np.array([1 / p, 0, 1, 1 / q, 1 / q])
    shares = np.bincount(via, minlength=5) / len(via)
    assert np.abs(shares - weights / weights.sum()).max() < 0.01  # four standard errors of about 30 000


def test_the_same_seed_gives_the_same_embedding_and_another_another():
    view = graph(np.random.default_rng(2), 40, 90)
    one, two = Node2Vec(5)(view), Node2Vec(5)(view)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, Node2Vec(6)(view))
    assert (one[view.degrees == 0] == 0).all()
    assert (np.abs(one[view.degrees > 0]).sum(axis=1) > 0).all()

"""Pairs to learn from, and what embeddings say of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.learning import limits
from core.evaluation.learning.machines import classified
from core.evaluation.learning.pairs import cosine, training_pairs, without
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator


def path(n: int) -> UndirectedView:
    return UndirectedView.of_pairs(n, np.arange(n - 1), np.arange(1, n))


def bipartite() -> UndirectedView:
    u, v = np.array([0, 0, 1]), np.array([2, 3, 3])
    return UndirectedView(5, u, v, True, 2, 3, 6, {})


def test_without_takes_the_named_links_in_either_order_and_no_others():
    left = without(path(5), np.array([1, 3, 0]), np.array([0, 2, 4]))  # (0, 4) is no link
    assert list(zip(left.u.tolist(), left.v.tolist(), strict=True)) == [(1, 2), (3, 4)]
    kept = without(bipartite(), np.array([3]), np.array([1]))
    assert (kept.bipartite, kept.source_count, kept.edge_count) == (True, 2, 2)


def test_training_pairs_are_links_and_as_many_others():
    view = path(40)
    u, v, label = training_pairs(view, 25, public_generator(1))
    assert (label.sum(), len(label)) == (25, 50)
    linked = view.adjacency.toarray()[u, v] == 1
    assert (linked == label).all()
    assert 0 < label[:25].sum() < 25  # shuffled


def test_training_pairs_of_two_sides_join_the_sides():
    u, v, label = training_pairs(bipartite(), 10, public_generator(2))
    assert (u < 2).all()
    assert (v >= 2).all()
    assert label.sum() == 3


def test_cosine_is_the_textbook_one_and_zero_for_zero_rows():
    rows = np.array([[3.0, 4.0], [4.0, 3.0], [0.0, 0.0]])
    found = cosine(rows, np.array([0, 0, 0]), np.array([1, 0, 2]))
    assert found == pytest.approx([24 / 25, 1.0, 0.0])


def test_the_machine_learns_that_links_join_like_rows():
    rng = np.random.default_rng(3)
    rows = np.repeat(np.eye(4), 10, axis=0) + rng.normal(0, 0.05, (40, 4))
    u, v = np.triu_indices(40, 1)
    same = u // 10 == v // 10
    view = UndirectedView.of_pairs(40, u[same], v[same])
    found = classified(view, rows, u, v, 0)
    assert found[same].min() > found[~same].max()


def test_limits_refuse_large_small_and_complete_graphs():
    none = np.empty(0, dtype=np.int64)
    assert limits.unlearnable(path(60)) is None
    assert "at most" in (limits.unlearnable(UndirectedView.of_pairs(limits.MAX_NODES + 1, none, none)) or "")
    assert "fewer than" in (limits.unlearnable(path(limits.FEWEST_LINKS)) or "")
    complete = UndirectedView.of_pairs(9, *np.triu_indices(9, 1))
    assert "Nearly all" in (limits.unlearnable(complete) or "")
    assert limits.room(bipartite()) == 6
